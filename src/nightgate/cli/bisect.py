"""``nightgate bisect A B``: which setting of the good run moves the broken cases back?"""

from __future__ import annotations

import argparse
import asyncio

from nightgate.cli.output import check_writable, people, users_prints_aside, write_json
from nightgate.cli.stores import run_of, store_of
from nightgate.errors import ExitCode
from nightgate.ports import Store
from nightgate.requests import RunRequest, default_store

_FIELDS = ("budget_usd", "prices", "allow_unpriced", "concurrency", "judge_concurrency", "spool")


def run(args: argparse.Namespace) -> int:
    """Search: 0 a swap moved something, 1 none did or nothing broke, 3 cannot be told, 4 budget."""
    check_writable(args.json)
    return asyncio.run(_bisect(args))


async def _bisect(args: argparse.Namespace) -> int:
    from nightgate import wiring
    from nightgate.cli.progress import Reporter
    from nightgate.reports.bisect import forecast, render
    from nightgate.steps.bisecting import same_suite
    from nightgate.wiring.bisect import bisector

    out, store = people(args.json), await asyncio.to_thread(store_of, args)
    good, bad = await asyncio.to_thread(_runs, args, store)
    await asyncio.to_thread(same_suite, store, good, bad)
    values = {name: getattr(args, name) for name in _FIELDS}
    given = RunRequest.make("", {**values, "store": args.store or default_store()})
    search = await asyncio.to_thread(bisector, store, good, bad, given, suite=args.suite, trials=args.trials)
    with users_prints_aside():
        broken = bool(search.bisection.broken)
        ahead = await search.plan() if broken else None
    if ahead is None:
        found = await search.run()
        print(f"nothing broke from {good} to {bad}", file=out)
        write_json(found, args.json)
        return ExitCode.FAILED
    print(forecast(ahead), file=out, flush=True)
    if args.dry_run:
        write_json(ahead, args.json)
        return ExitCode.OK
    with Reporter() as reporter:
        progress = wiring.Progress(
            on_plan=reporter.planned,
            on_warning=reporter.warned,
            on_trial=reporter.trial,
            on_there=reporter.there,
            on_cell=reporter.cell,
        )
        with users_prints_aside():
            found = await search.run(progress)
    print(render(found), file=out)
    write_json(found, args.json)
    return int(found["exit_code"])


def _runs(args: argparse.Namespace, store: Store) -> tuple[str, str]:
    """The two runs; a bare word means the suite of the other one."""
    from nightgate.steps.reading import load_plan

    named = [text for text in (args.good, args.bad) if text not in ("latest", "baseline")]
    suite = load_plan(store, run_of(store, named[0])).suite if named else None
    return run_of(store, args.good, suite), run_of(store, args.bad, suite)
