"""Who writes a journal, who has ended, and who comes at the same moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from makers import a_score
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.recorder import Recorder, bring_up, ended_writers
from nightgate.scores import Cell

CELL = Cell(case_id="a", trial=0, score=a_score())


def at_the_next_open(monkeypatch: pytest.MonkeyPatch, *, before: bool, do: Callable[[], object]) -> None:
    """Let another process do something just before or just after a journal is opened, once."""
    opened = os.open
    todo = [do]

    def open_beside(*args: Any, **options: Any) -> int:
        if before and todo:
            todo.pop()()
        fd = opened(*args, **options)
        if todo:
            todo.pop()()
        return fd

    monkeypatch.setattr(os, "open", open_beside)


async def test_a_journal_that_was_taken_for_a_dead_ones_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened and not yet held, it was removed: what was written to it would have died with the process."""
    store = InMemoryStore()
    at_the_next_open(monkeypatch, before=False, do=lambda: bring_up(store, "r", tmp_path))
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(CELL)
        kept = (tmp_path / "r" / "000001-w.jsonl").read_bytes()

    assert kept.count(b"\n") == 1


async def test_a_folder_that_goes_with_another_journal_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last worker of a run goes at the moment at which the next one comes."""
    store = InMemoryStore()
    at_the_next_open(monkeypatch, before=True, do=(tmp_path / "r").rmdir)
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(CELL)

        assert (tmp_path / "r" / "000001-w.jsonl").exists()


async def test_writers_that_ended_are_told_from_those_that_live(tmp_path: Path) -> None:
    """A killed one left its journal here, a living one holds its own; of other machines nothing is known."""
    store = InMemoryStore()
    async with Recorder(store, "r", "alive", 1, tmp_path) as alive:
        alive.write(CELL)
        dead = tmp_path / "r" / "000001-dead.jsonl"
        dead.write_bytes((tmp_path / "r" / f"{alive.journal}.jsonl").read_bytes())
        asked = [alive.journal, dead.stem, "000001-elsewhere"]
        first = ended_writers(store, "r", asked, tmp_path)
        elsewhere = ended_writers(store, "r", asked, tmp_path / "another machine")

    assert first == {dead.stem}
    assert elsewhere == {dead.stem}  # the store tells all machines what one of them brought up
