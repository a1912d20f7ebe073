"""A run that many workers share, seen from its parent: planned, handed out, looked after, finished.

Owns what the parent needs of the store: the plan with its claims, and how far the workers are. Who starts
workers is not its business: a flow does, or a script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.errors import InputError, MissingError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.recorder import bring_up, ended_writers
from nightgate.requests import RunRequest
from nightgate.runner import Done
from nightgate.shards import Shard
from nightgate.steps.claims import reopen, sweep_up
from nightgate.steps.finishing import Finished, finish_run
from nightgate.steps.purses import open_purse
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.steps.rosters import Roster
from nightgate.steps.standings import Watch
from nightgate.steps.stops import let_workers_go_on, stop_workers
from nightgate.wiring.readiness import nothing_spent
from nightgate.wiring.rooms import Progress, Room, open_room


async def plan_fleet(request: RunRequest, progress: Progress | None = None) -> dict[str, Any]:
    """Freeze the grid of a run for a fleet, or take up the one of that id; nothing is played here.

    Starting a run again with its run id is the resume: a parent that was killed is simply started again.

    Returns:
        ``run_id``, ``suite``, ``shards``, ``trials``, and ``request``: the parameters for its workers.

    Raises:
        InputError: Before anything was spent.
    """
    store = await asyncio.to_thread(open_store, request.store)
    if request.resume is None and request.run_id is not None:
        with nothing_spent(store):
            known = await asyncio.to_thread(_planned, store, request.run_id)
        request = replace(request, resume=request.run_id, run_id=None) if known else request
    whole: Plan | None = None
    if request.resume is not None:
        with nothing_spent(store):
            whole = await asyncio.to_thread(_committed, store, request.resume)
    if whole is not None:
        # A parent died between the commit and its last alert: what is left to do follows the gate.
        parameters = request.parameters()
        return {
            "run_id": whole.run_id,
            "suite": whole.suite,
            "shards": 0,
            "trials": whole.trial_count,
            "request": parameters,
        }
    try:
        room = await open_room(request, progress, store=store, joining=True)
    except InputError:
        if request.run_id is not None and await asyncio.to_thread(_planned, store, request.run_id):
            return await plan_fleet(request, progress)  # another parent froze it a moment ago: taken up
        raise
    try:
        run_id = room.plan.run_id
        await asyncio.to_thread(reopen, store, run_id, _missing(room))
        await asyncio.to_thread(let_workers_go_on, store, run_id)
        if cap := room.furniture.budget.cap_nanousd:
            held = (await asyncio.to_thread(Watch(store, run_id).look)).held
            spent = room.furniture.budget.spent_nanousd
            await asyncio.to_thread(open_purse, store, run_id, cap, spent, anew=not held)
        # What was taken over from another run has to be in the store before a worker looks.
        await room.shop.recorder.flush()
    finally:
        await room.close()
    return {
        "run_id": run_id,
        "suite": room.plan.suite,
        "shards": len(room.shards),
        "trials": room.plan.trial_count,
        "request": replace(room.furniture.request, run_id=None, resume=run_id).parameters(),
    }


async def stop_fleet(request: RunRequest, run_id: str) -> None:
    """Ask the workers of a run to let their shards go; they hear it within a quarter of the patience.

    Raises:
        StoreError: If the store refused.
    """
    store = await asyncio.to_thread(open_store, request.store)
    await asyncio.to_thread(stop_workers, store, run_id)


async def finish_fleet(request: RunRequest, run_id: str) -> Finished:
    """Commit what is complete; the claims go with it.

    Raises:
        StoreError: If the store refused; nothing is lost, the same call finishes the run later.
    """
    store = await asyncio.to_thread(open_store, request.store)
    plan = await asyncio.to_thread(load_plan, store, run_id)
    if await asyncio.to_thread(manifest_of, store, plan) is None:
        # A worker that died with no shard in hand left calls that nobody took over.
        await asyncio.to_thread(bring_up, store, run_id, request.spool_folder)
    standing = await asyncio.to_thread(Watch(store, run_id).look)
    wall_s = _wall_s(plan, request)
    finished = await asyncio.to_thread(finish_run, store, run_id, stopped=standing.stopped, wall_s=wall_s)
    if finished.summary.as_dict()["complete"]:
        await asyncio.to_thread(sweep_up, store, run_id)
    return finished


def roster(request: RunRequest, planned: Mapping[str, Any]) -> Roster:
    """Who is to work on a planned run. Blocking: looks at its claims."""
    store, run_id, spool = open_store(request.store), planned["run_id"], request.spool_folder

    def ended(journals: Collection[str]) -> Collection[str]:
        return ended_writers(store, run_id, journals, spool)

    return Roster(Watch(store, run_id, ended=ended), planned["shards"], request.drainers)


def _wall_s(plan: Plan, request: RunRequest) -> float | None:
    """Seconds since a run was begun, by this machine's clock; None where nobody knows.

    A plan's start is the scheduled one: how late a night was begun is no part of how long it took.
    """
    began = plan.frozen_at
    if began is None and request.scheduled is None and not request.once:
        began = plan.started_at
    if began is None:
        return None
    return max((datetime.now(UTC) - datetime.fromisoformat(began)).total_seconds(), 0.0)


def _planned(store: Store, run_id: str) -> bool:
    try:
        load_plan(store, run_id)
    except MissingError:
        return False
    return True


def _committed(store: Store, run_id: str) -> Plan | None:
    """The plan of a run that is committed already; None where it is open, or no run id at all."""
    try:
        plan = load_plan(store, run_id)
    except (MissingError, InputError):
        return None
    return plan if manifest_of(store, plan) is not None else None


def _missing(room: Room) -> list[int]:
    """Shards of which some trial or finding is not in the store."""
    columns = {case.case_id: case.evaluators for case in room.plan.cases}
    return [shard.index for shard in room.shards if not _whole(shard, room.done, columns, room.plan.is_sweep)]


def _whole(shard: Shard, done: Done, columns: dict[str, tuple[str, ...]], sweep: bool) -> bool:
    return all(
        (sweep or key in done.trials) and all((*key, name) in done.cells for name in columns[key[0]])
        for key in shard.trials
    )
