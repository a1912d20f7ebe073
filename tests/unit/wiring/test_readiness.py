"""The look at store and spool that comes before the first call."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError, InputError, MissingError, StoreError
from nightgate.recorder import next_epoch
from nightgate.requests import RunRequest
from nightgate.steps import spools
from nightgate.steps.collecting import collect
from nightgate.wiring.readiness import examine, nothing_spent, refuse_unready


def a_request(folder: Path) -> RunRequest:
    """One whose spool is in ``folder``."""
    return RunRequest.make("suite", {"store": "memory", "spool": str(folder / "spool")}, {})


def test_a_look_leaves_nothing_in_store_and_spool(tmp_path: Path) -> None:
    """It comes before every run."""
    store = InMemoryStore()

    assert refuse_unready(a_request(tmp_path), store) == []
    assert store.find("") == []
    assert list(tmp_path.iterdir()) == []


def test_who_joins_a_run_leaves_an_empty_group_and_removes_nothing(tmp_path: Path) -> None:
    """A worker's role may put and read; what it leaves goes with the run's staging."""

    class Kept(InMemoryStore):
        def delete(self, keys: object) -> None:
            raise AssertionError(keys)

    store = Kept()

    refuse_unready(a_request(tmp_path), store, "r")

    found = collect(store, "r")
    assert (found.trials, found.cells, found.calls()) == ({}, {}, [])
    assert next_epoch(store, "r") == 1


def test_a_spool_without_much_room_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run begins; whoever started it may still make room."""
    monkeypatch.setattr(spools, "AMPLE_BYTES", 1 << 60)

    (told,) = refuse_unready(a_request(tmp_path), InMemoryStore())

    assert told.startswith(f"{tmp_path / 'spool'}: ")


@pytest.mark.parametrize(
    ("raised", "becomes"),
    [(StoreError, InputError), (DamagedError, DamagedError), (MissingError, MissingError)],
)
def test_only_a_store_that_cannot_be_used_is_wrong_input(
    raised: type[StoreError], becomes: type[Exception]
) -> None:
    """What lies in it damaged is not, and nobody can tell then."""
    with pytest.raises(becomes) as told, nothing_spent(InMemoryStore(), "elsewhere"):
        raise raised("no luck")

    assert type(told.value) is becomes
    assert ("--spool elsewhere" in str(told.value)) is (becomes is InputError)


def test_a_look_leaves_no_store_where_there_was_none(tmp_path: Path) -> None:
    """What is refused afterwards stores nothing, not even an empty folder."""
    examine(FolderStore(tmp_path / "new"))
    assert list(tmp_path.iterdir()) == []
