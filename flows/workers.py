"""Workers of a fleet as Prefect sees them: started through a deployment, asked after, told to stop.

While its server is away it is asked again later: the workers work on without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from typing import Any

from prefect import State, get_client, get_run_logger
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling, Crashed

DEPLOYMENT = os.environ.get("NIGHTGATE_DRAIN_DEPLOYMENT", "drain/drain")
_ANSWER_S = 20.0
"""Its client repeats for a minute by itself; a parent that is told to stop has less."""


async def answered(question: Coroutine[Any, Any, Any]) -> Any:
    """What Prefect answers; None while it does not. A deployment that is missing ends the parent."""
    try:
        return await asyncio.wait_for(question, _ANSWER_S)
    except ObjectNotFound:
        raise
    except Exception as away:  # its client has many words for a server that is not there
        get_run_logger().warning("Prefect is away: %s: %s", type(away).__name__, away)


async def start(owner: str, planned: dict[str, Any], runs: dict[str, Any]) -> bool:
    """Start a worker, and note its flow run under its name."""
    parameters = {"run_id": planned["run_id"], "owner": owner, "request": planned["request"]}
    key = f"{planned['run_id']}/{owner}"  # asked twice, it is one run all the same
    run = await arun_deployment(DEPLOYMENT, parameters=parameters, timeout=0, idempotency_key=key)
    runs[owner] = run.id
    get_run_logger().info("worker %s started: %s", owner, run.id)
    return True


async def states(runs: dict[str, Any]) -> dict[str, State[Any]]:
    """Where the workers' flow runs stand; one that somebody deleted counts as crashed."""
    found: dict[str, State[Any] | None] = {}
    async with get_client() as client:
        for owner, run_id in runs.items():
            try:
                found[owner] = (await client.read_flow_run(run_id)).state
            except ObjectNotFound:
                found[owner] = Crashed(message="its flow run is gone from Prefect's server")
    return {owner: state for owner, state in found.items() if state is not None}


async def cancel(runs: dict[str, Any]) -> None:
    """Tell all workers to stop: they let their shards go."""
    async with get_client() as client:
        for run_id in runs.values():
            with contextlib.suppress(ObjectNotFound):
                await client.set_flow_run_state(run_id, Cancelling())
