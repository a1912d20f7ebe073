"""``nightgate demo DIR``: a simulated month to look at, and the suites that it was made of."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nightgate.cli.output import users_prints_aside
from nightgate.errors import ExitCode, InputError

if TYPE_CHECKING:  # wiring is heavy, and `--help` needs none of it
    from nightgate.wiring.months import Month

_EVERY = 5
"""Nights between two lines of progress."""


def run(args: argparse.Namespace) -> int:
    """Play the month and say what is in it: 0 written, 2 the folder is not empty."""
    from nightgate.wiring.demo import make_demo
    from nightgate.wiring.months import NIGHTS, Month

    if not args.folder.strip():
        msg = "demo: give a folder that is new or empty, such as ./month"
        raise InputError(msg)
    nights = NIGHTS if args.nights is None else args.nights
    month = Month.before(datetime.now(UTC), nights=nights, seed=args.seed)

    def told(night: int) -> None:
        if night % _EVERY == 0 or night == month.nights:
            print(f"night {night} of {month.nights}", file=sys.stderr)

    with users_prints_aside():
        asyncio.run(make_demo(Path(args.folder), month, told))
    for line in _lines(args.folder, month):
        print(line)
    return ExitCode.OK


def _lines(folder: str, month: Month) -> Iterator[str]:
    from nightgate.reports.text import plain
    from nightgate.steps.simulated import NOTICE
    from nightgate.wiring.demo import CASES, STORE
    from nightgate.wiring.months import STORIES

    first, last = (f"{month.start(night):%Y-%m-%d}" for night in (1, month.nights))
    suites = " and ".join(story.suite for story in STORIES)
    yield NOTICE
    yield f"{plain(folder, 200)}: {month.nights} nights of {suites}, {first} to {last}"
    for event in month.events():
        yield f"  night {event.night}, {month.start(event.night):%Y-%m-%d}  {event.suite}: {event.text}"
    yield f"suites in {CASES}/, store in {STORE}/"
    yield "next:"
    for words in _commands(folder, month):
        yield f"  nightgate {plain(words, 1000)}"


def _commands(folder: str, month: Month) -> Iterator[str]:
    """What to look at, in the order in which it makes sense."""
    from nightgate.wiring.demo import CASES, STORE, run_id_of
    from nightgate.wiring.months import STORIES

    suite = STORIES[0].suite
    store = f"--store {shlex.quote(str(Path(folder) / STORE))}"
    before, after, down = (
        run_id_of(suite, night) for night in (month.model_night - 1, month.model_night, month.outage_night)
    )
    yield f"history {suite} {store}"
    yield f"flaky {suite} {store}"
    yield f"compare {before} {after} {store}"
    yield f"gate {down} {store}    # the outage: inconclusive, no drop"
    yield f"report {suite} --out {shlex.quote(str(Path(folder) / 'report'))} {store}"
    yield f"run {shlex.quote(str(Path(folder) / CASES / suite))} {store}    # a night of your own: free, too"
