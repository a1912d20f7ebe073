"""``nightgate publish RUN``: late upload of what a run left on this machine; no model is called."""

from __future__ import annotations

import argparse
from pathlib import Path

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import store_of
from nightgate.errors import ExitCode
from nightgate.requests import RunRequest, default_store


def run(args: argparse.Namespace) -> int:
    """Bring up the journals, then commit the run if it is whole."""
    from nightgate.recorder import bring_up
    from nightgate.reports.terminal import render
    from nightgate.steps.finishing import finish_run
    from nightgate.steps.reading import load_plan

    store = store_of(args)
    load_plan(store, args.run)
    spool = RunRequest(suite="", store=args.store or default_store(), spool=args.spool).spool_folder
    brought = bring_up(store, args.run, Path(spool))
    finished = finish_run(store, args.run)
    print(f"brought up {brought} journals of run {args.run}", file=people(args.json))
    print(render(finished.summary.as_dict()), file=people(args.json))
    write_json(finished.summary.as_dict(), args.json)
    return ExitCode.OK if finished.summary.complete else ExitCode.INCONCLUSIVE
