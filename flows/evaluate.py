"""One suite: plan, shards, finish, gate, flaky, canaries, pages, alerts. The state follows the gate."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import State, flow, get_run_logger
from prefect.states import Completed, Failed

from flows import artifacts, fleet, names, tasks
from nightgate import wiring
from nightgate.steps import reporting


@flow(name="evaluate", flow_run_name=names.evaluation, persist_result=False, validate_parameters=False)
async def evaluate(name: str, request: dict[str, Any]) -> State[Any]:
    """Run one suite and decide on it.

    A shard that breaks leaves finish and gate in place: what is missing is then inconclusive.

    Args:
        name: The suite's folder name, for people who read the flow's page.
        request: A ``RunRequest`` as plain parameters; of a deployment ``suite`` and what differs from the
            defaults.
    """
    log = get_run_logger()
    request = wiring.whole(request)
    planned = await tasks.plan_run(name, request)
    run_id, store, board = planned["run_id"], request["store"], artifacts.Board(planned)
    if request.get("drainers"):
        await fleet.drained(request, planned, board)
    else:
        await _here(planned, request, board)
    headline = await tasks.finish_run(run_id, request)
    decision = await tasks.gate(run_id, store)
    flaky = await tasks.find_flaky(run_id, request)
    canary = await tasks.judge_canaries(run_id, request)
    line = reporting.verdict_line(headline, decision, flaky, canary)
    pages = await tasks.write_report(run_id, request)
    for told in ([] if pages is None else [pages]) + await tasks.alert(run_id, request):
        log.warning(told)
    await board.verdict(request)
    log.info(line)
    if headline["exit_code"] == 0:
        return Completed(message=line, data=headline)
    return Failed(message=line, data=headline, name=reporting.state_name(headline))


async def _here(planned: dict[str, Any], request: dict[str, Any], board: artifacts.Board) -> None:
    """All shards in this process; one that breaks leaves the others in place."""
    run_id = planned["run_id"]
    with wiring.stopping_on_signals(run_id):
        played = (tasks.run_shard(planned, index, request) for index in range(planned["shards"]))
        async with board.progress(lambda: wiring.cells_done(run_id), "cells"):
            receipts = await asyncio.gather(*played, return_exceptions=True)
        for receipt in receipts:
            if isinstance(receipt, BaseException):
                get_run_logger().error("a shard broke: %s: %s", type(receipt).__name__, receipt)
