"""``nightgate publish RUN``: late upload of what a run left on this machine; no model is called."""

from __future__ import annotations

import argparse

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import store_of
from nightgate.errors import ExitCode
from nightgate.requests import DEFAULT_STORE, RunRequest


def run(args: argparse.Namespace) -> int:
    """Bring up the journals, then commit the run if it is whole."""
    from nightgate.recorder import bring_up, restore_plan
    from nightgate.reports.terminal import render
    from nightgate.steps.finishing import finish_run
    from nightgate.steps.listing import resolve
    from nightgate.steps.reading import load_plan

    store = store_of(args)
    # Looked up as the run looked it up, settings of the environment included.
    request = RunRequest.make("", {"store": args.store, "spool": args.spool})
    run_id = resolve(store, args.run)
    restore_plan(store, run_id, request.spool_folder)
    plan = load_plan(store, run_id)
    named = request.store if request.store != DEFAULT_STORE else None
    brought = bring_up(store, run_id, request.spool_folder)
    finished = finish_run(store, run_id)
    print(f"brought up {brought} journals of run {run_id}", file=people(args.json))
    suite = plan.suite_path or plan.suite
    print(render(finished.summary.as_dict(), suite=suite, store=named), file=people(args.json))
    write_json(finished.summary.as_dict(), args.json)
    return ExitCode.OK if finished.summary.complete else ExitCode.INCONCLUSIVE
