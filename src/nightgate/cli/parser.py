"""The grammar of the command line.

Owns commands and flags, and what a misspelt one is answered with. Imports nothing but argparse, so
that ``--help`` costs nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

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

    check = _command(commands, "check", "validate suites and print the planned grid; nothing is called")
    check.add_argument("suites", nargs="+", metavar="SUITE", help="a suite's folder")
    _plan_flags(check.add_argument_group("what would run"))
    check.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    check.add_argument("--json", metavar="PATH", help="write the plan as JSON; - for stdout")

    run = _command(commands, "run", "the whole pipeline in this process: run, rows, gate")
    run.add_argument("suites", nargs="+", metavar="SUITE", help="a suite's folder")
    run.add_argument("--prefect", action="store_true", help="the same through the Prefect flow")
    _run_flags(run)

    nightly = _command(commands, "nightly", "the Prefect flow over all suites under a folder")
    nightly.add_argument("folder", metavar="DIR", help="folder with one suite a subfolder")
    _run_flags(nightly)

    gate = _command(commands, "gate", "decide again on a stored run")
    gate.add_argument("run", metavar="RUN", help="run id, latest, or latest:SUITE")
    gate.add_argument("--suite", metavar="PATH", help="try this suite's thresholds")
    gate.add_argument("--json", metavar="PATH", help="write the decision as JSON; - for stdout")
    _store_flag(gate)

    runs = _command(commands, "runs", "what is stored of a suite")
    runs.add_argument("suite", metavar="SUITE", help="suite id or folder")
    runs.add_argument("--limit", type=int, default=20, metavar="N", help="newest N (default 20)")
    runs.add_argument("--json", metavar="PATH", help="write the list as JSON; - for stdout")
    _store_flag(runs)

    publish = _command(commands, "publish", "bring up what a run left on this machine, and commit it")
    publish.add_argument("run", metavar="RUN", help="run id")
    publish.add_argument("--spool", metavar="DIR", help="folder of the journals")
    publish.add_argument("--json", metavar="PATH", help="write the summary as JSON; - for stdout")
    _store_flag(publish)

    doctor = _command(commands, "doctor", "what is reachable: store, Prefect API, models, alert channels")
    doctor.add_argument(
        "suites", nargs="*", metavar="SUITE", help="suites whose models and alert channels are looked at"
    )
    doctor.add_argument(
        "--since",
        metavar="AGE",
        help="exit 3 if a suite has had no complete run for so long: 26h, 2d, 90m",
    )
    doctor.add_argument(
        "--alert", action="store_true", help="with --since: tell the suite's channels, once an outage"
    )
    doctor.add_argument("--json", metavar="PATH", help="write the findings as JSON; - for stdout")
    _store_flag(doctor)

    _starting_commands(commands)
    _simulator_commands(commands)
    _label_commands(commands)
    _plan_command(commands)
    _sweep_command(commands)
    _baseline_commands(commands)
    _night_commands(commands)
    _canary_command(commands)
    return parser


def _night_commands(commands: Any) -> None:
    """Commands about many nights."""
    history = _command(commands, "history", "how each evaluator and case did, night by night")
    history.epilog = "exit codes: 0 shown; 2 wrong input; 3 no complete run is stored"
    history.add_argument("suite", metavar="SUITE", help="suite id or folder")
    history.add_argument("--nights", type=int, metavar="N", help="the newest N nights (default 30)")
    history.add_argument("--evaluator", metavar="E", help="only this evaluator")
    history.add_argument("--case", metavar="GLOB", help="only these cases")
    history.add_argument("--all", action="store_true", help="list cases that always passed too")
    history.add_argument("--json", metavar="PATH", help="write the trends as JSON; - for stdout")
    _store_flag(history)

    flaky = _command(commands, "flaky", "the flake board: broken, suspect, flaky or stable, and since when")
    flaky.epilog = "exit codes: 0 shown; 2 wrong input; 3 no complete run is stored"
    flaky.add_argument("suite", metavar="SUITE", help="suite id or folder")
    flaky.add_argument("--all", action="store_true", help="list what is steady too")
    flaky.add_argument("--json", metavar="PATH", help="write the board as JSON; - for stdout")
    _store_flag(flaky)

    promote = _command(commands, "promote-case", "let a capability case gate: edits its file in place")
    promote.epilog = "exit codes: 0 done; 1 it is no capability case; 2 wrong input"
    promote.add_argument("suite", metavar="SUITE", help="a suite's folder")
    promote.add_argument("case", metavar="CASE", help="the case's id")
    promote.add_argument("--json", metavar="PATH", help="write what was changed as JSON; - for stdout")


def _baseline_commands(commands: Any) -> None:
    """Commands about the run that others are compared with."""
    promote = _command(commands, "promote", "make a passing, complete run its suite's baseline")
    promote.epilog = "exit codes: 0 done; 1 refused: open, not passed, a part of the suite; 2 wrong input"
    promote.add_argument("run", metavar="RUN", help="run id, latest, or latest:SUITE")
    promote.add_argument("--force", action="store_true", help="although its gate did not pass; needs --why")
    promote.add_argument("--why", metavar="TEXT", help="the reason, kept with the baseline")
    promote.add_argument("--json", metavar="PATH", help="write the baseline as JSON; - for stdout")
    _store_flag(promote)

    compare = _command(commands, "compare", "may I say it improved? runs over the same cases, paired")
    compare.epilog = (
        "exit codes: 0 improved, or no relevant change; 1 a run regressed; 2 wrong input; 3 it cannot be "
        "told: not comparable, candidate or inconclusive. Of several runs the first of 1, 3, 0 that applies"
    )
    compare.add_argument("base", metavar="BASE", help="run id, baseline or latest, or one with :SUITE")
    compare.add_argument("runs", nargs="+", metavar="RUN", help="as BASE; corrected for their number")
    compare.add_argument("--json", metavar="PATH", help="write the comparison as JSON; - for stdout")
    _store_flag(compare)


def _plan_command(commands: Any) -> None:
    """The command that looks ahead."""
    plan = _command(commands, "plan", "what would run against the store, why, and the dollars; calls nothing")
    plan.add_argument("suite", metavar="SUITE", help="a suite's folder")
    _plan_flags(plan.add_argument_group("what would run"))
    plan.add_argument(
        "--against", metavar="RUN", help="run to take trials from: id or latest (default: the latest, if any)"
    )
    plan.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    plan.add_argument("--json", metavar="PATH", help="write the plan as JSON; - for stdout")
    _store_flag(plan)


def _label_commands(commands: Any) -> None:
    """Commands by which people tell what judges are worth."""
    calibrate = _command(commands, "calibrate", "hold judges against people's labels; nothing is called")
    calibrate.add_argument("suite", metavar="SUITE", help="a suite's folder, with labels/ in it, or its id")
    calibrate.add_argument("--suite", dest="path", metavar="PATH", help="the folder, where SUITE is an id")
    calibrate.add_argument(
        "--run", metavar="RUN", help="run id or latest (default: the latest complete run with a judge)"
    )
    calibrate.add_argument("--json", metavar="PATH", help="write what was found as JSON; - for stdout")
    _store_flag(calibrate)

    label = _command(commands, "label", "draw judged trials into a CSV file for people to label")
    label.add_argument("run", metavar="RUN", help="run id, latest, or latest:SUITE")
    label.add_argument("--sample", type=int, required=True, metavar="N", help="how many rows")
    label.add_argument("--evaluator", metavar="E", help="only this judge's (default: all judges')")
    label.add_argument("--random", action="store_true", help="draw at random: any judged cell is as likely")
    label.add_argument("--seed", type=int, default=0, metavar="N", help="another one draws other rows")
    label.add_argument(
        "--suite", metavar="PATH", help="ask its criteria, and leave out what its labels/ say already"
    )
    label.add_argument("--out", metavar="FILE", help="a new file (default labels-RUN.csv); - for stdout")
    label.add_argument("--json", metavar="PATH", help="write the counts as JSON; - for stdout")
    _store_flag(label)


def _simulator_commands(commands: Any) -> None:
    """Commands about the simulated user."""
    simulator = _command(commands, "simulator", "the simulated user against real transcripts")
    actions = simulator.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "compare a run's simulated conversations with the suite's transcripts; nothing is called"
    validate = actions.add_parser("validate", help=about, description=about, allow_abbrev=False)
    validate.add_argument("suite", metavar="SUITE", help="a suite's folder, with transcripts/ in it")
    validate.add_argument(
        "--run", metavar="RUN", help="run id or latest (default: the latest complete run with conversations)"
    )
    validate.add_argument("--json", metavar="PATH", help="write the comparison as JSON; - for stdout")
    _store_flag(validate)


def _canary_command(commands: Any) -> None:
    """The judges of a run over frozen trials."""
    canary = _command(commands, "canary", "judge frozen trials of canary cases again, and planted attacks")
    canary.epilog = (
        "exit codes: 0 no alarm; 1 the judge drifted, or an attack passed; 3 nothing was judged; "
        "4 stopped by the budget"
    )
    canary.add_argument("run", metavar="RUN", help="the night: run id, latest or latest:SUITE")
    canary.add_argument(
        "--freeze", action="store_true", help="drop what is frozen and take this run's trials; calls nothing"
    )
    canary.add_argument("--suite", metavar="PATH", help="the suite's folder, where it is not where it was")
    canary.add_argument(
        "--judge-concurrency", type=int, metavar="N", help="judgements in flight (default 10)"
    )
    canary.add_argument("--spool", metavar="DIR", help="folder of the journals on this machine")
    canary.add_argument("--budget-usd", metavar="X", help="cap of the run and its canaries together")
    canary.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    canary.add_argument(
        "--allow-unpriced", action="store_const", const=True, help="a budget despite unknown prices"
    )
    canary.add_argument("--json", metavar="PATH", help="write what was found as JSON; - for stdout")
    _store_flag(canary)


def _sweep_command(commands: Any) -> None:
    """Other judges over stored trials."""
    sweep = _command(commands, "sweep", "judge stored trials again; no agent is called")
    sweep.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="run id, latest, latest:SUITE, or suite:SUITE for all its committed runs; may be repeated",
    )
    sweep.add_argument("--since", metavar="DATE", help="of suite:SUITE: runs from this UTC day on")
    sweep.add_argument("--until", metavar="DATE", help="of suite:SUITE: runs up to this UTC day")
    sweep.add_argument(
        "--status",
        action="append",
        choices=("pass", "fail", "measured", "not_applicable", "error", "skipped"),
        help="only trials with such a stored finding; may be repeated",
    )
    sweep.add_argument(
        "--of",
        action="append",
        metavar="E",
        help="the evaluator that --status is about (default: those that are swept)",
    )
    sweep.add_argument(
        "--judge",
        dest="judges",
        action="append",
        metavar="SPEC",
        help="judge; may be repeated (default: the suite's)",
    )
    sweep.add_argument(
        "--evaluator", dest="evaluators", action="append", metavar="E", help="evaluator; may be repeated"
    )
    sweep.add_argument(
        "--panel", choices=("majority", "all"), help="the judges are one panel, with a verdict of its own"
    )
    _kin_flag(sweep)
    sweep.add_argument("--repeat", type=int, metavar="K", help="judge the same output K times")
    sweep.add_argument(
        "--batch", action="store_const", const=True, help="through the provider's batch queue, at its price"
    )
    sweep.add_argument("--suite", metavar="PATH", help="the suite's folder, where it is not where it was")
    for name, what in (("case", "GLOB"), ("tag", "T"), ("layer", "L"), ("stage", "S")):
        sweep.add_argument(f"--{name}", action="append", metavar=what, help="as for run")
    sweep.add_argument(
        "--dry-run", action="store_true", help="say what would be judged and paid; call nothing"
    )
    sweep.add_argument("--prefect", action="store_true", help="the same through the Prefect flow")
    sweep.add_argument("--run-id", metavar="ID", help="the sweep's id")
    sweep.add_argument("--resume", metavar="SWEEP", help="go on with an open sweep")
    sweep.add_argument("--judge-concurrency", type=int, metavar="N", help="judgements in flight (default 10)")
    sweep.add_argument("--spool", metavar="DIR", help="folder of the journals on this machine")
    sweep.add_argument("--budget-usd", metavar="X", help="hard cap; 0 calls no model at all")
    sweep.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    sweep.add_argument(
        "--allow-unpriced", action="store_const", const=True, help="a budget despite unknown prices"
    )
    sweep.add_argument("--json", metavar="PATH", help="write the summary as JSON; - for stdout")
    _store_flag(sweep)


def _starting_commands(commands: Any) -> None:
    """Commands by which suites and cases come into being."""
    init = _command(commands, "init", "write a starter suite of seven cases that runs at once")
    init.add_argument("folder", metavar="DIR", help="the new suite's folder, such as cases/my-agent")

    trace = _command(commands, "trace-to-case", "make a draft case from a stored trial or a recorded trace")
    trace.epilog = (
        "exit codes: 0 draft made; 1 refused: another draft has the name, or the trial never worked; "
        "2 wrong input; 3 the recording does not say what was said"
    )
    trace.add_argument("source", metavar="RUN|FILE", help="run id, latest, latest:SUITE, or a file of spans")
    trace.add_argument("--case", metavar="ID", help="of a run: the case; of a file: the draft's id")
    trace.add_argument("--trial", type=int, metavar="N", help="of a run: the trial, from 0 (default 0)")
    trace.add_argument("--trace", metavar="ID", help="of a file with several traces: which one")
    trace.add_argument("--to", metavar="SUITE", help="write into the drafts folder of this suite")
    trace.add_argument("--json", metavar="PATH", help="write what was read as JSON; - for stdout")
    _store_flag(trace)


def _command(commands: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=help_text, allow_abbrev=False
    )
    parser.set_defaults(handler=_later(name.replace("-", "_")))
    return parser


def _later(name: str) -> Callable[[argparse.Namespace], int]:
    """The command's module, imported when it runs."""

    def handler(args: argparse.Namespace) -> int:
        return int(import_module(f"nightgate.cli.{name}").run(args))

    return handler


