"""Judges over stored trials: plan -> shards -> finish. No agent is called."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import State, flow, get_run_logger
from prefect.states import Completed, Failed

from flows import tasks
from nightgate import wiring
from nightgate.steps import reporting


@flow(name="judge-sweep", flow_run_name="sweep-{name}", persist_result=False, validate_parameters=False)
async def judge_sweep(name: str, request: dict[str, Any]) -> State[Any]:
    """Carry out one sweep; it is Completed when every cell has its status.

    Args:
        name: The suite's folder name, for people who read the flow's page.
        request: A ``RunRequest`` with ``sweep`` set, as plain parameters.
    """
    log = get_run_logger()
    planned = await tasks.plan_run(name, request)
    run_id = planned["run_id"]
    with wiring.stopping_on_signals(run_id):
        shards = (tasks.run_shard(run_id, index, request) for index in range(planned["shards"]))
        for receipt in await asyncio.gather(*shards, return_exceptions=True):
            if isinstance(receipt, BaseException):
                log.error("a shard broke: %s: %s", type(receipt).__name__, receipt)
    headline = await tasks.finish_run(run_id, request)
    line = f"{run_id}: {headline['cells']['planned']} cells over {headline['trials']} stored trials"
    log.info(line)
    if headline["exit_code"] == 0:
        return Completed(message=line, data=headline)
    return Failed(message=line, data=headline, name=reporting.state_name(headline))
