"""Flags that several commands share, and how a command is added to the grammar.

Imports nothing but argparse, so that ``--help`` costs nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any


def command(commands: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    """Add a command; its module is imported when it runs."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=help_text, allow_abbrev=False
    )
    parser.set_defaults(handler=later(name.replace("-", "_")))
    return parser


def later(name: str) -> Callable[[argparse.Namespace], int]:
    """The command's module, imported when it runs."""

    def handler(args: argparse.Namespace) -> int:
        return int(import_module(f"nightgate.cli.{name}").run(args))

    return handler


def store_flag(parser: argparse.ArgumentParser) -> None:
    """Where runs are stored."""
    parser.add_argument(
        "--store",
        metavar="URI",
        help="folder or s3://bucket/prefix (default: NIGHTGATE_STORE or ./.nightgate)",
    )


def series_flag(parser: argparse.ArgumentParser) -> None:
    """Runs of scripts and runs of real models are two histories."""
    parser.add_argument(
        "--series", choices=("scripted", "live"), help="of which models (default: those of the newest night)"
    )


def plan_flags(what: Any) -> None:
    """Which cases, with which models: the same for what runs and for what is only planned."""
    what.add_argument(
        "--live", action="store_const", const=True, help="use the suite's live: models and trials"
    )
    what.add_argument("--model", metavar="SPEC", help="model under test")
    what.add_argument("--judge", metavar="SPEC", help="judge; also plans evaluators with when: live")
    what.add_argument("--user", metavar="SPEC", help="simulated user")
    what.add_argument("--trials", type=int, metavar="N", help="trials of every case")
    what.add_argument("--case", action="append", metavar="GLOB", help="only these cases; may be repeated")
    what.add_argument("--tag", action="append", metavar="T", help="only cases with this tag; may be repeated")
    what.add_argument("--layer", action="append", metavar="L", help="only this layer; may be repeated")
    what.add_argument("--stage", action="append", metavar="S", help="regression or capability")


def kin_flag(where: Any) -> None:
    """What becomes of a judge that is related to the model under test."""
    where.add_argument(
        "--related-judges",
        choices=("warn", "refuse"),
        help="a judge that is the model under test or its kin (default: the suite's gate.related_judges)",
    )


def once_flags(parser: argparse.ArgumentParser) -> None:
    """At most one night a local date, for whatever starts nights by itself."""
    when = parser.add_argument_group("when it runs")
    when.add_argument(
        "--once",
        action="store_const",
        const=True,
        help="at most one run of a suite for each local date of the scheduled start; for schedulers",
    )
    when.add_argument(
        "--timezone",
        metavar="ZONE",
        help="of --once: whose dates, such as Europe/Madrid (default: NIGHTGATE_TIMEZONE or UTC)",
    )
    when.add_argument(
        "--scheduled",
        metavar="TIME",
        help="of --once: the scheduled start, ISO 8601 with offset (default: now)",
    )


def run_flags(parser: argparse.ArgumentParser, *, one: bool = True) -> None:
    """What runs, how, for how much, and what is written.

    Args:
        parser: Gets the flags.
        one: Whether it is for one suite, whose run can be named and taken up.
    """
    what = parser.add_argument_group("what runs")
    plan_flags(what)
    what.add_argument("--seed", type=int, metavar="N", help="kept with the run")
    how = parser.add_argument_group("how it runs")
    store_flag(how)  # type: ignore[arg-type]
    if one:
        how.add_argument("--run-id", metavar="ID", help="run id, [0-9a-z-], at most 64")
        how.add_argument("--resume", metavar="RUN", help="play the rest of an open run and commit it")
    how.add_argument("--reuse", metavar="RUN", help="take over trials that are the same; id or latest")
    how.add_argument("--rerun", metavar="RUN", help="play a run's failed and errored cells again")
    how.add_argument("--only", choices=("failed", "errors"), help="of --rerun: one kind alone")
    how.add_argument("--baseline", metavar="RUN", help="compared with (default: the suite's baseline)")
    how.add_argument("--concurrency", type=int, metavar="N", help="agent trials in flight (default 10)")
    how.add_argument("--judge-concurrency", type=int, metavar="N", help="judgements in flight (default 10)")
    how.add_argument("--drainers", type=int, metavar="N", help="of a flow: workers that share the shards")
    how.add_argument("--spool", metavar="DIR", help="folder of the journals on this machine")
    how.add_argument(
        "--curtail",
        action="store_const",
        const=True,
        help="leave out what cannot change the gate's verdict any more",
    )
    kin_flag(how)
    money = parser.add_argument_group("money")
    money.add_argument("--budget-usd", metavar="X", help="hard cap; 0 calls no model at all")
    money.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    money.add_argument(
        "--allow-unpriced", action="store_const", const=True, help="a budget despite unknown prices"
    )
    out = parser.add_argument_group("output")
    out.add_argument("--json", metavar="PATH", help="write the summary as JSON; - prints only JSON on stdout")
    out.add_argument("--junit", metavar="PATH", help="write JUnit XML")
    out.add_argument("--html", metavar="DIR", help="write the pages of the run, with index.html, to a folder")
    out.add_argument(
        "--no-report",
        dest="report",
        action="store_const",
        const=False,
        help="write no pages to the store (runs/RUN/report/)",
    )
    out.add_argument(
        "--no-alerts",
        dest="alerts",
        action="store_const",
        const=False,
        help="tell no channel what changed",
    )
