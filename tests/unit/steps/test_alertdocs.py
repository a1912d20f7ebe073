"""A damaged book of alerts silences no night; a newer one is left alone and said."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.rows.jsondocs import NewerDocumentError
from nightgate.rows.keys import alerts_key
from nightgate.steps.alertdocs import usable_book
from nightgate.testing import RecordingChannel
from nights import flakiness, green, moment, put_night, red, tell

KEY = alerts_key("support")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """A suite whose broken case was told, with a message that waits for a second channel."""
    store = FolderStore(tmp_path)
    run_id = put_night(store, 1, red(), flakiness=flakiness(broken=["late"]))
    tell(store, run_id, RecordingChannel(), RecordingChannel("pager", failures=None), at=moment(1))
    return store


def edited(store: FolderStore, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The book after somebody's edit."""
    book = json.loads(store.read(KEY))
    change(book)
    return json.dumps(book).encode()


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "open is null, not a list": lambda book: book.update(open=None),
    'open[0].kind is "bad", not one of': lambda book: book["open"][0].update(kind="bad"),
    "open[0].subject is": lambda book: book["open"][0].update(subject="late"),
    "outbox[0].message.facts is missing": lambda book: book["outbox"][0]["message"].pop("facts"),
    "last is a list, not an object": lambda book: book.update(last=[]),
    "schema is 1.5": lambda book: book.update(schema=1.5),
    "it is of suite 'other'": lambda book: book.update(suite="other"),
}


def test_a_book_is_read_as_it_was_written(store: FolderStore) -> None:
    """Open causes, waiting messages, ended causes and what was sent are all in the shape."""
    tell(store, put_night(store, 2, green(), flakiness=flakiness(fixed=["late"])), RecordingChannel("pager"))

    book, data = usable_book(store, "support")

    assert data == store.read(KEY)
    assert book == json.loads(data)
    assert "damaged" not in book


@pytest.mark.parametrize("problem", DAMAGES)
def test_a_night_over_a_damaged_book_still_tells_its_news(
    store: FolderStore, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Silence would say that all is well; who is told twice is told why."""
    broken = edited(store, DAMAGES[problem])
    store.replace(KEY, broken)
    channel = RecordingChannel()

    with caplog.at_level(logging.WARNING, "nightgate.alerts"):
        report = tell(store, put_night(store, 2, red(), flakiness=flakiness(still=["late"])), channel)

    assert [message.title for message in channel.messages] == ["support: gate FAILED, newly broken: late"]
    assert (
        "changed: the record of alerts was damaged: known causes are told again" in channel.messages[0].body
    )
    assert (report["skipped"], len(report["sent"])) == (None, 1)
    aside = next(key for key in store.find("alerts/") if key != KEY)
    assert store.read(aside) == broken
    said = caplog.messages[0]
    assert said.startswith(f"alerts: alerts/support.json: no book of alerts ({problem}")
    assert "causes that were open are told once more" in said
    assert said.endswith(f"is kept as {aside}")


@pytest.mark.parametrize("data", [b"", b'{"schema": 1, "sui', b"[]", b"null"])
def test_what_is_no_object_at_all_is_begun_anew(store: FolderStore, data: bytes) -> None:
    """A disk that filled up, an editor that was closed."""
    store.replace(KEY, data)
    channel = RecordingChannel()

    tell(store, put_night(store, 2, red(), flakiness=flakiness(still=["late"])), channel)

    assert len(channel.messages) == 1
    assert json.loads(store.read(KEY))["schema"] == 1


def test_the_night_after_says_nothing_of_the_damage(store: FolderStore) -> None:
    """It was told once, and the new book is as good as any."""
    store.replace(KEY, b"{")
    channel = RecordingChannel()
    tell(store, put_night(store, 2, red(), flakiness=flakiness(still=["late"])), channel, at=moment(2))
    first = store.find("alerts/")

    tell(store, put_night(store, 3, green(), flakiness=flakiness(fixed=["late"])), channel, at=moment(3))

    assert channel.messages[1].title == "support: over: gate passes again, 1 fixed"
    assert "damaged" not in channel.messages[1].body
    assert store.find("alerts/") == first


def test_a_newer_book_is_refused_by_name_and_left_as_it_is(store: FolderStore) -> None:
    """The run's last line says it; the newer program goes on where it was."""
    newer = edited(store, lambda book: book.update(schema=2, open={"in": "another form"}))
    store.replace(KEY, newer)
    channel = RecordingChannel()

    with pytest.raises(
        NewerDocumentError,
        match=r"^alerts/support\.json: written by a newer nightgate, schema 2; this one knows 1: upgrade$",
    ):
        tell(store, put_night(store, 2, red()), channel)

    assert channel.messages == []
    assert store.find("alerts/") == [KEY]
    assert store.read(KEY) == newer
