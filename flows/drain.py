"""A worker's part in a run of a fleet: it claims shards in the store until none is left."""

from __future__ import annotations

from typing import Any

from prefect import State, flow
from prefect.states import Completed

from nightgate import wiring
from nightgate.requests import RunRequest


@flow(name="drain", flow_run_name="drain-{run_id}-{owner}", persist_result=False, validate_parameters=False)
async def drain(run_id: str, owner: str, request: dict[str, Any]) -> State[Any]:
    """Work on a planned run.

    Args:
        run_id: The run.
        owner: This worker's name in its claims.
        request: The run's ``RunRequest``, as its parent planned it.
    """
    done = await wiring.drain(RunRequest.of_parameters(request), run_id, owner)
    line = f"{owner}: {done.shards} shards, {done.trials} trials, {done.taken_over} taken over"
    return Completed(message=line, data=done.as_dict())
