"""What the pages of a big run cost: time, CPU, memory, files and bytes.

    uv run python bench/report.py                                   # 450 cases x 5 trials x 6 evaluators
    uv run python bench/report.py --store s3 --repeat 3
    uv run python bench/report.py --repeat 1 --profile /tmp/profiles

Puts a run with texts as long as agents leave them, and the nights before it, then writes its pages in a
process of its own, with fresh memory: into the store, as a run does at its end, and into a folder, as
``nightgate report`` does. Prints one JSON document; exits 1 when a bar is missed or the two sets differ.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure import Elsewhere, Stopwatch, cpu_s, hide_pandas, rss_kib

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "tests"))
WALL_BAR_S, PEAK_BAR_MB, PAGE_BAR_MB = 10.0, 300.0, 5.0
CODE = ("ToolPolicy", "ArgumentPolicy", "CitesSource", "AnswerPolicy")
JUDGES = ("FaithfulJudge", "ToneJudge")
RUN, FIRST_DAY, FAILS_ONE_IN = "demo-now", "2026-11-30", 12


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=450)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--nights", type=int, default=29, help="stored before the run, without transcripts")
    parser.add_argument("--store", choices=("folder", "s3"), default="folder")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--profile", metavar="DIR", help="write a cProfile file; it slows what it measures")
    parser.add_argument("--worker", metavar="STORE", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(_worker(args)))
        return 0
    report = _measure(args)
    print(json.dumps(report, indent=1))
    return 0 if report["ok"] and not report["problems"] else 1


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    from nightgate.adapters.store import open_store
    from servers import environment, s3_server

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nightgate-bench-")))
        uri = str(folder / "store")
        if args.store == "s3":
            server = stack.enter_context(s3_server(folder / "s3"))
            stack.enter_context(environment(**server.env))
            uri = f"s3://{server.bucket()}/bench"
        _fill(open_store(uri), args)
        runs = [_run(uri, folder / f"pages-{turn}", args) for turn in range(args.repeat)]
        problems = _problems(open_store(uri), folder / "pages-0", args)
    figures = {
        name: statistics.median(run[name] for run in runs)
        for name in ("wall_s", "cpu_s", "peak_rss_mb", "files", "bytes", "largest_page_mb", "index_mb")
    }
    bars = {
        "wall": figures["wall_s"] <= WALL_BAR_S,
        "peak": figures["peak_rss_mb"] <= PEAK_BAR_MB,
        "page": figures["largest_page_mb"] <= PAGE_BAR_MB,
    }
    return {
        "cells": args.cases * args.trials * len((*CODE, *JUDGES)),
        "store": args.store,
        **figures,
        "bars": bars,
        "ok": all(bars.values()),
        "problems": problems,
        "runs": runs,
    }


def _fill(store: Any, args: argparse.Namespace) -> None:
    """The run, and the nights before it."""
    from playedruns import a_run_plan, put_run
    from storednights import Outcome, put_night

    cases = [f"question-{number:04d} about a late parcel" for number in range(args.cases)]
    for night in range(args.nights):
        coin = random.Random(night)
        failed = {case: int(coin.random() < 1 / FAILS_ONE_IN) for case in cases}
        counts = {
            (case, name): Outcome(args.trials - failed[case], failed[case], args.trials)
            for case in cases
            for name in (*CODE, *JUDGES)
        }
        put_night(store, night, counts)
    plan = a_run_plan(cases, (*CODE, *JUDGES), trials=args.trials, run_id=RUN, date=FIRST_DAY)
    plan = replace(plan, started_at=f"{FIRST_DAY}T22:30:00.000Z")
    put_run(store, plan, trial=_trial, score=_score)


def _trial(key: Any) -> Any:
    """Three look-ups and an answer, with a prompt, results and an answer as long as agents have them."""
    from makers import a_call, assistant, results, user
    from playedruns import a_played

    asked = (
        f"My parcel for {key.case_id} is late, and trial {key.trial} of me is getting impatient. What now?"
    )
    prompt = (
        "You are the desk of a shop. " + "Be brief, cite the article that you rest on, promise nothing. " * 20
    )
    found = "KB-101: A parcel that is 30 days late may be returned for store credit. " * 8
    answer = "You may return it for store credit; a refund ends after 30 days. [KB-101] " * 5
    messages: list[Any] = [user(asked)]
    calls = []
    for number in range(3):
        arguments = {"query": f"late parcel {number}", "customer": key.case_id, "limit": 3}
        calls.append(a_call("search", arguments, result=found, call_id=f"t{number}"))
        messages += [assistant((f"t{number}", "search", arguments)), results((f"t{number}", found))]
    return replace(
        a_played(key),
        input=asked,
        output=answer,
        tool_calls=tuple(calls),
        messages=(*messages, assistant(answer)),
        system_prompt=prompt,
        final_state={"cases": {"CS-1": {"status": "open", "notes": [asked]}}},
    )


def _score(case: str, trial: int, evaluator: str) -> Any:
    """One case in twelve fails, and says why."""
    from makers import a_score
    from nightgate.scores import Status

    number = int(case[9:13])
    if number % FAILS_ONE_IN == 0 and trial % 2 == 0:
        reason = f"{evaluator}: promises a refund on day 45, article KB-101 ends it on day 30. " * 3
        return a_score(Status.FAIL, reason=reason.strip(), score=0.0)
    return a_score(score=1.0, reason=f"trial {trial}: cites KB-101 and promises nothing")


def _run(uri: str, out: Path, args: argparse.Namespace) -> dict[str, Any]:
    """One worker from its start to its report."""
    elsewhere = Elsewhere()
    command = [sys.executable, str(HERE), "--worker", uri, "--out", str(out)]
    command += ["--profile", args.profile] if args.profile else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {**json.loads(done.stdout), "cores_busy_elsewhere": elsewhere.cores()}


def _worker(args: argparse.Namespace) -> dict[str, Any]:
    """Write the pages twice; ``wall_s`` and ``cpu_s`` are of those in the store, with imports."""
    watch = Stopwatch()
    hide_pandas()
    from nightgate.adapters.store import open_store
    from nightgate.reports.pages.writing import write_pages
    from nightgate.steps.runpages import keep_pages, pages_of_run

    store = open_store(args.worker)
    watch.lap("imports")
    with cProfile.Profile() if args.profile else ExitStack() as profile:
        keep_pages(store, RUN)
    watch.lap("store")
    if args.profile:
        Path(args.profile).mkdir(parents=True, exist_ok=True)
        profile.dump_stats(Path(args.profile) / f"report-{datetime.now(UTC):%H%M%S}.prof")
    peak = rss_kib("VmHWM")
    written = write_pages(pages_of_run(store, RUN), args.out)
    watch.lap("folder")
    sizes = {path.name: path.stat().st_size for path in Path(args.out).iterdir()}
    return {
        "wall_s": round(watch.total("wall_s", "imports", "store"), 2),
        "cpu_s": round(watch.total("cpu_s", "imports", "store"), 2),
        "peak_rss_mb": round(max(peak, rss_kib("VmHWM")) * 1024 / 1e6, 1),
        "files": written.files,
        "bytes": written.bytes,
        "largest_page_mb": round(max(sizes.values()) / 1e6, 3),
        "index_mb": round(sizes["index.html"] / 1e6, 3),
        "phases": watch.phases,
        "cpu_of_process_s": round(cpu_s(), 2),
        "load": [round(x, 1) for x in os.getloadavg()],
    }


def _problems(store: Any, folder: Path, args: argparse.Namespace) -> list[str]:
    """Whether both sets are the same and have a page for each case."""
    from nightgate.rows.keys import report_key

    prefix = report_key(RUN, "x")[:-1]
    kept = {key.removeprefix(prefix) for key in store.find(prefix)}
    written = {path.name for path in folder.iterdir()}
    return list(_differences(store, prefix, folder, kept, written, args))


def _differences(
    store: Any, prefix: str, folder: Path, kept: set[str], written: set[str], args: argparse.Namespace
) -> Iterator[str]:
    if kept != written:
        yield f"{len(kept)} files in the store, {len(written)} in the folder"
    pages = sum(name.startswith("case-") and name.endswith(".html") for name in written)
    if pages != args.cases:
        yield f"{pages} pages of cases, {args.cases} planned"
    for name in sorted(kept & written):
        if store.read(prefix + name) != (folder / name).read_bytes():
            yield f"{name} differs"


if __name__ == "__main__":
    sys.exit(main())
