"""How many stored trials a sweep reads, judges and writes in a second, with a judge that answers at once.

    uv run python bench/sweep.py --cases 1000

Plays the trials first, then sweeps them twice: once anew, once with all findings known. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from nightgate.requests import RunRequest
from nightgate.wiring import run_request

EVALUATORS = ("Criterion:a", "Criterion:b")
JUDGES = ("scripted:one", "scripted:two")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    args = parser.parse_args()
    print(json.dumps(asyncio.run(_measure(args.cases)), indent=1))


async def _measure(cases: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite, store = _suite(folder / "swept", cases), str(folder / "store")
        await run_request(RunRequest.make(suite, {"store": store, "run_id": "base", "concurrency": 100}))
        first = await _sweep(suite, store, "s1")
        second = await _sweep(suite, store, "s2")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"trials": cases, "first": first, "second": second, "peak_rss_mib": round(peak_mib)}


async def _sweep(suite: Path, store: str, run_id: str) -> dict[str, Any]:
    options = {"store": store, "sweep": "base", "run_id": run_id, "judges": JUDGES, "evaluators": EVALUATORS}
    began = time.perf_counter()
    finished = await run_request(
        RunRequest.make(suite, {**options, "concurrency": 50, "judge_concurrency": 50})
    )
    took_s = time.perf_counter() - began
    summary = finished.summary.as_dict()
    return {
        "seconds": round(took_s, 2),
        "trials_per_s": round(summary["trials"] / took_s),
        "judge_calls": summary["calls"]["total"],
        "cells": summary["cells"]["planned"],
    }


def _suite(folder: Path, cases: int) -> Path:
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(
        "suite: swept\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:agent\n"
        "judge: scripted:one\nevaluators: {'Criterion:a': {when: live}, 'Criterion:b': {when: live}}\n"
    )
    judge = [{"id": letter, "criterion": f"Is it {letter}?"} for letter in "ab"]
    expect = {"answer": {"contains": ["Hello"]}, "judge": judge}
    listed = [
        {"id": f"c{n}", "input": f"question {n}", "context": {"customer_id": "C-17"}, "expect": expect}
        for n in range(cases)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (folder / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    for name in ("one", "two"):
        script = {"judgements": {evaluator: {"*": {"fields": "best"}} for evaluator in EVALUATORS}}
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps(script))
    return folder


if __name__ == "__main__":
    main()
