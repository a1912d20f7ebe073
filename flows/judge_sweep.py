"""Judges over stored trials: plan -> shards -> finish. No agent is called."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect import State, flow, get_run_logger
from prefect.states import Completed, Failed

from flows import artifacts, fleet, names, tasks
from nightgate import wiring
from nightgate.requests import RunRequest
from nightgate.steps import reporting


@flow(name="judge-sweep", flow_run_name=names.sweep, persist_result=False, validate_parameters=False)
async def judge_sweep(name: str, request: dict[str, Any]) -> State[Any]:
    """Carry out one sweep; it is Completed when every cell has its status.

    Args:
        name: The suite's folder name, for people who read the flow's page.
        request: A ``RunRequest`` with ``sweep`` or ``selection`` set, as plain parameters.
    """
    request = wiring.whole(request)
    headline = await (_several(request) if request.get("selection") else _one(name, request))
    cells, trials = headline["cells"]["planned"], headline["trials"]
    line = f"{headline['run_id']}: {cells} cells over {trials} stored trials"
    get_run_logger().info(line)
    if headline["exit_code"] == 0:
        return Completed(message=line, data=headline)
    return Failed(message=line, data=headline, name=reporting.state_name(headline))


async def _one(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """The sweep of one run."""
    planned = await tasks.plan_run(name, request)
    if request.get("drainers"):
        await fleet.drained(request, planned, artifacts.Board(planned))
    else:
        with wiring.stopping_on_signals(planned["run_id"]):
            board, run_id = artifacts.Board(planned), planned["run_id"]
            async with board.progress(lambda: wiring.cells_done(run_id), "cells"):
                await _work([planned], [request])
    headline = await tasks.finish_run(planned["run_id"], request)
    await _alert(planned["run_id"], request)
    return headline


async def _several(request: dict[str, Any]) -> dict[str, Any]:
    """The sweep of several runs: each with tasks of its own, all under one cap and in this process."""
    request = {**request, "drainers": 0}
    async with wiring.open_group(RunRequest.of_parameters(request)) as group:
        for wave in group.waves():
            parts = [part.parameters() for part in wave]
            planned = [await tasks.plan_run(Path(part["suite"]).name, part) for part in parts]
            await _work(planned, parts)
            for part in parts:
                group.heard((await tasks.finish_run(part["run_id"], part))["exit_code"])
                await _alert(part["run_id"], part)
        return reporting.headline(await group.finish())


async def _alert(run_id: str, request: dict[str, Any]) -> None:
    for told in await tasks.alert(run_id, request):
        get_run_logger().warning(told)


async def _work(planned: Sequence[dict[str, Any]], requests: Sequence[dict[str, Any]]) -> None:
    """All shards; one that breaks leaves the others in place."""
    shards = (
        tasks.run_shard(run, index, request)
        for run, request in zip(planned, requests, strict=True)
        for index in range(run["shards"])
    )
    for receipt in await asyncio.gather(*shards, return_exceptions=True):
        if isinstance(receipt, BaseException):
            get_run_logger().error("a shard broke: %s: %s", type(receipt).__name__, receipt)
