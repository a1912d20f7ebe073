"""The parent of a fleet: starts workers through their deployment, and starts others for those that die.

What counts is in the store's claims; of Prefect only the end of a worker's flow run is asked for, and while
its server is away it is asked again later: the workers work on without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from typing import Any

from prefect import get_client, get_run_logger
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling

from nightgate import wiring
from nightgate.errors import DamagedError, StoreError
from nightgate.requests import RunRequest

DEPLOYMENT = os.environ.get("NIGHTGATE_DRAIN_DEPLOYMENT", "drain/drain")
_LOOK_S = 2.0
_ASK_EVERY = 8
"""Looks at the claims between two questions to Prefect: its server has other things to do."""
_ANSWER_S = 20.0
"""Its client repeats for a minute by itself; a parent that is told to stop has less."""


async def drained(request: dict[str, Any], planned: dict[str, Any]) -> None:
    """Keep so many workers at a planned run as it asks for, until all of it is played or nobody is left.

    Args:
        request: The parent's ``RunRequest``.
        planned: As ``wiring.plan_fleet`` returned it.
    """
    roster = await asyncio.to_thread(wiring.roster, RunRequest.of_parameters(request), planned)
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
            while due and await _answered(_start(due[0], planned, runs)):
                del due[0]
            looks += 1
            if looks % _ASK_EVERY == 0:
                for owner in await _answered(_ended(runs)) or ():
                    roster.ended(owner)
                    del runs[owner]
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_S)
        if stop.is_set():
            await _answered(_cancel(runs))


async def _answered(question: Coroutine[Any, Any, Any]) -> Any:
    """What Prefect answers; None while it does not. A deployment that is missing ends the parent."""
    try:
        return await asyncio.wait_for(question, _ANSWER_S)
    except ObjectNotFound:
        raise
    except Exception as away:  # its client has many words for a server that is not there
        get_run_logger().warning("Prefect is away: %s: %s", type(away).__name__, away)


async def _start(owner: str, planned: dict[str, Any], runs: dict[str, Any]) -> bool:
    parameters = {"run_id": planned["run_id"], "owner": owner, "request": planned["request"]}
    key = f"{planned['run_id']}/{owner}"  # asked twice, it is one run all the same
    run = await arun_deployment(DEPLOYMENT, parameters=parameters, timeout=0, idempotency_key=key)
    runs[owner] = run.id
    get_run_logger().info("worker %s started: %s", owner, run.id)
    return True


async def _ended(runs: dict[str, Any]) -> list[str]:
    async with get_client() as client:
        states = {owner: (await client.read_flow_run(run_id)).state for owner, run_id in runs.items()}
    return [owner for owner, state in states.items() if state is not None and state.is_final()]


async def _cancel(runs: dict[str, Any]) -> None:
    async with get_client() as client:
        for run_id in runs.values():
            await client.set_flow_run_state(run_id, Cancelling())
