"""What a fleet's parent shows of its workers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from nightgate import wiring
from nightgate.requests import RunRequest
from nightgate.steps.rosters import Roster
from nightgate.steps.standings import Standing


class Watched:
    """Claims of which one more shard is done at each look."""

    done = 0

    def look(self) -> Standing:
        self.done += 1
        return Standing(done=self.done, held={"w": 1}, silent=frozenset(), stopped=None)

    def release(self) -> None:
        """Nobody died."""


class Board:
    """Notes what it would show."""

    def __init__(self) -> None:
        self.seen: list[tuple[tuple[int, int], str]] = []

    @contextlib.asynccontextmanager
    async def progress(self, done: Callable[[], tuple[int, int]], noun: str) -> AsyncIterator[None]:
        self.seen.append((done(), noun))
        yield
        self.seen.append((done(), noun))


async def test_a_parent_shows_the_shards_that_its_workers_have_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It plays nothing itself: the claims are all that it knows."""
    from flows import fleet

    watch: Any = Watched()
    monkeypatch.setattr(wiring, "roster", lambda *_: Roster(watch, 3, 1))
    monkeypatch.setattr(fleet, "_LOOK_S", 0.0)
    request = RunRequest(suite="cases/support", store=str(tmp_path), drainers=1).parameters()
    board: Any = Board()

    await fleet.drained(request, {"run_id": "r", "suite": "support", "shards": 3}, board)

    assert board.seen == [((0, 3), "shards"), ((3, 3), "shards")]
