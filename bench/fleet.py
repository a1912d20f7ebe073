"""A fleet on real servers: how near 2 workers come to the ideal, and how much faster 4 are.

    uv run python bench/fleet.py

PostgreSQL, a Redis-like broker, Prefect's server on both and an S3 server run on loopback; parent and workers
are processes, started as in production. Counted is what comes after all workers hold work: their start is the
scheduler's. Prints one JSON document; README.md says how to read it. Exit 1 if a bar is missed or a run did
not come to what was planted.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import pyarrow.parquet as pq  # noqa: E402 - what follows needs the path above

from checks import check_rows  # noqa: E402
from fleetruns import Fleet, Run  # noqa: E402
from fleetservers import FleetServers, fleet_servers  # noqa: E402
from measure import machine_cpu_s  # noqa: E402
from nightgate import wiring  # noqa: E402
from nightgate.ports import Store  # noqa: E402
from nightgate.steps.standings import Standing, Watch  # noqa: E402
from nightgate.wiring.rooms import CLAIM_TRIALS, MOST_CLAIMS  # noqa: E402
from servers import environment  # noqa: E402
from workload import CALLS, Task, write_suite  # noqa: E402

OVER_IDEAL, SPEED_UP, TASK_RUNS = 1.3, 1.8, 100
_LOOK_S = 0.5


def main() -> int:
    args = _parser().parse_args()
    task = Task(cases=args.trials, latency_ms=args.latency_ms, concurrency=args.concurrency)
    report = measure(task, args.workers)
    print(json.dumps(report, indent=1, allow_nan=False))
    return 0 if all(report["met"].values()) and not report["problems"] else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument(
        "--latency-ms", type=float, default=200.0, help="of each of a trial's two model calls"
    )
    parser.add_argument("--concurrency", type=int, default=25, help="slots of each worker")
    parser.add_argument("--workers", type=int, nargs=2, default=[2, 4], metavar=("FEW", "MANY"))
    return parser


def measure(task: Task, counts: list[int]) -> dict[str, Any]:
    """The same run by few workers and by many, on the same servers."""
    folder = Path(tempfile.mkdtemp(prefix="nightgate-bench-"))
    load_before = os.getloadavg()
    try:
        suite = write_suite(folder / "bench", task)
        with fleet_servers() as servers, environment(**servers.s3.env):
            runs = [_measured(task, servers, folder, suite, count) for count in counts]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    few, many = runs
    speed_up = many["trials_a_second"] / few["trials_a_second"]
    return {
        "task": {"trials": task.total, "latency_ms": task.latency_ms, "slots_a_worker": task.concurrency},
        "over_ideal": few["over_ideal"],
        "speed_up": round(speed_up, 2),
        "task_runs": [run["task_runs"] for run in runs],
        "met": {
            "over_ideal": few["over_ideal"] <= OVER_IDEAL,
            "speed_up": speed_up >= SPEED_UP,
            "task_runs": all(run["task_runs"] < TASK_RUNS for run in runs),
        },
        "problems": [problem for run in runs for problem in run.pop("problems")],
        "runs": runs,
        "machine": {
            "cpus": os.cpu_count(),
            "load_before": [round(x, 1) for x in load_before],
            "load_after": [round(x, 1) for x in os.getloadavg()],
        },
    }


def _measured(task: Task, servers: FleetServers, folder: Path, suite: Path, workers: int) -> dict[str, Any]:
    logs = folder / f"fleet-{workers}"
    logs.mkdir()
    fleet = Fleet(servers, logs, suite)
    try:
        fleet.deploy()
        for number in range(workers):
            fleet.work(f"w{number + 1}")
        store = f"s3://{servers.s3.bucket()}/bench"
        slots = {"concurrency": task.concurrency, "drainers": workers}
        run = fleet.start(fleet.request(suite, f"bench-{workers}", store, **slots))
        up_at, done_at, busy = _timed(task, run, workers)
        summary = run.end()["summary"]
        return {
            "workers": workers,
            **_figures(task, workers, wiring.open_store(store), run, up_at, done_at),
            "cores_busy": round(busy, 2),
            "task_runs": run.task_runs(),
            "trials_by_worker": sorted(part.trials for part in run.parts().values()),
            "problems": check_rows(task, store, summary)["problems"],
        }
    finally:
        fleet.close()


def _timed(task: Task, run: Run, workers: int) -> tuple[float, float, float]:
    """When all workers held something, when all shards were done, and how many cores were busy between."""
    watch = Watch(wiring.open_store(run.request.store), run.run_id)
    shards = min(MOST_CLAIMS, -(-task.total // CLAIM_TRIALS))
    _look_for(run, watch, lambda seen: len(seen.held) >= workers)
    up_at, cpu_s = time.time(), machine_cpu_s()
    _look_for(run, watch, lambda seen: seen.done >= shards)
    done_at = time.time()
    return up_at, done_at, (machine_cpu_s() - cpu_s) / (done_at - up_at)


def _look_for(run: Run, watch: Watch, true: Callable[[Standing], bool]) -> None:
    while not true(watch.look()):
        if run.parent.poll() is not None:
            msg = f"the parent ended before that: see {run.fleet.folder}"
            raise SystemExit(msg)
        time.sleep(_LOOK_S)


def _figures(
    task: Task, workers: int, store: Store, run: Run, up_at: float, done_at: float
) -> dict[str, float]:
    """What was left when all were up, how long it took, and how long the model alone would have.

    A trial in flight at that moment counts by the part of it that was still to come.
    """
    left, last = 0.0, up_at
    for began, ended in _moments(store, run.run_id):
        last = max(last, ended)
        if ended > up_at:
            left += min(1.0, (ended - up_at) / (ended - began))
    ideal_s = left / (workers * task.concurrency) * CALLS * task.latency_ms / 1000
    wall_s = done_at - up_at
    return {
        "trials_left_when_up": round(left),
        "ideal_s": round(ideal_s, 2),
        "wall_s": round(wall_s, 2),
        "over_ideal": round(wall_s / ideal_s, 3),
        "played_over_ideal": round((last - up_at) / ideal_s, 3),
        "trials_a_second": round(left / wall_s, 1),
    }


def _moments(store: Store, run_id: str) -> list[tuple[float, float]]:
    found = []
    for key in store.find("trials/"):
        if f"/{run_id}/" in key:
            table = pq.read_table(io.BytesIO(store.read(key)), columns=["started_at", "ended_at"])
            rows = table.to_pylist()
            found += [(row["started_at"].timestamp(), row["ended_at"].timestamp()) for row in rows]
    return found


if __name__ == "__main__":
    sys.exit(main())
