"""``nightgate promote RUN``: make a passing, complete run its suite's baseline."""

from __future__ import annotations

import argparse

from nightgate.cli.output import check_writable, people, write_json
from nightgate.cli.stores import run_of, store_of
from nightgate.errors import ExitCode, InputError


def run(args: argparse.Namespace) -> int:
    """Promote: 0 done, 1 refused (the gate did not pass, it is a part, or somebody else was faster).

    3 where it cannot be told: a part of the run is gone or differs, or the present baseline cannot be read.
    """
    import json

    from nightgate.reports.text import plain
    from nightgate.steps.promoting import promote

    check_writable(args.json)
    if args.force and not (args.why or "").strip():
        msg = "--force needs --why TEXT: the reason is kept with the baseline"
        raise InputError(msg)
    if args.why is not None and not args.force:
        msg = "--why is the reason of --force: give both, or neither"
        raise InputError(msg)
    store = store_of(args)
    done = promote(store, run_of(store, args.run), why=args.why.strip() if args.force else None)
    baseline, out = done.baseline, people(args.json)
    if not done.changed:
        print(f"{baseline.run_id} is the baseline of {baseline.suite} already", file=out)
    else:
        instead = f" instead of {done.before}" if done.before else ""
        why = f", forced: {plain(baseline.why or '', 200)}" if baseline.forced else ""
        print(f"{baseline.run_id} is the baseline of {baseline.suite} now{instead}{why}", file=out)
    write_json(json.loads(baseline.to_json()), args.json)
    return ExitCode.OK
