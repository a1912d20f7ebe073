"""The benchmark: nightgate beside a bare Strands loop, on the same task in the same minutes.

    uv run python bench/run.py --cases 1000 --trials 1 --latency-ms 200 --concurrency 100

Prints one JSON document; README.md says how to read it. Exit 1 if a run did not come to what was
planted. Every engine runs in a process of its own, the engines take turns, medians are reported.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import engines
from workload import Task, write_suite

HERE = Path(__file__).resolve().parent


def main() -> int:
    args = _parser().parse_args()
    if args.worker:
        print(json.dumps(_work(args.worker, json.loads(args.job)), allow_nan=False))
        return 0
    task = Task(
        cases=args.cases, trials=args.trials, latency_ms=args.latency_ms, concurrency=args.concurrency
    )
    report = measure(task, args)
    print(json.dumps(report, indent=1, allow_nan=False))
    return 0 if report["rows_as_planted"] else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=1, help="of each case; with 2 and more, 5%% are flaky")
    parser.add_argument("--latency-ms", type=float, default=200.0, help="of each model call")
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--store", choices=("folder", "s3"), default="s3", help="s3: SeaweedFS on loopback")
    parser.add_argument("--prefect", action="store_true", help="also through flows.evaluate")
    parser.add_argument("--processes", type=int, default=1, help="also the shards in 1 and in N processes")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--profile", metavar="DIR", help="cProfile of bare and nightgate (slows both)")
    parser.add_argument("--pandas", action="store_true", help="let pyarrow import pandas, if it is there")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser


def measure(task: Task, args: argparse.Namespace) -> dict[str, Any]:
    """All engines, ``args.repeat`` times, in turn."""
    names = ["bare", "nightgate", *(["prefect"] if args.prefect else [])]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    scaled: list[dict[str, Any]] = []
    load_before = os.getloadavg()
    with workplace(task, args.store) as place:
        for _ in range(args.repeat):
            for name in names:
                profile = str(Path(args.profile).resolve() / f"{name}.prof") if args.profile else None
                runs[name].append(place.run(name, profile=profile, pandas=args.pandas))
            if args.processes > 1:
                scaled.append(in_processes(place, args.processes))
    problems = [p for many in runs.values() for run in many for p in run.pop("problems")]
    problems += [p for run in scaled for p in run.pop("problems")]
    middle = {name: medians(many) for name, many in runs.items()}
    ours = middle["nightgate"]
    return {
        "task": {**asdict(task), "store": args.store, "repeat": args.repeat},
        "ideal_s": task.ideal_s,
        **{name: ours[name] for name in ("wall_s", "wall_over_ideal", "cpu_ms_per_trial", "peak_rss_mib")},
        "rss_growth_kib_per_trial": ours["rss_growth_kib_per_trial"],
        **{name: ours[name] for name in ("cells", "failed", "flaky", "calls")},
        "rows_as_planted": not problems,
        "problems": problems,
        "beside_bare": beside(runs),
        "engines": {name: {**middle[name], **_listed(runs[name])} for name in names},
        "processes": {**medians(scaled), **_listed(scaled)} if scaled else None,
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": [round(x, 1) for x in load_before],
            "load_after": [round(x, 1) for x in os.getloadavg()],
        },
    }


def beside(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Every engine against the bare loop that ran just before it: medians, and how far they spread."""
    found: dict[str, Any] = {}
    for name, many in runs.items():
        if name == "bare":
            continue
        pairs = list(zip(many, runs["bare"], strict=True))
        walls = [ours["wall_s"] / base["wall_s"] for ours, base in pairs]
        cpus = [ours["cpu_ms_per_trial"] / base["cpu_ms_per_trial"] for ours, base in pairs]
        above = [ours["cpu_ms_per_trial"] - base["cpu_ms_per_trial"] for ours, base in pairs]
        found[name] = {
            "wall_ratio": _middle(walls),
            "cpu_ratio": _middle(cpus),
            "cpu_ms_per_trial_above": _middle(above),
            "wall_ratio_range": [round(min(walls), 2), round(max(walls), 2)],
            "cpu_ratio_range": [round(min(cpus), 2), round(max(cpus), 2)],
        }
    return found


