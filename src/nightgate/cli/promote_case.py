"""``nightgate promote-case SUITE CASE``: a capability case gates from the next run on."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.errors import ExitCode


def run(args: argparse.Namespace) -> int:
    """Edit the case's file: 0 done, 1 it gates already."""
    from nightgate.cases import load_suite
    from nightgate.cases.promoting import promoted
    from nightgate.reports.text import plain

    suite = load_suite(args.suite)
    path = promoted(suite, args.case)
    out = people(args.json)
    document = {
        "schema": 1,
        "suite": suite.suite,
        "case": args.case,
        "file": None if path is None else str(path),
    }
    write_json(document, args.json)
    if path is None:
        print(f"{plain(args.case)} is no capability case: it gates already", file=out)
        return ExitCode.FAILED
    print(f"{path}: {plain(args.case)} is a regression case now and gates from the next run on", file=out)
    return ExitCode.OK
