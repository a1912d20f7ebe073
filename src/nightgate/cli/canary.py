"""``nightgate canary RUN``: the judges of a run over frozen trials and planted attacks."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from nightgate.cli.output import check_writable, people, users_prints_aside, write_json
from nightgate.cli.stores import store_of
from nightgate.errors import ExitCode
from nightgate.requests import RunRequest

_FIELDS = ("store", "judge_concurrency", "spool", "budget_usd", "prices", "allow_unpriced")


def run(args: argparse.Namespace) -> int:
    """Judge the canaries, or freeze them anew: 0 no alarm, 1 alarm, 3 not judged, 4 budget, 130.

    3 is also the answer where the reference cannot be read, or a newer nightgate wrote it.
    """
    check_writable(args.json)
    return asyncio.run(_freeze(args) if args.freeze else _judge(args))


async def _judge(args: argparse.Namespace) -> int:
    from nightgate import wiring
    from nightgate.cli.progress import Reporter
    from nightgate.reports.canary import render
    from nightgate.steps.nightdocs import refuse_newer_canary
    from nightgate.wiring.canaries import exit_code, judge_canaries

    request, run_id = await _request(args)
    await asyncio.to_thread(refuse_newer_canary, store_of(args), run_id)
    with Reporter() as reporter:
        progress = wiring.Progress(
            on_plan=reporter.planned,
            on_there=reporter.there,
            on_cell=reporter.cell,
            on_judged=reporter.judged,
        )
        with users_prints_aside():
            again = await wiring.reruns_beside(request, run_id)
            document = await judge_canaries(request, run_id, progress, beside=again)
    lines = render(document) or [f"run {run_id}: the suite has no canary case"]
    print("\n".join(lines), file=people(args.json))
    write_json(document, args.json)
    return exit_code(document)


async def _freeze(args: argparse.Namespace) -> int:
    from nightgate.wiring.canaries import freeze

    request, run_id = await _request(args)
    reference = await freeze(request, run_id)
    lines = [f"canaries of {reference.suite}: {len(reference.trials)} trials frozen from {run_id}"]
    lines += [f"  {line}" for line in reference.why]
    print("\n".join(lines), file=people(args.json))
    write_json(reference.to_dict(), args.json)
    return ExitCode.OK


async def _request(args: argparse.Namespace) -> tuple[RunRequest, str]:
    """The request that fits a stored run, and the run's id."""
    from nightgate.wiring.canaries import meant

    values: dict[str, Any] = {name: getattr(args, name) for name in _FIELDS}
    suite, run_id = await asyncio.to_thread(meant, values["store"], args.run, args.suite)
    # Trials come from the store, not from agents: as many readers as judges.
    values["concurrency"] = args.judge_concurrency
    return RunRequest.make(suite, values), run_id
