"""``nightgate compare BASE RUN...``: may I say it improved?"""

from __future__ import annotations

import argparse

from nightgate.cli.output import check_writable, people, write_json
from nightgate.cli.stores import run_of, store_of


def run(args: argparse.Namespace) -> int:
    """Compare: 0 improved or no relevant change, 1 a run regressed, 3 it cannot be told."""
    from nightgate.reports.comparison import render
    from nightgate.steps.comparing import compare_runs, document
    from nightgate.steps.reading import load_plan

    check_writable(args.json)
    store = store_of(args)
    # A bare word means the suite of a run beside it that has an id.
    suite = next(
        (load_plan(store, run_of(store, text)).suite for text in args.runs if _names_one(text)), None
    )
    suite = suite or (load_plan(store, run_of(store, args.base)).suite if _names_one(args.base) else None)
    base = run_of(store, args.base, suite)
    runs = [run_of(store, text, suite) for text in args.runs]
    found = document(load_plan(store, base).suite, compare_runs(store, base, runs))
    print(render(found), file=people(args.json))
    write_json(found, args.json)
    return int(found["exit_code"])


def _names_one(text: str) -> bool:
    """Whether a word says whose run it is by itself."""
    return text not in ("latest", "baseline")
