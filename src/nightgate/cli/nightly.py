"""``nightgate nightly DIR``: the Prefect flow over all suites under a folder."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from nightgate.cli.output import check_writable
from nightgate.cli.run import request_of, through_prefect
from nightgate.errors import InputError
from nightgate.requests import MANUAL, NIGHTLY


def run(args: argparse.Namespace) -> int:
    """Run every suite of the folder through the flow."""
    if args.run_id or args.resume:
        msg = "--run-id and --resume name one run: use `nightgate run SUITE`"
        raise InputError(msg)
    check_writable(args.json, args.junit)
    suites = suites_under(Path(args.folder))
    # Who names another trigger, such as a scheduler, is believed.
    requests = [
        replace(asked, night=True, trigger=NIGHTLY if asked.trigger == MANUAL else asked.trigger)
        for asked in (request_of(args, str(suite)) for suite in suites)
    ]
    return through_prefect(requests, args, name=Path(args.folder).resolve().name, several=True)


def suites_under(folder: Path) -> list[Path]:
    """Folders with a suite.yaml, by name; the folder itself counts when it is a suite.

    Raises:
        InputError: If there is none.
    """
    if (folder / "suite.yaml").is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob("*/suite.yaml")) if folder.is_dir() else []
    if not found:
        msg = f"{folder}: no suite here; a suite is a folder with suite.yaml"
        raise InputError(msg)
    return found
