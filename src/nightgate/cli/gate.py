"""``nightgate gate RUN``: decide again on stored rows."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import run_of, store_of


def run(args: argparse.Namespace) -> int:
    """Print the decision; the exit code is the gate's."""
    from nightgate.cases import load_suite
    from nightgate.reports.decision import render
    from nightgate.steps.gating import gate_run

    store = store_of(args)
    suite = load_suite(args.suite) if args.suite else None
    run_id = run_of(store, args.run)
    decision = gate_run(store, run_id, suite)
    print(render(decision), file=people(args.json))
    write_json(decision.as_dict(), args.json)
    return int(decision.exit_code)
