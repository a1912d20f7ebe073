"""``nightgate sweep RUN...``: other judges, or the same one again, over stored trials of one run or many."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.cli.output import check_writable, people, users_prints_aside, write_json
from nightgate.errors import ExitCode, InputError
from nightgate.plaintext import plain
from nightgate.requests import RunRequest, default_store

_FIELDS = (
    "store", "judges", "evaluators", "repeat", "batch", "case", "tag", "layer", "stage", "run_id", "resume",
    "judge_concurrency", "spool", "budget_usd", "prices", "allow_unpriced", "status", "of",
    "panel", "related_judges",
)  # fmt: skip


_KEPT = {
    "judges": "judge", "evaluators": "evaluator", "panel": "panel", "repeat": "repeat", "batch": "batch",
    "status": "status", "of": "of", "since": "since", "until": "until", "case": "case", "tag": "tag",
    "layer": "layer", "stage": "stage", "run_id": "run-id", "dry_run": "dry-run",
}  # fmt: skip
"""What a sweep keeps from its first start, by the name of the flag."""


def run(args: argparse.Namespace) -> int:
    """Carry the sweep out: 0 done, 3 nothing was judged or it is open, 4 budget, 130 interrupted."""
    check_writable(args.json)
    if args.resume is None and not args.runs:
        msg = "name the runs to sweep: run ids, latest, latest:SUITE, or suite:SUITE for all of a suite"
        raise InputError(msg)
    if args.resume is not None and args.runs:
        msg = f"--resume {args.resume} goes on with the runs that it was begun with: name none"
        raise InputError(msg)
    if args.resume is not None:
        _refuse_kept(args)
    if args.of and not args.status:
        msg = "--of says whose findings --status means: give --status too"
        raise InputError(msg)
    return asyncio.run(_sweep(args))


def _refuse_kept(args: argparse.Namespace) -> None:
    """A resume does what the sweep was begun for: a flag that says otherwise would be dropped.

    Raises:
        InputError: Naming the flags.
    """
    given = [f"--{flag}" for name, flag in _KEPT.items() if getattr(args, name)]
    if given:
        msg = (
            f"--resume {args.resume} goes on with what the sweep was begun for; {', '.join(given)} would "
            "change that: leave it out, or begin another sweep (it pays only for what is new)"
        )
        raise InputError(msg)


async def _sweep(args: argparse.Namespace) -> int:
    from nightgate import wiring
    from nightgate.reports.sweep import forecast, render

    of_baseline = await asyncio.to_thread(_baseline, args)
    request = await asyncio.to_thread(_request, args)
    several = bool(request.selection)
    if of_baseline and not request.evaluators:
        again = await wiring.judged_today(request)
        if again is None:
            print(f"{request.sweep}: today's judges found all that is there", file=people(args.json))
            return ExitCode.OK
        request = again
    if args.dry_run:
        plan = await (wiring.selection_forecast(request) if several else wiring.sweep_forecast(request))
        print(forecast(plan), file=people(args.json))
        write_json(plan, args.json)
        return ExitCode.OK
    summary = await (_through_prefect(request) if args.prefect else _here(request))
    suite = request.suite or args.suite
    told = render(summary, suite=str(Path(suite)) if suite else None, store=args.store)
    print(told, file=people(args.json))
    if of_baseline and (said := await asyncio.to_thread(wiring.note_with_baseline, request, summary)):
        print(said, file=people(args.json))
    write_json(summary, args.json)
    return int(summary["exit_code"])


def _baseline(args: argparse.Namespace) -> bool:
    """Whether a suite's baseline is swept; its word then says whose."""
    from nightgate.wiring import baseline_word

    word = baseline_word(args.runs[0], args.suite) if len(args.runs) == 1 else None
    args.runs = args.runs if word is None else [word]
    return word is not None


def _request(args: argparse.Namespace) -> RunRequest:
    """What is asked for: of one run as ever, of several with ``selection`` set.

    Raises:
        InputError: If no run is meant, or a suite's folder is not there any more.
    """
    from nightgate.adapters.store import open_store
    from nightgate.steps import selections
    from nightgate.wiring import suite_folder
    from nightgate.wiring.readiness import nothing_spent

    values = {name: getattr(args, name) for name in _FIELDS}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    if args.judges and not args.panel:
        values["judges"] = tuple(dict.fromkeys(args.judges))
    # Judgements come from the store, not from agents: as many readers as judges.
    values["concurrency"] = args.judge_concurrency
    store = open_store(args.store or default_store())
    with nothing_spent(store):
        begun = selections.load_selection(store, args.resume) if args.resume is not None else None
    if begun is not None:
        return RunRequest.make(args.suite or "", {**values, "selection": begun.words})
    words = tuple(args.runs) or (args.resume,)
    with nothing_spent(store):
        runs = selections.picked(store, words, since=args.since, until=args.until)
    if len(runs) > 1:
        chosen = {"selection": words, "since": args.since, "until": args.until}
        if args.run_id is None:
            chosen["run_id"] = selections.new_id(runs, datetime.now(UTC), secrets.token_hex(3))
        return RunRequest.make(args.suite or "", {**values, **chosen})
    return RunRequest.make(suite_folder(runs[0], args.suite), {**values, "sweep": runs[0].run_id})


async def _here(request: RunRequest) -> dict[str, Any]:
    from nightgate import wiring
    from nightgate.cli.progress import Reporter

    with Reporter() as reporter:
        progress = wiring.Progress(
            on_plan=reporter.planned,
            on_warning=reporter.warned,
            on_there=reporter.there,
            on_cell=reporter.cell,
            on_judged=reporter.judged,
        )
        with users_prints_aside():
            if request.selection:
                summary = await wiring.run_selection(request, progress)
            else:
                summary = (await wiring.run_request(request, progress)).summary
    document: dict[str, Any] = summary.as_dict()
    return document


async def _through_prefect(request: RunRequest) -> dict[str, Any]:
    """The same through the Prefect flow; figures come from the store, not from Prefect."""
    from nightgate import wiring
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    from flows.judge_sweep import judge_sweep

    named = wiring.named(request.parameters())
    with users_prints_aside():
        state: Any = await judge_sweep(Path(request.suite).name, named, return_state=True)
    print(f"flow {state.name}: {plain(state.message or '')}", file=sys.stderr)
    return await wiring.stored_summary(named)
