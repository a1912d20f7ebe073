"""The flows' tasks: names and retries here, meaning in the steps.

A task run is a shard of many trials, never a trial. Receipts travel, rows stay in the store; nothing
is read back from Prefect. State lives in the store, so no task retries by itself: a run that broke
is resumed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from flows import names
from nightgate import wiring
from nightgate.requests import RunRequest
from nightgate.steps import gating, reporting


@task(task_run_name="plan-{name}", persist_result=False, cache_policy=NO_CACHE)
async def plan_run(name: str, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - in the run's name
    """Freeze the grid; from here on the run has an id."""
    if request.get("drainers"):
        return await wiring.plan_fleet(RunRequest.of_parameters(request))
    room = await wiring.open_room(RunRequest.of_parameters(request), wiring.counting())
    return wiring.as_planned(room)


@task(task_run_name=names.shard, persist_result=False, cache_policy=NO_CACHE)
async def run_shard(planned: dict[str, Any], index: int, request: dict[str, Any]) -> dict[str, Any]:
    """Play and judge one shard."""
    room = await wiring.room_of(RunRequest.of_parameters(request), planned["run_id"])
    receipt = await wiring.work(room, index)
    return reporting.receipt(receipt)


@task(task_run_name="{run_id}-finish", persist_result=False, cache_policy=NO_CACHE)
async def finish_run(run_id: str, request: dict[str, Any]) -> dict[str, Any]:
    """Commit what is complete, write the summary."""
    finished = await wiring.finish(RunRequest.of_parameters(request), run_id)
    return reporting.headline(finished.summary)


@task(task_run_name="{run_id}-gate", persist_result=False, cache_policy=NO_CACHE)
async def gate(run_id: str, store: str) -> dict[str, Any]:
    """Decide from stored rows only."""
    decision = await asyncio.to_thread(gating.gate_run, wiring.open_store(store), run_id)
    return {
        "verdict": decision.verdict.value,
        "exit_code": decision.exit_code,
        "findings": decision.findings(),
    }


@task(task_run_name="{run_id}-flaky", persist_result=False, cache_policy=NO_CACHE)
async def find_flaky(run_id: str, request: dict[str, Any]) -> dict[str, Any]:
    """Flaky or broken; by night the suspects are rerun first."""
    return await wiring.find_flaky(RunRequest.of_parameters(request), run_id)


@task(task_run_name="{run_id}-canaries", persist_result=False, cache_policy=NO_CACHE)
async def judge_canaries(run_id: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """By night: the judges over frozen trials and planted attacks."""
    return await wiring.canaries(RunRequest.of_parameters(request), run_id)


@task(task_run_name="{run_id}-report", persist_result=False, cache_policy=NO_CACHE)
async def write_report(run_id: str, request: dict[str, Any]) -> str | None:
    """Write the run's pages to the store; the line says why there are none."""
    return await wiring.keep_report(RunRequest.of_parameters(request), run_id)


@task(task_run_name="{run_id}-alert", persist_result=False, cache_policy=NO_CACHE)
async def alert(run_id: str, request: dict[str, Any]) -> list[str]:
    """Tell what changed, once; the lines say what could not be told."""
    return await wiring.alert(RunRequest.of_parameters(request), run_id)
