"""``nightgate sweep RUN``: other judges, or the same one again, over stored trials."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from nightgate.cli.output import check_writable, people, users_prints_aside, write_json
from nightgate.errors import ExitCode, InputError
from nightgate.requests import RunRequest

_FIELDS = (
    "store", "judges", "evaluators", "repeat", "batch", "case", "tag", "layer", "stage", "run_id", "resume",
    "judge_concurrency", "spool", "budget_usd", "prices", "allow_unpriced",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Carry the sweep out: 0 done, 3 nothing was judged or it is open, 4 budget, 130 interrupted."""
    check_writable(args.json)
    if args.resume is None and args.run is None:
        msg = "name the run to sweep: a run id, latest or latest:SUITE"
        raise InputError(msg)
    return asyncio.run(_sweep(args))


async def _sweep(args: argparse.Namespace) -> int:
    from nightgate import wiring
    from nightgate.reports.sweep import forecast, render

    values = {name: getattr(args, name) for name in _FIELDS}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    values["sweep"] = args.run or args.resume
    # Judgements come from the store, not from agents: as many readers as judges.
    values["concurrency"] = args.judge_concurrency
    suite = await asyncio.to_thread(wiring.suite_of, values["store"], values["sweep"], args.suite)
    request = RunRequest.make(suite, values)
    if args.dry_run:
        plan = await wiring.sweep_forecast(request)
        print(forecast(plan), file=people(args.json))
        write_json(plan, args.json)
        return ExitCode.OK
    if args.prefect:
        summary = await _through_prefect(request)
    else:
        summary = await _here(request)
    print(render(summary, suite=str(Path(suite))), file=people(args.json))
    write_json(summary, args.json)
    return int(summary["exit_code"])


async def _here(request: RunRequest) -> dict[str, Any]:
    from nightgate import wiring
    from nightgate.cli.progress import Reporter

    with Reporter() as reporter:
        progress = wiring.Progress(
            on_plan=reporter.planned, on_warning=reporter.warned, on_cell=reporter.cell
        )
        with users_prints_aside():
            finished = await wiring.run_request(request, progress)
    document: dict[str, Any] = finished.summary.as_dict()
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
    print(f"flow {state.name}: {state.message}", file=sys.stderr)
    return await wiring.stored_summary(named)
