"""How many stored trials a sweep reads, judges and writes in a second, with a judge that answers at once.

    uv run python bench/sweep.py --cases 100 --trials 10 --judges 2 --evaluators 2

Plays the trials first, then sweeps them twice, each time in a process of its own: once anew, once with all
findings known. The same at ``--growth`` times as many trials tells what memory each further trial takes.
Wall time includes everything but the imports: suite, plan, commit. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nightgate.requests import RunRequest
from nightgate.wiring import run_request

LETTERS = "abcdefgh"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=1, help="of each case")
    parser.add_argument("--judges", type=int, default=2)
    parser.add_argument("--evaluators", type=int, default=2, help=f"at most {len(LETTERS)}")
    parser.add_argument("--growth", type=int, default=1, help="measure so many times the trials as well")
    parser.add_argument("--concurrency", type=int, default=50, help="judgements in flight")
    parser.add_argument("--sweep", nargs=3, metavar=("SUITE", "STORE", "ID"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.sweep is not None:
        print(json.dumps(asyncio.run(_sweep(args, *args.sweep))))
        return
    print(json.dumps(_measure(args), indent=1))


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    found = {"judges": args.judges, "evaluators": args.evaluators, **_at(args, args.trials)}
    if args.growth > 1:
        more = _at(args, args.trials * args.growth)
        grown_kib = 1024 * (more["first"]["peak_rss_mib"] - found["first"]["peak_rss_mib"])
        found["grown"] = more
        found["growth_kib_a_trial"] = round(grown_kib / (more["trials"] - found["trials"]), 2)
    return found


def _at(args: argparse.Namespace, trials: int) -> dict[str, Any]:
    """One size: the trials are played, then swept anew and once more."""
    with tempfile.TemporaryDirectory() as name:
        suite, store = _suite(Path(name) / "swept", args), str(Path(name) / "store")
        options = {"store": store, "run_id": "base", "concurrency": 100, "trials": trials}
        asyncio.run(run_request(RunRequest.make(suite, options)))
        first, again = (_apart(args, suite, store, run_id) for run_id in ("s1", "s2"))
    return {"trials": args.cases * trials, "first": first, "again": again}


def _apart(args: argparse.Namespace, suite: Path, store: str, run_id: str) -> dict[str, Any]:
    """A sweep in a process of its own, so that its memory is its own."""
    flags = [f"--{name}={getattr(args, name)}" for name in ("judges", "evaluators", "concurrency")]
    command = [sys.executable, __file__, *flags, "--sweep", str(suite), store, run_id]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def _sweep(args: argparse.Namespace, suite: str, store: str, run_id: str) -> dict[str, Any]:
    names = tuple(f"Criterion:{letter}" for letter in LETTERS[: args.evaluators])
    judges = tuple(f"scripted:judge{n}" for n in range(args.judges))
    window = {"concurrency": args.concurrency, "judge_concurrency": args.concurrency}
    options = {"store": store, "sweep": "base", "run_id": run_id, "judges": judges, "evaluators": names}
    began, cpu = time.perf_counter(), time.process_time()
    finished = await run_request(RunRequest.make(suite, {**options, **window}))
    took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    summary = finished.summary.as_dict()
    return {
        "seconds": round(took_s, 2),
        "cpu_seconds": round(cpu_s, 2),
        "trials_per_s": round(summary["trials"] / took_s),
        "trials_per_cpu_s": round(summary["trials"] / cpu_s),
        "judge_calls": summary["calls"]["total"],
        "cells": summary["cells"]["planned"],
        "peak_rss_mib": _peak_mib(),
    }


def _peak_mib() -> int:
    """This program's own peak: ``ru_maxrss`` would be that of the process that started it, too."""
    status = Path("/proc/self/status").read_text()
    return round(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def _suite(folder: Path, args: argparse.Namespace) -> Path:
    letters = LETTERS[: args.evaluators]
    (folder / "scripts").mkdir(parents=True)
    live = ", ".join(f"'Criterion:{letter}': {{when: live}}" for letter in letters)
    (folder / "suite.yaml").write_text(
        "suite: swept\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:agent\n"
        f"judge: scripted:judge0\nevaluators: {{{live}}}\n"
    )
    judge = [{"id": letter, "criterion": f"Is it {letter}?"} for letter in letters]
    expect = {"answer": {"contains": ["Hello"]}, "judge": judge}
    lines = [
        json.dumps(
            {"id": f"c{n}", "input": f"question {n}", "context": {"customer_id": "C-17"}, "expect": expect}
        )
        for n in range(args.cases)
    ]
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    for n in range(args.judges):
        script = {"judgements": {f"Criterion:{letter}": {"*": {"fields": "best"}} for letter in letters}}
        (folder / "scripts" / f"judge{n}.yaml").write_text(json.dumps(script))
    return folder


if __name__ == "__main__":
    main()
