"""``nightgate history SUITE``: trends over the nights."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import near_suite, none_of, store_of, suite_id
from nightgate.errors import ExitCode, InputError


def run(args: argparse.Namespace) -> int:
    """Show how each evaluator and case did: 0 shown, 3 nothing is stored."""
    from nightgate.reports.history import render
    from nightgate.reports.text import plain
    from nightgate.steps.histories import NIGHTS, history

    nights = args.nights if args.nights is not None else NIGHTS
    if nights < 1:
        msg = f"--nights {nights}: must be at least 1"
        raise InputError(msg)
    store, suite = store_of(args), suite_id(args.suite)
    found = history(store, suite, nights=nights, evaluator=args.evaluator, case=args.case, series=args.series)
    out = people(args.json)
    if not found["nights"]:
        print(f"{none_of(args.series, suite)} in {store.uri}{near_suite(store, suite)}", file=out)
        write_json(found, args.json)
        return ExitCode.INCONCLUSIVE
    if not found["cases"]:
        asked = [
            f"--{name} {value}"
            for name in ("case", "evaluator")
            if (value := getattr(args, name)) is not None
        ]
        if asked:
            msg = f"no case or evaluator of {suite} fits {' '.join(asked)}"
            raise InputError(msg)
        print(f"{plain(suite)}: its complete runs have no case with an evaluator", file=out)
        write_json(found, args.json)
        return ExitCode.INCONCLUSIVE
    print(render(found, every=args.all), file=out)
    write_json(found, args.json)
    return ExitCode.OK
