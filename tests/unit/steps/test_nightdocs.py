"""What followed a run's gate is read again only where it is what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.errors import DamagedError
from nightgate.rows import keys
from nightgate.rows.jsondocs import NewerDocumentError
from nightgate.steps import canarydocs, flaky
from nightgate.steps.nightdocs import canary_of, flakiness_of
from storednights import outcomes, put_night


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def rewrite(store: FolderStore, key: str, **changes: Any) -> None:
    """Change a document by hand."""
    store.replace(key, json.dumps({**json.loads(store.read(key)), **changes}).encode())


def test_what_a_night_writes_is_read_again(store: FolderStore) -> None:
    """The shape that is asked for is the one that is written, also with a break in it."""
    for night in range(8):
        flaky.settle(store, put_night(store, night, outcomes({"a": "ppp"})))
    run_id = put_night(store, 8, outcomes({"a": "fff"}))

    document = flaky.settle(store, run_id)

    assert document["newly_broken"]
    assert flakiness_of(store, run_id) == document


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"newly_broken": None}, "newly_broken is null, not a list"),
        ({"event": []}, "event is a list, not an object"),
        ({"gate_explained": "no"}, 'gate_explained is "no", not true or false'),
        ({"run_id": "other"}, "it is of run 'other'"),
        ({"schema": "x"}, 'schema is "x"'),
    ],
)
def test_a_damaged_document_of_a_night_is_named(
    store: FolderStore, changes: dict[str, Any], problem: str
) -> None:
    """It is told to people, so nonsense in it would be."""
    run_id = put_night(store, 0, outcomes({"a": "ppp"}))
    flaky.settle(store, run_id)
    rewrite(store, keys.flakiness_report_key(run_id), **changes)

    with pytest.raises(DamagedError) as refused:
        flaky.settle(store, run_id)

    text = str(refused.value)
    assert text.startswith(f"runs/{run_id}/flakiness.json: no document of a night ({problem}")
    assert "remove it, and `nightgate run SUITE --resume RUN` makes it again" in text


def a_canary() -> dict[str, Any]:
    """The document of a night whose canaries no judge saw."""
    return canarydocs.not_judged("night-1", "demo", "there is no budget")


def test_what_canaries_came_to_is_read_again(store: FolderStore) -> None:
    """And nothing is there where they were not asked for."""
    assert canary_of(store, "night-1") is None
    canarydocs.keep(store, a_canary())

    assert canary_of(store, "night-1") == a_canary()


@pytest.mark.parametrize(
    "data", [b"{", b"[]", json.dumps({**a_canary(), "attacks": None}).encode(), b'{"schema": "1"}']
)
def test_damaged_canaries_are_named_and_made_again(store: FolderStore, data: bytes) -> None:
    """The verdicts are stored, so the command that judges them tells them anew."""
    key = keys.canary_report_key("night-1")
    store.replace(key, data)

    with pytest.raises(DamagedError, match=r"runs/night-1/canary\.json: .*`nightgate canary RUN` makes it"):
        canary_of(store, "night-1")
    canarydocs.keep(store, a_canary())

    assert canary_of(store, "night-1") == a_canary()


def test_canaries_of_a_newer_nightgate_are_never_written_over(store: FolderStore) -> None:
    """Neither by a night nor by hand: both keep their document here."""
    key = keys.canary_report_key("night-1")
    newer = json.dumps({**a_canary(), "schema": 2}).encode()
    store.replace(key, newer)

    with pytest.raises(NewerDocumentError, match=r"runs/night-1/canary\.json: written by a newer nightgate"):
        canarydocs.keep(store, a_canary())

    assert store.read(key) == newer
