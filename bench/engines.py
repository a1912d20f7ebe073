"""The engines that are compared, each run in a process of its own (``run.py --worker``).

A worker prepares, measures, and only then checks its own rows, so that checking costs nothing that
is reported. Imports of what an engine needs before its first model call are a phase of their own;
what it imports later (scipy at the gate) is part of its run.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from checks import check_rows
from measure import Elsewhere, Memory, Stopwatch, children_cpu_s, hide_pandas
from workload import CALLS, Task, case_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is told."""

    task: Task
    suite: str
    store: str
    spool: str
    profile: str | None = None
    pandas: bool = False


def _report(watch: Stopwatch, memory: Memory, elsewhere: Elsewhere, task: Task, *run: str) -> dict[str, Any]:
    wall, cpu = watch.total("wall_s", *run), watch.total("cpu_s", *run)
    return {
        "wall_s": round(wall, 3),
        "wall_over_ideal": round(wall / task.ideal_s, 3) if task.ideal_s else None,
        "cpu_ms_per_trial": round(1000 * cpu / task.total, 3),
        "cpu_ms_per_trial_by_phase": {
            name: round(1000 * watch.phases[name]["cpu_s"] / task.total, 3) for name in run
        },
        "trials_per_s": round(task.total / wall, 1),
        **memory.report(),
        "phases": watch.phases,
        "cores_busy_elsewhere": elsewhere.cores(),
    }


def bare(job: Job) -> dict[str, Any]:
    """Plain Strands agents in a window under asyncio: the same calls, no scoring, no storage."""
    watch, task = Stopwatch(), job.task
    sys.path.insert(0, job.suite)
    from bench_agent import build

    from nightgate.adapters.scripted import ScriptedModel
    from nightgate.calls import Role, Scope, scoped
    from nightgate.cases.scripts import load_script

    model = ScriptedModel(load_script(Path(job.suite) / "scripts" / "baseline.yaml"), "baseline")
    queue = ((i, n) for n in range(task.trials) for i in range(task.cases))
    memory, elsewhere = Memory(task.total), Elsewhere()
    calls = wrong = 0

    async def work() -> None:
        nonlocal calls, wrong
        for number, trial in queue:
            case = SimpleNamespace(id=case_id(number), input=f"Order {number}: may I return it?")
            with scoped(Scope(role=Role.AGENT, run_id="", suite="", case_id=case.id, trial=trial)):
                agent = build(model, case)
                result = await agent.invoke_async(case.input)
            calls += sum(message["role"] == "assistant" for message in agent.messages)
            wrong += "no idea" in str(result)
            memory.tick()

    async def main() -> None:
        await asyncio.gather(*(work() for _ in range(task.concurrency)))

    watch.lap("imports")
    with _profiled(job.profile):
        asyncio.run(main())
    watch.lap("play")
    report = _report(watch, memory, elsewhere, task, "play")
    problems = []
    if calls != CALLS * task.total:
        problems.append(f"bare: {calls} model calls, {CALLS * task.total} expected")
    if wrong != task.wrong_trials:
        problems.append(f"bare: {wrong} wrong answers, {task.wrong_trials} planted")
    return {**report, "calls": calls, "wrong": wrong, "problems": problems}


def nightgate(job: Job) -> dict[str, Any]:
    """``wiring.run_request``: what ``nightgate run`` does, rows persisted."""
    watch = Stopwatch()
    _import_for_the_first_call(job)
    from nightgate import wiring

    memory = Memory(job.task.total)
    progress = _progress(watch, memory)
    watch.lap("imports")
    elsewhere = Elsewhere()
    with _profiled(job.profile):
        finished = asyncio.run(wiring.run_request(request_of(job), progress))
    watch.lap("finish")
    report = _report(watch, memory, elsewhere, job.task, "plan", "play", "finish")
    return {**report, **check_rows(job.task, job.store, finished.summary.as_dict())}


