"""``nightgate calibrate SUITE``: judges against people's labels."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nightgate.cli.output import check_writable, people, write_json
from nightgate.cli.stores import run_of, store_of
from nightgate.errors import InputError

if TYPE_CHECKING:
    from nightgate.cases import Suite


def run(args: argparse.Namespace) -> int:
    """Print what each judge comes to: exit 0 all meet the bar, 1 one does not, 3 it cannot be told."""
    from nightgate.reports.calibration import render
    from nightgate.steps.calibrating import calibrate, keep

    check_writable(args.json)
    suite = _suite(args.suite, args.path)
    store = store_of(args)
    of_suite = f"latest:{suite.suite}" if args.run == "latest" else args.run
    found = calibrate(store, suite, run_of(store, of_suite) if of_suite else None)
    print(render(found.document), file=people(args.json))
    write_json(found.document, args.json)
    keep(store, found, datetime.now(UTC))
    return int(found.exit_code)


def _suite(named: str, path: str | None) -> Suite:
    """The suite of a folder, or of ``--suite`` where only its id was named."""
    from nightgate.cases import load_suite

    if path is None:
        if not Path(named).exists():
            msg = f"{named}: there is no such folder; labels lie in the suite's: name it, or add --suite PATH"
            raise InputError(msg)
        return load_suite(named)
    suite = load_suite(path)
    if named not in (suite.suite, path):
        raise InputError(f"--suite {path}: holds suite {suite.suite!r}, not {named!r}")
    return suite
