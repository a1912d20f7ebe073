"""Memory that is free goes back: else a long sweep looks as if it held all that it ever read."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from nightgate import heap


def _resident_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_what_many_small_things_took_together_goes_back_to_the_system() -> None:
    """The C library keeps the pages below the last thing that lives, until it is told."""
    blocks = [bytes(2_000) for _ in range(50_000)]
    last = blocks[-1]
    blocks.clear()
    before = _resident_kib()
    heap.give_back()

    assert last == bytes(2_000)
    assert before - _resident_kib() > 50_000


def test_memory_is_given_back_once_in_so_many_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time takes milliseconds: not for every trial."""
    given: list[None] = []
    monkeypatch.setattr(heap, "give_back", lambda: given.append(None))
    tidy = heap.Tidy(every=3)
    for _ in range(7):
        tidy()

    assert len(given) == 2


def test_a_heap_that_is_held_is_not_settled_again_inside() -> None:
    """A collection takes a tenth of a second: many small runs in a row need one for all."""
    rounds = gc.get_stats()[2]["collections"]
    with heap.settled_heap(hold=True):
        with heap.settled_heap():
            assert gc.get_stats()[2]["collections"] == rounds + 1
        assert gc.get_freeze_count() > 0

    with heap.settled_heap():
        assert gc.get_stats()[2]["collections"] >= rounds + 2
    assert gc.get_freeze_count() == 0
