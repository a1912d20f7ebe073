"""The grammar of the command line.

Owns commands and flags, and what a misspelt one is answered with. Imports nothing but argparse, so
that ``--help`` costs nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from nightgate.cli import grammar
from nightgate.cli.flags import command, once_flags, plan_flags, run_flags, series_flag, store_flag
from nightgate.version import VERSION

_CHOICES = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<known>.*)\)$")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the examples' line breaks."""


class _Parser(argparse.ArgumentParser):
    """Says which flag or command was meant, and shows the usage of the command it was given to."""

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse, but unknown arguments are told by the command that does not know them."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.asked(found).error(f"unrecognized arguments: {' '.join(unknown)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Leave with 2, the usage and the nearest known word."""
        start, _, unknown = message.partition("unrecognized arguments: ")
        choice = _CHOICES.search(message)
        if unknown and not start:
            flags = [word.partition("=")[0] for word in unknown.split(" ") if word.startswith("-")]
            message += _meant(flags, self._option_string_actions)
        elif choice is not None:
            message += _meant([choice["word"]], re.findall(r"[\w-]+", choice["known"]))
        super().error(message)

    def asked(self, found: argparse.Namespace) -> argparse.ArgumentParser:
        """The parser of the command that was given, as deep as commands go."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse tells it no other way
                chosen = action.choices.get(str(getattr(found, action.dest, "")))
                if isinstance(chosen, _Parser):
                    return chosen.asked(found)
        return self


def _meant(words: Iterable[str], known: Iterable[str]) -> str:
    """The end of a message about unknown words: the nearest known ones."""
    import difflib

    names = list(known)
    guesses = (difflib.get_close_matches(word, names, n=1) for word in words)
    near = dict.fromkeys(guess for found in guesses for guess in found)
    return f"; did you mean {' '.join(near)}?" if near else ""


def build_parser() -> argparse.ArgumentParser:
    """The whole grammar."""
    parser = _Parser(
        prog="nightgate",
        description="Batch evals for AI agents: planned grids, honest denominators, a gate that stands.",
        epilog=(
            "exit codes: 0 gate passed, 1 gate failed, 2 wrong input (nothing spent), "
            "3 inconclusive, 4 stopped by the budget, 130 interrupted"
        ),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"nightgate {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    check = command(commands, "check", "validate suites and print the planned grid; nothing is called")
    check.add_argument("suites", nargs="+", metavar="SUITE", help="a suite's folder")
    plan_flags(check.add_argument_group("what would run"))
    check.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    check.add_argument("--json", metavar="PATH", help="write the plan as JSON; - for stdout")

    run = command(commands, "run", "the whole pipeline in this process: run, rows, gate")
    run.add_argument("suites", nargs="+", metavar="SUITE", help="a suite's folder")
    run.add_argument("--prefect", action="store_true", help="the same through the Prefect flow")
    run_flags(run)

    nightly = command(commands, "nightly", "the Prefect flow over all suites under a folder")
    nightly.add_argument("folder", metavar="DIR", help="folder with one suite a subfolder")
    run_flags(nightly, one=False)
    once_flags(nightly)

    _page_commands(commands)

    grammar.stored_commands(commands)
    grammar.doctor_command(commands)
    grammar.starting_commands(commands)
    grammar.simulator_commands(commands)
    grammar.label_commands(commands)
    grammar.plan_command(commands)
    grammar.sweep_command(commands)
    grammar.baseline_commands(commands)
    grammar.bisect_command(commands)
    grammar.night_commands(commands)
    grammar.canary_command(commands)
    grammar.watch_commands(commands)
    grammar.fleet_commands(commands)
    return parser


def _page_commands(commands: Any) -> None:
    """What people look at in a browser."""
    report = command(
        commands, "report", "pages of a stored run, or of a suite's nights, to open from a folder"
    )
    report.epilog = "exit codes: 0 written; 2 wrong input; 3 what is stored cannot be shown"
    report.add_argument(
        "run",
        metavar="RUN|SUITE",
        help="run id, latest or latest:SUITE; a suite's id or folder for its history",
    )
    report.add_argument(
        "--out", required=True, metavar="DIR", help="the folder; index.html is the first page"
    )
    report.add_argument("--json", metavar="PATH", help="write what was written as JSON; - for stdout")
    report.add_argument(
        "--nights", type=int, metavar="N", help="of a suite: the newest N nights (default 30)"
    )
    series_flag(report)
    store_flag(report)

    demo = command(commands, "demo", "a simulated month: 30 nights of two sample suites, to look at")
    demo.epilog = "exit codes: 0 written; 2 the folder is not empty, or cannot be written"
    demo.add_argument("folder", metavar="DIR", help="a folder that is new or empty")
    demo.add_argument("--nights", type=int, metavar="N", help="a month of N nights, from 10 (default 30)")
    demo.add_argument("--seed", type=int, default=0, metavar="N", help="another one draws other luck")
