"""Written first, counted after: what the recorder promises when processes and stores fail."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from makers import a_score, a_trial
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.calls import Call, Outcome, Role
from nightgate.errors import InputError, StoreError
from nightgate.journals import JournalError
from nightgate.recorder import Recorder, bring_up, next_epoch, refuse_living, staged
from nightgate.rows.groups import decode_group
from nightgate.rows.keys import plan_key
from nightgate.rows.records import decode_record, encode_record
from nightgate.scores import Cell
from nightgate.trials import Usage


class AwayStore(InMemoryStore):
    """A store that can be taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False

    def create(self, key: str, data: bytes) -> None:
        """Refuses while it is away."""
        if self.away:
            msg = "the store is away"
            raise StoreError(msg)
        super().create(key, data)


def a_cell(trial: int = 0) -> Cell:
    """A passed cell."""
    return Cell(case_id="a", trial=trial, score=a_score())


def a_call() -> Call:
    """An answered call."""
    return Call(
        call_id="1",
        run_id="r",
        suite="s",
        role=Role.AGENT,
        case_id="a",
        trial=0,
        evaluator=None,
        model="scripted:x",
        attempt=1,
        started_at=datetime(2026, 11, 29, 12, tzinfo=UTC),
        outcome=Outcome.OK,
        usage=Usage(input=1),
        cost_nanousd=5,
    )


def records(store: InMemoryStore) -> list[object]:
    """All staged records of run ``r``."""
    return [decode_record(line) for _, data in staged(store, "r") for line in decode_group(data)]


async def test_a_record_is_in_the_journal_when_write_returns(tmp_path: Path) -> None:
    """A kill right after must not lose it."""
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_trial("ok"))

        lines = (tmp_path / "r" / "000001-w.jsonl").read_bytes().splitlines()

    assert [decode_record(line) for line in lines] == [a_trial("ok")]


async def test_leaving_stages_everything_and_removes_the_journal(tmp_path: Path) -> None:
    """Nothing waits for a second that never comes."""
    store = InMemoryStore()

    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_trial("ok"), a_cell())

    assert records(store) == [a_trial("ok"), a_cell()]
    assert not (tmp_path / "r").exists()


async def test_records_wait_in_the_journal_while_the_store_is_away(tmp_path: Path) -> None:
    """The run goes on; the way up is open later, at no model cost."""
    store = AwayStore()
    store.away = True
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_trial("ok"), a_cell())
    assert recorder.problem == "the store is away"

    store.away = False
    brought = bring_up(store, "r", tmp_path)

    assert brought == 1
    assert records(store) == [a_trial("ok"), a_cell()]


async def test_bringing_up_twice_changes_nothing(tmp_path: Path) -> None:
    """A second try after a half-done first one is the normal case."""
    store = AwayStore()
    store.away = True
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_cell())
    store.away = False
    journal = tmp_path / "r" / "000001-w.jsonl"
    kept = journal.read_bytes()
    bring_up(store, "r", tmp_path)
    journal.parent.mkdir(exist_ok=True)
    journal.write_bytes(kept)

    bring_up(store, "r", tmp_path)

    assert records(store) == [a_cell()]


async def test_a_store_that_lost_the_run_gets_plan_and_records_back(tmp_path: Path) -> None:
    """A bucket that somebody emptied during the run: what was staged before is in the journal alone."""
    store = InMemoryStore()
    store.create(plan_key("r"), b"the plan")
    async with Recorder(store, "r", "w", 1, tmp_path, plan=b"the plan") as recorder:
        recorder.write(a_cell())
        await recorder.flush()
        store.delete(store.find(""))
        recorder.write(a_cell(trial=1))
    assert recorder.problem is not None
    assert "has lost run r" in recorder.problem

    bring_up(store, "r", tmp_path)

    assert store.read(plan_key("r")) == b"the plan"
    assert {str(record) for record in records(store)} == {str(a_cell()), str(a_cell(trial=1))}
    assert not (tmp_path / "r").exists()


async def test_nothing_of_a_run_is_left_beside_its_last_journal(tmp_path: Path) -> None:
    """The spool is empty between runs: whatever lies there is for somebody to bring up."""
    store = InMemoryStore()
    store.create(plan_key("r"), b"the plan")
    async with Recorder(store, "r", "w", 1, tmp_path, plan=b"the plan") as recorder:
        recorder.write(a_cell())
        assert (tmp_path / "r" / "plan.json").read_bytes() == b"the plan"

    assert not (tmp_path / "r").exists()


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """A writer that was killed in mid-line has not written that record."""
    folder = tmp_path / "r"
    folder.mkdir()
    whole = encode_record(a_cell())
    (folder / "000001-w.jsonl").write_bytes(whole + b"\n" + whole[:20])
    store = InMemoryStore()

    bring_up(store, "r", tmp_path)

    assert records(store) == [a_cell()]


