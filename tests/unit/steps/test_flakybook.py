"""A suite's book that is damaged is made again from the rows; a newer one is left alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.errors import DamagedError
from nightgate.rows import keys
from nightgate.rows.jsondocs import NewerDocumentError
from nightgate.steps import flaky
from nightgate.steps.flakyboard import board
from nightgate.testing import InMemoryStore
from storednights import outcomes, put_night

KEY = keys.flakiness_key("demo")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """Three settled nights."""
    store = FolderStore(tmp_path)
    for night in range(3):
        flaky.settle(store, put_night(store, night, outcomes({"a": "ppp", "b": "ppf"})))
    return store


def edit(store: FolderStore, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the book as somebody with an editor would; what ``change`` returns takes the series' place."""
    document = json.loads(store.read(KEY))
    book = document["series"]["scripted"]
    found = change(book)
    document["series"]["scripted"] = book if found is None else found
    store.replace(KEY, json.dumps(document).encode())


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "series.scripted is a list, not an object": lambda _: [],
    "series.scripted.pairs is null, not a list": lambda book: book.update(pairs=None),
    "series.scripted.through.at is 5, not a day": lambda book: book["through"].update(at=5),
    "series.scripted.pairs[1].state is": lambda book: book["pairs"][1].update(state="ill"),
    "series.scripted.pairs[0].nights[0] is a list": lambda book: book["pairs"][0]["nights"][0].clear(),
    "series.scripted.pairs[0].nights[1] is a list": lambda b: b["pairs"][0]["nights"][1].__setitem__(2, "3"),
    "series.scripted.pairs[0].carried is null": lambda book: book["pairs"][0].update(carried=None),
    "series 'scripted' has pairs and does not say": lambda book: book.update(through=None),
    "series.scripted.recent is missing": lambda book: book.__delitem__("recent"),
}


@pytest.mark.parametrize("problem", DAMAGES)
def test_the_board_names_what_is_wrong_with_a_damaged_book(store: FolderStore, problem: str) -> None:
    """Its counts would be shown as the suite's."""
    edit(store, DAMAGES[problem])

    with pytest.raises(DamagedError) as refused:
        board(store, "demo")

    text = str(refused.value)
    assert text.startswith(f"flakiness/demo.json: no book of flaky cases ({problem}")
    assert "the suite's next complete run makes it again from stored rows" in text


@pytest.mark.parametrize("problem", DAMAGES)
def test_the_next_night_makes_a_damaged_book_again(store: FolderStore, problem: str) -> None:
    """The same as if it had never been damaged."""
    whole = FolderStore(store.root / "whole")
    for night in range(4):
        flaky.settle(whole, put_night(whole, night, outcomes({"a": "ppp", "b": "ppf"})))
    edit(store, DAMAGES[problem])

    flaky.settle(store, put_night(store, 3, outcomes({"a": "ppp", "b": "ppf"})))

    assert json.loads(store.read(KEY)) == json.loads(whole.read(KEY))


def test_the_book_of_another_suite_is_none(store: FolderStore) -> None:
    """A file that was copied to the wrong name."""
    store.replace(KEY, store.read(KEY).replace(b'"suite":"demo"', b'"suite":"other"'))

    with pytest.raises(DamagedError, match=r"flakiness/demo\.json: .*it is of suite 'other'"):
        board(store, "demo")


def test_removing_a_damaged_book_shows_the_board_again(store: FolderStore) -> None:
    """As the message says."""
    before = board(store, "demo")
    store.replace(KEY, b"{")
    store.delete([KEY])

    assert board(store, "demo") == before


def test_a_newer_book_is_read_and_written_by_nobody_here(store: FolderStore) -> None:
    """Neither the board nor a night; the night is not told either, so that the newer program can."""
    newer = store.read(KEY).replace(b'"schema":1', b'"schema":2')
    store.replace(KEY, newer)
    run_id = put_night(store, 3, outcomes({"a": "fff", "b": "ppf"}))

    for call in (board, flaky.fresh_book):
        with pytest.raises(NewerDocumentError, match=r"flakiness/demo\.json: written by a newer nightgate"):
            call(store, "demo")
    for act in (flaky.open_tonight, flaky.settle):
        with pytest.raises(NewerDocumentError, match="schema 2; this one knows 1: upgrade"):
            act(store, run_id)

    assert store.read(KEY) == newer
    assert store.find(keys.flakiness_report_key(run_id)) == []


@pytest.mark.parametrize(("early", "explained"), [("p", False), ("f", True)])
def test_a_suspect_is_known_only_by_what_lies_before_the_newest_nights(early: str, explained: bool) -> None:
    """One failure makes a short history flaky, and it may be the first of the break itself."""
    store = InMemoryStore()
    words = [early, *"ppppppp", "f", "f"]
    for night, word in enumerate(words):
        run_id = put_night(store, night, outcomes({"a": word, "b": "p"}))
        verdict = {"name": "E", "verdict": "fail", "failed_cases": ["a"]}
        summary = {
            "verdict": "fail" if word == "f" else "pass",
            "evaluators": [verdict] if word == "f" else [],
        }
        store.replace(keys.summary_key(run_id), json.dumps(summary).encode())
        document = flaky.settle(store, run_id)

    assert [entry["case"] for entry in document["suspects"]] == ["a"]
    assert document["gate_explained"] is explained
