"""The benchmark: nightgate beside a bare Strands loop, on the same task in the same minutes.

    uv run python bench/run.py --cases 1000 --trials 1 --latency-ms 200 --concurrency 100

Prints one JSON document; README.md says how to read it. Exit 1 if a run did not come to what was
planted. Every engine runs in a process of its own, the engines take turns, medians are reported.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import engines
from scaling import in_processes
from workload import Task
from workplace import workplace


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
        elif all(value == first for value in values):
            found[name] = first
        elif all(isinstance(value, int | float) for value in values):
            found[name] = _middle(values)
        else:
            found[name] = None
    return found


def _listed(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"runs": list(runs)} if len(runs) > 1 else {}


def _middle(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


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