def medians(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median of every plain figure; where a run has none of it, none."""
    found: dict[str, Any] = {}
    for name, first in runs[0].items():
        values = [run[name] for run in runs]
        if isinstance(first, Mapping):
            found[name] = medians(values)
        elif all(isinstance(value, int | float) for value in values):
            found[name] = _middle(values)
        else:
            found[name] = None
    return found


def _listed(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"runs": list(runs)} if len(runs) > 1 else {}


def _middle(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


class Workplace:
    """A suite folder, a store, and the environment of the workers."""

    def __init__(self, task: Task, folder: Path, store: str, environ: Mapping[str, str]) -> None:
        self.task, self._folder, self._store, self._environ = task, folder, store, environ
        self._suite = str(write_suite(folder / "bench", task))
        self._count = 0

    def job(self, **more: Any) -> dict[str, Any]:
        """A job with a store prefix of its own."""
        self._count += 1
        return {
            "task": asdict(self.task),
            "suite": self._suite,
            "store": f"{self._store}/{self._count}",
            "spool": str(self._folder / "spool"),
            **more,
        }

    def run(self, worker: str, job: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """One worker from its start to its report."""
        return self.wait(self.start(worker, job or self.job(**more)))

    def start(self, worker: str, job: Mapping[str, Any]) -> subprocess.Popen[str]:
        """A worker's process."""
        return subprocess.Popen(
            [sys.executable, __file__, "--worker", worker, "--job", json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._folder,
            env={**os.environ, **self._environ},
            text=True,
        )

    def wait(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """The report of a worker."""
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"worker {process.args[3]} ended with {process.returncode}")  # type: ignore[index]
        found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        return found


@contextlib.contextmanager
def workplace(task: Task, store: str) -> Iterator[Workplace]:
    """A temporary folder with the suite; with ``s3`` also a server on loopback."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nightgate-bench-")))
        environ = {
            "PREFECT_HOME": str(folder / "prefect"),
            "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent))),
        }
        uri = str(folder / "store")
        if store == "s3":
            sys.path.insert(0, str(HERE.parent / "tests"))
            from servers import s3_server

            server = stack.enter_context(s3_server(folder / "s3"))
            environ |= server.env
            uri = f"s3://{server.bucket()}/bench"
        yield Workplace(task, folder, uri, environ)


def in_processes(place: Workplace, processes: int) -> dict[str, Any]:
    """The same planned shards in one process, then in several; both finished from the store."""
    found: dict[str, Any] = {"problems": []}
    for count in (1, processes):
        job = place.job()
        planned = place.run("plan", job)
        workers = [
            place.start("share", {**job, "run_id": planned["run_id"], "index": i, "of": count})
            for i in range(count)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        began = time.perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        reports = [place.wait(worker) for worker in workers]
        found[f"play_in_{count}_s"] = max(report["phases"]["play"]["wall_s"] for report in reports)
        found[f"wall_in_{count}_s"] = round(time.perf_counter() - began, 3)
        found[f"cpu_in_{count}_s"] = round(sum(r["phases"]["play"]["cpu_s"] for r in reports), 3)
        finished = place.run("finish", {**job, "run_id": planned["run_id"]})
        found["problems"] += finished["problems"]
    found["speed_up"] = round(found["play_in_1_s"] / found[f"play_in_{processes}_s"], 2)
    return found


def _work(worker: str, data: dict[str, Any]) -> dict[str, Any]:
    run_id, index, of = (data.pop(name, None) for name in ("run_id", "index", "of"))
    job = engines.Job(**{**data, "task": Task(**data["task"])})
    if worker == "plan":
        return engines.plan(job)
    if worker == "share":
        return engines.share(job, run_id, index, of)
    if worker == "finish":
        return engines.finish(job, run_id)
    return engines.ENGINES[worker](job)


if __name__ == "__main__":
    sys.exit(main())