def _store_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        metavar="URI",
        help="folder or s3://bucket/prefix (default: NIGHTGATE_STORE or ./.nightgate)",
    )


def _plan_flags(what: Any) -> None:
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


def _kin_flag(where: Any) -> None:
    where.add_argument(
        "--related-judges",
        choices=("warn", "refuse"),
        help="a judge that is the model under test or of its family (default: the suite's gate.related_judges)",
    )


def _run_flags(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what runs")
    _plan_flags(what)
    what.add_argument("--seed", type=int, metavar="N", help="kept with the run; no effect yet")
    how = parser.add_argument_group("how it runs")
    _store_flag(how)  # type: ignore[arg-type]
    how.add_argument("--run-id", metavar="ID", help="run id, [0-9a-z-], at most 64")
    how.add_argument("--resume", metavar="RUN", help="play the rest of an open run and commit it")
    how.add_argument("--reuse", metavar="RUN", help="take over trials that are the same; id or latest")
    how.add_argument("--rerun", metavar="RUN", help="play a run's failed and errored cells again")
    how.add_argument("--only", choices=("failed", "errors"), help="of --rerun: one kind alone")
    how.add_argument("--baseline", metavar="RUN", help="compared with (default: the suite's baseline)")
    how.add_argument("--concurrency", type=int, metavar="N", help="agent trials in flight (default 10)")
    how.add_argument("--judge-concurrency", type=int, metavar="N", help="judgements in flight (default 10)")
    how.add_argument("--spool", metavar="DIR", help="folder of the journals on this machine")
    how.add_argument(
        "--curtail",
        action="store_const",
        const=True,
        help="leave out what cannot change the gate's verdict any more",
    )
    _kin_flag(how)
    money = parser.add_argument_group("money")
    money.add_argument("--budget-usd", metavar="X", help="hard cap; 0 calls no model at all")
    money.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    money.add_argument(
        "--allow-unpriced", action="store_const", const=True, help="a budget despite unknown prices"
    )
    out = parser.add_argument_group("output")
    out.add_argument("--json", metavar="PATH", help="write the summary as JSON; - prints only JSON on stdout")
    out.add_argument("--junit", metavar="PATH", help="write JUnit XML")
    out.add_argument(
        "--no-alerts",
        dest="alerts",
        action="store_const",
        const=False,
        help="tell no channel what changed",
    )
