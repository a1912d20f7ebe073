"""``nightgate flaky SUITE``: the flake board."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import near_suite, none_of, store_of, suite_id
from nightgate.errors import ExitCode


def run(args: argparse.Namespace) -> int:
    """Show what each case is taken for: 0 shown, 3 nothing is stored, or it cannot be read."""
    from nightgate.reports.flaky import render
    from nightgate.steps.flakyboard import board

    store, suite = store_of(args), suite_id(args.suite)
    found = board(store, suite, args.series)
    out = people(args.json)
    if found is None:
        print(f"{none_of(args.series, suite)} in {store.uri}{near_suite(store, suite)}", file=out)
        write_json({"schema": 1, "suite": suite, "pairs": []}, args.json)
        return ExitCode.INCONCLUSIVE
    print(render(found, every=args.all), file=out)
    write_json(found, args.json)
    return ExitCode.OK
