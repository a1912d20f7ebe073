"""``nightgate flaky SUITE``: the flake board."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import near_suite, store_of, suite_id
from nightgate.errors import ExitCode


def run(args: argparse.Namespace) -> int:
    """Show what each case is taken for: 0 shown, 3 nothing is stored."""
    from nightgate.reports.flaky import render
    from nightgate.reports.text import plain
    from nightgate.steps.flakyboard import board

    store, suite = store_of(args), suite_id(args.suite)
    found = board(store, suite)
    out = people(args.json)
    if found is None:
        print(f"no complete run of {plain(suite)} in {store.uri}{near_suite(store, suite)}", file=out)
        write_json({"schema": 1, "suite": suite, "pairs": []}, args.json)
        return ExitCode.INCONCLUSIVE
    print(render(found, every=args.all), file=out)
    write_json(found, args.json)
    return ExitCode.OK
