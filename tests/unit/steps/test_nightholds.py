"""One process at a time works on a date's run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError, StoreError
from nightgate.ports import Store
from nightgate.rows.keys import night_holder_key
from nightgate.steps.nightholds import Hold

RUN = "run-1"
PATIENCE_S = 40.0


class Seconds:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def a_hold(store: Store, spool: Path, seconds: Seconds) -> Hold:
    """Of a process whose machine's spool that is."""
    return Hold(store, RUN, spool, patience_s=PATIENCE_S, monotonic=seconds)


def test_a_living_process_of_this_machine_is_known_at_once(
    store: InMemoryStore, tmp_path: Path, seconds: Seconds
) -> None:
    """Nobody waits for a clock where a lock answers."""
    first, second = a_hold(store, tmp_path, seconds), a_hold(store, tmp_path, seconds)

    assert first.take() is True
    assert second.take() is False
    assert second.other.startswith(f"process {os.getpid()} on ")


def test_what_was_let_go_is_free_at_once(store: InMemoryStore, tmp_path: Path, seconds: Seconds) -> None:
    """On any machine, and nothing is left in the spool."""
    first = a_hold(store, tmp_path / "a", seconds)
    first.take()
    first.let_go()
    first.let_go()

    assert a_hold(store, tmp_path / "b", seconds).take() is True
    assert list((tmp_path / "a" / "nights").iterdir()) == []


def test_a_killed_process_of_this_machine_is_taken_over_at_once(tmp_path: Path, seconds: Seconds) -> None:
    """Its lock went with it."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from nightgate.adapters.store.folder import FolderStore\n"
        "from nightgate.steps.nightholds import Hold\n"
        f"assert Hold(FolderStore(Path(sys.argv[1])), {RUN!r}, Path(sys.argv[2])).take()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    died = subprocess.run([sys.executable, "-c", script, tmp_path / "s", tmp_path / "spool"], check=False)
    assert died.returncode == -9

    assert a_hold(FolderStore(tmp_path / "s"), tmp_path / "spool", seconds).take() is True
    assert len(list((tmp_path / "spool" / "nights").iterdir())) == 1


def test_a_silent_process_elsewhere_is_taken_over_after_the_patience(
    store: InMemoryStore, tmp_path: Path, seconds: Seconds
) -> None:
    """No two machines' clocks are compared: what does not change is not alive."""
    assert a_hold(store, tmp_path / "a", seconds).take() is True
    other = a_hold(store, tmp_path / "b", seconds)

    answers = []
    for seconds.now in (0.0, PATIENCE_S - 1, PATIENCE_S):
        answers.append(other.take())

    assert answers == [None, None, True]


def test_a_process_elsewhere_that_renews_lives(
    store: InMemoryStore, tmp_path: Path, seconds: Seconds
) -> None:
    """One change is enough to know."""
    first, other = a_hold(store, tmp_path / "a", seconds), a_hold(store, tmp_path / "b", seconds)
    first.take()
    assert other.take() is None
    first.renew()

    assert other.take() is False


def test_whoever_was_taken_over_does_not_take_back(
    store: InMemoryStore, tmp_path: Path, seconds: Seconds
) -> None:
    """A machine that slept renews and lets go as if nothing had been."""
    sleeper, other = a_hold(store, tmp_path / "a", seconds), a_hold(store, tmp_path / "b", seconds)
    sleeper.take()
    other.take()
    seconds.now = PATIENCE_S
    assert other.take() is True

    sleeper.renew()
    assert not sleeper.held
    sleeper.let_go()
    other.renew()

    assert other.held


def test_of_two_who_find_it_free_one_gets_it(tmp_path: Path, seconds: Seconds) -> None:
    """The store's swap decides; the other looks again."""

    class Raced(InMemoryStore):
        def swap(self, key: str, data: bytes, before: bytes | None) -> None:
            if before is None and not self.find(key):
                super().swap(key, b'{"schema": 1, "run_id": "run-1", "holder": "someone-else", "where": "x", '
                             b'"since": "y", "beat": 0}', None)  # fmt: skip
            super().swap(key, data, before)

    hold = a_hold(Raced(), tmp_path, seconds)

    assert hold.take() is None
    assert not hold.held


def test_a_holder_that_cannot_say_goodbye_is_found_gone(
    store: InMemoryStore, tmp_path: Path, seconds: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store was away when it ended."""
    first = a_hold(store, tmp_path, seconds)
    first.take()

    def away(*_: object) -> None:
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(store, "swap", away)
        with pytest.raises(StoreError):
            first.let_go()

    assert a_hold(store, tmp_path, seconds).take() is True


def test_a_damaged_record_is_told(store: InMemoryStore, tmp_path: Path, seconds: Seconds) -> None:
    """Its holder's name leads to a file."""
    store.create(
        night_holder_key(RUN),
        b'{"schema": 1, "run_id": "run-1", "holder": "../x", "where": "", "since": "", "beat": 0}',
    )

    with pytest.raises(DamagedError, match="holder is"):
        a_hold(store, tmp_path, seconds).take()