def prefect(job: Job) -> dict[str, Any]:
    """``flows.evaluate`` on Prefect's embedded server, started by the flow as for a user."""
    watch = Stopwatch()
    _import_for_the_first_call(job)
    from nightgate import wiring
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    watch.lap("imports")
    from flows.evaluate import evaluate

    watch.lap("prefect_import")
    memory, elsewhere = Memory(job.task.total), Elsewhere()
    open_room, progress = wiring.open_room, _progress(watch, memory)

    async def opened(request: Any, *_: Any) -> Any:
        watch.lap("flow_start")
        return await open_room(request, progress)

    wiring.open_room = opened
    parameters = wiring.named(request_of(job).parameters())
    with _profiled(job.profile):
        asyncio.run(evaluate("bench", parameters, return_state=True))
    watch.lap("finish")
    body = ("plan", "play", "finish")
    report = _report(watch, memory, elsewhere, job.task, *body)
    with_start = watch.total("wall_s", "flow_start", *body)
    report |= {
        "flow_start_s": watch.phases["flow_start"]["wall_s"],
        "prefect_import_s": watch.phases["prefect_import"]["wall_s"],
        "wall_with_start_s": round(with_start, 3),
        "wall_with_start_over_ideal": round(with_start / job.task.ideal_s, 3) if job.task.ideal_s else None,
        "server_cpu_s": round(children_cpu_s(), 2),
    }
    return {**report, **check_rows(job.task, job.store, asyncio.run(wiring.stored_summary(parameters)))}


def plan(job: Job) -> dict[str, Any]:
    """Plan a run and leave it open, for processes that share its shards."""
    from nightgate import wiring

    async def main() -> tuple[str, int]:
        room = await wiring.open_room(request_of(job))
        await room.close()
        return room.plan.run_id, len(room.shards)

    run_id, shards = asyncio.run(main())
    return {"run_id": run_id, "shards": shards}


def share(job: Job, run_id: str, index: int, of: int) -> dict[str, Any]:
    """Every ``of``-th shard of a planned run, from ``index`` on; starts at a line on stdin."""
    _import_for_the_first_call(job)
    from nightgate import wiring

    async def main() -> dict[str, Any]:
        # A spool of its own: opening a room brings up every journal that lies in the spool.
        room = await wiring.room_of(request_of(job, spool=f"{job.spool}/{index}"), run_id)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        watch = Stopwatch()
        await asyncio.gather(*(wiring.work(room, i) for i in range(index, len(room.shards), of)))
        await room.close()
        watch.lap("play")
        return {"phases": watch.phases, **Memory(1).report()}

    return asyncio.run(main())


def finish(job: Job, run_id: str) -> dict[str, Any]:
    """Commit a run from its store, as the last of several processes does."""
    _import_for_the_first_call(job)
    from nightgate import wiring

    request = request_of(job)
    watch = Stopwatch()
    finished = asyncio.run(wiring.finish(request, run_id))
    watch.lap("finish")
    return {"phases": watch.phases, **check_rows(job.task, job.store, finished.summary.as_dict())}


def request_of(job: Job, spool: str | None = None) -> Any:
    """The request behind ``nightgate run``."""
    from nightgate.requests import RunRequest

    values = {
        "store": job.store,
        "spool": spool or job.spool,
        "trials": job.task.trials,
        "concurrency": job.task.concurrency,
        "alerts": False,
    }
    return RunRequest.make(job.suite, values, {})


def _import_for_the_first_call(job: Job) -> None:
    if not job.pandas:
        hide_pandas()
    import pyarrow.parquet  # noqa: F401
    import strands  # noqa: F401

    import nightgate.adapters.agents
    import nightgate.adapters.hub
    import nightgate.steps.finishing  # noqa: F401

    if job.store.startswith("s3://"):
        import boto3  # noqa: F401


def _progress(watch: Stopwatch, memory: Memory) -> Any:
    from nightgate.wiring import Progress

    left = 0

    def planned(run: Any) -> None:
        nonlocal left
        left = run.cell_count
        watch.lap("plan")

    def judged(_: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            watch.lap("play")

    return Progress(on_plan=planned, on_trial=lambda _: memory.tick(), on_cell=judged)


class _profiled:  # noqa: N801 - reads as a word
    """cProfile around a block, when asked for."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    def __enter__(self) -> None:
        if self._path:
            import cProfile

            self._profile = cProfile.Profile(
                time.thread_time if os.environ.get("BENCH_CPU") else time.perf_counter
            )
            self._profile.enable()

    def __exit__(self, *_: object) -> None:
        if self._path:
            self._profile.disable()
            self._profile.dump_stats(self._path)


ENGINES: dict[str, Callable[[Job], dict[str, Any]]] = {
    "bare": bare,
    "nightgate": nightgate,
    "prefect": prefect,
}
