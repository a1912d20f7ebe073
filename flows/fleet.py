"""The parent of a fleet: starts workers through their deployment, and starts others for those that die.

What counts is in the store's claims; of Prefect only the end of a worker's flow run is asked for, and while
its server is away it is asked again later: the workers work on without it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from prefect import get_run_logger

from flows import artifacts, workers
from nightgate import wiring
from nightgate.errors import DamagedError, StoreError
from nightgate.requests import RunRequest
from nightgate.steps.rosters import Roster

_LOOK_S = 2.0
_ASK_EVERY = 8
"""Looks at the claims between two questions to Prefect: its server has other things to do."""


async def drained(request: dict[str, Any], planned: dict[str, Any], board: artifacts.Board) -> None:
    """Keep so many workers at a planned run as it asks for, until all of it is played or nobody is left.

    Args:
        request: The parent's ``RunRequest``.
        planned: As ``wiring.plan_fleet`` returned it.
        board: Shows how far they are.
    """
    asked = RunRequest.of_parameters(request)
    roster = await asyncio.to_thread(wiring.roster, asked, planned)
    async with board.progress(lambda: (roster.standing.done, planned["shards"]), "shards"):
        await _kept(asked, roster, planned)


async def _kept(asked: RunRequest, roster: Roster, planned: dict[str, Any]) -> None:
    """Start workers, and others for those that die, until the run is over or somebody stops it."""
    runs: dict[str, Any] = {}
    due: list[str] = []
    looks = 0
    with wiring.cancellable() as stop:
        while not roster.over and not stop.is_set():
            try:
                await asyncio.to_thread(roster.look)
            except DamagedError:
                raise
            except StoreError as away:
                get_run_logger().warning("the store is away: %s", away)
            due += roster.due()
            while due and await workers.answered(workers.start(due[0], planned, runs)):
                roster.accepted(due.pop(0))
            looks += 1
            if looks % _ASK_EVERY == 0:
                await _ask_after(roster, runs)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_S)
        if stop.is_set():
            # The store's word reaches those whom Prefect no longer does.
            with contextlib.suppress(StoreError):
                await wiring.stop_fleet(asked, planned["run_id"])
            await workers.answered(workers.cancel(runs))
        elif roster.given_up is not None:
            get_run_logger().error(roster.given_up)
            with contextlib.suppress(StoreError):  # whoever still waits somewhere goes, too
                await wiring.stop_fleet(asked, planned["run_id"])


async def _ask_after(roster: Roster, runs: dict[str, Any]) -> None:
    """What Prefect says of the workers that this parent has started."""
    for owner, state in (await workers.answered(workers.states(runs)) or {}).items():
        if state.is_final():
            roster.ended(owner)
            del runs[owner]
        elif not state.is_scheduled():
            roster.begun(owner)
