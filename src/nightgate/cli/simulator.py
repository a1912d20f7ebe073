"""``nightgate simulator validate SUITE``: the simulated user against real transcripts."""

from __future__ import annotations

import argparse

from nightgate.cli.output import check_writable, people, write_json
from nightgate.cli.stores import store_of


def run(args: argparse.Namespace) -> int:
    """Print how alike they are: exit 0 representative, 1 not representative, 3 unproven."""
    from nightgate.cases import load_suite
    from nightgate.reports.simulator import render
    from nightgate.steps.validating import validate

    check_writable(args.json)
    suite = load_suite(args.suite)
    found = validate(store_of(args), suite, args.run)
    document = found.as_dict()
    print(render(document), file=people(args.json))
    write_json(document, args.json)
    return int(found.exit_code)
