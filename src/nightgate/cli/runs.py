"""``nightgate runs SUITE``: what is stored."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import near_suite, store_of, suite_id
from nightgate.errors import ExitCode


def run(args: argparse.Namespace) -> int:
    """List the newest runs of a suite, open ones included: 0 listed, 3 nothing is stored."""
    from nightgate.reports.text import plain
    from nightgate.steps.listing import runs_of

    store = store_of(args)
    suite = suite_id(args.suite)
    found = runs_of(store, suite, newest=args.limit)
    out = people(args.json)
    for entry in found:
        state = (entry["verdict"] or "done") if entry["complete"] else "open"
        cost = entry["total_usd"]
        money = f"${cost:.4f}" if cost is not None else "unknown"
        part = f"  (part of sweep {entry['part_of']})" if entry["part_of"] else ""
        print(
            f"{entry['run_id']}  {entry['started_at'][:16]}  {state:12}  {entry['run_kind']:6}  {money:>10}  "
            f"{plain(entry['model'])}{part}",
            file=out,
        )
    if not found:
        print(f"no runs of {plain(suite)} in {store.uri}{near_suite(store, suite)}", file=out)
    write_json({"schema": 1, "suite": suite, "runs": found}, args.json)
    return ExitCode.OK if found else ExitCode.INCONCLUSIVE
