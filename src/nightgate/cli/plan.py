"""``nightgate plan SUITE``: what would run against the store, why, and for how much; calls nothing."""

from __future__ import annotations

import argparse
import asyncio

from nightgate.cli.output import check_writable, people, users_prints_aside, write_json
from nightgate.errors import ExitCode
from nightgate.requests import RunRequest

_FIELDS = ("store", "live", "model", "judge", "user", "trials", "case", "tag", "layer", "stage", "prices")


def run(args: argparse.Namespace) -> int:
    """Print what ``run --reuse`` would do."""
    from nightgate.reports.forecast import render
    from nightgate.wiring.forecasts import forecast

    check_writable(args.json)
    given = {name: getattr(args, name) for name in _FIELDS}
    request = RunRequest.make(
        args.suite, {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    )
    with users_prints_aside():
        document = asyncio.run(forecast(request, args.against)).as_dict()
    print(render(document), file=people(args.json))
    write_json(document, args.json)
    return ExitCode.OK