async def test_epochs_go_on_after_the_highest(tmp_path: Path) -> None:
    """A resumed run must rank behind the first one."""
    store = InMemoryStore()
    async with Recorder(store, "r", "w", 3, tmp_path) as recorder:
        recorder.write(a_cell())

    assert next_epoch(store, "r") == 4


async def test_a_journal_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    """Going on blind would pay for trials that nobody will ever see."""
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        os.close(recorder._fd)
        recorder._fd = os.open("/dev/full", os.O_WRONLY)

        with pytest.raises(OSError, match="No space left"):
            recorder.write(a_cell())


@contextlib.contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process may grow beyond ``size`` bytes: writes end in the middle, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_is_told_with_the_file_and_the_way_on(tmp_path: Path) -> None:
    """At three in the morning nobody knows which disk, how much, and whether the money is gone."""
    journal = tmp_path / "r" / "000001-w.jsonl"
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        with room_for(100), pytest.raises(OSError, match="File too large") as raised:
            recorder.write(a_trial("ok"))

    assert raised.value.errno == errno.EFBIG
    said = str(raised.value)
    size = len(encode_record(a_trial("ok"))) + 1
    assert f"{journal} cannot take {size:,} bytes more (" in said
    assert "All that was paid for before is safe" in said
    assert "--spool or NIGHTGATE_SPOOL" in said
    assert said.endswith("--resume r")


async def test_half_a_record_is_taken_back_from_a_full_disk(tmp_path: Path) -> None:
    """The end of a call that still fits would be lost behind it, although it was paid for."""
    store, journal = InMemoryStore(), tmp_path / "r" / "000001-w.jsonl"
    size = len(encode_record(a_call())) + 1
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        with room_for(2 * size + 10):
            recorder.write(a_call())
            with pytest.raises(OSError, match="File too large"):
                recorder.write(a_trial("x" * 4 * size))
            recorder.write(a_call())
        lines = journal.read_bytes().splitlines()

    assert [decode_record(line) for line in lines] == [a_call(), a_call()]
    assert records(store) == [a_call(), a_call()]


async def test_no_finding_is_written_after_a_record_was_lost(tmp_path: Path) -> None:
    """A trial whose call could not be written down failed by our fault; it would be the agent's then."""
    store = InMemoryStore()
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        with room_for(100), pytest.raises(JournalError):
            recorder.write(a_trial("x" * 400))

        with pytest.raises(JournalError, match="--resume r"):  # there is room again
            recorder.write(a_cell())

    assert records(store) == []


async def test_nothing_is_written_behind_half_a_record(tmp_path: Path) -> None:
    """Where it cannot be taken back, the journal is over."""
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        os.close(recorder._fd)
        recorder._fd = os.open("/dev/full", os.O_WRONLY)  # takes nothing and cannot be cut
        with pytest.raises(OSError, match="No space left"):
            recorder.write(a_cell())

        with pytest.raises(OSError, match="ends in half a record"):
            recorder.write(a_cell())


async def test_the_journal_holds_no_secret(tmp_path: Path) -> None:
    """After a kill it lies there until somebody resumes."""
    secret = "sk-" + "a1B2c3D4" * 5
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_trial(f"the key is {secret}"))

        text = (tmp_path / "r" / "000001-w.jsonl").read_text()

    assert secret not in text
    assert "the key is" in text


async def test_a_journal_that_is_held_is_not_brought_up(tmp_path: Path) -> None:
    """Its writer lives and stages it itself."""
    store = InMemoryStore()
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_cell())

        brought = bring_up(store, "r", tmp_path)
        with pytest.raises(InputError, match="still being worked on"):
            refuse_living("r", tmp_path)

    assert brought == 0
    assert records(store) == [a_cell()]


async def test_nothing_is_written_after_the_journal_is_closed(tmp_path: Path) -> None:
    """The file's number may be another file's by then."""
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        pass

    with pytest.raises(OSError, match="closed"):
        recorder.write(a_cell())


async def test_one_that_is_woken_and_closed_in_the_same_moment_ends(tmp_path: Path) -> None:
    """The last record of a run may fill a group just as the run ends."""
    async with Recorder(InMemoryStore(), "r", "w", 1, tmp_path) as recorder:
        await asyncio.sleep(0.01)  # its loop waits now
        flusher = recorder._flusher
        recorder._wake.set()
        assert flusher is not None
        flusher.cancel()
        done, _ = await asyncio.wait([flusher], timeout=5)
        assert done
