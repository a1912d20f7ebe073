"""``nightgate nightly DIR``: the Prefect flow over all suites under a folder."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from nightgate.cases import suites_under
from nightgate.cli.output import check_folder, check_writable
from nightgate.cli.run import request_of, through_prefect
from nightgate.requests import MANUAL, NIGHTLY


def run(args: argparse.Namespace) -> int:
    """Run every suite of the folder through the flow."""
    check_writable(args.json, args.junit)
    check_folder(args.html)
    suites = suites_under(Path(args.folder))
    # Who names another trigger, such as a scheduler, is believed.
    requests = [
        replace(asked, night=True, trigger=NIGHTLY if asked.trigger == MANUAL else asked.trigger)
        for asked in (request_of(args, str(suite)) for suite in suites)
    ]
    return through_prefect(requests, args, name=Path(args.folder).resolve().name, several=True)
