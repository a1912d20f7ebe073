"""The grammar of the commands beside ``check``, ``run`` and ``nightly``.

Owns their words and flags. Imports nothing but argparse, so that ``--help`` costs nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

from nightgate.cli.flags import command, kin_flag, plan_flags, run_flags, series_flag, store_flag


def stored_commands(commands: Any) -> None:
    """Commands over what is stored, or waits to be."""
    gate = command(commands, "gate", "decide again on a stored run")
    gate.add_argument("run", metavar="RUN", help="run id, latest, or latest:SUITE")
    gate.add_argument("--suite", metavar="PATH", help="try this suite's thresholds")
    gate.add_argument("--json", metavar="PATH", help="write the decision as JSON; - for stdout")
    store_flag(gate)

    runs = command(commands, "runs", "what is stored of a suite")
    runs.add_argument("suite", metavar="SUITE", help="suite id or folder")
    runs.add_argument("--limit", type=int, default=20, metavar="N", help="newest N (default 20)")
    runs.add_argument("--json", metavar="PATH", help="write the list as JSON; - for stdout")
    store_flag(runs)

    publish = command(commands, "publish", "bring up what a run left on this machine, and commit it")
    publish.add_argument("run", metavar="RUN", help="run id")
    publish.add_argument("--spool", metavar="DIR", help="folder of the journals")
    publish.add_argument("--json", metavar="PATH", help="write the summary as JSON; - for stdout")
    store_flag(publish)


def doctor_command(commands: Any) -> None:
    """The command that looks around."""
    doctor = command(commands, "doctor", "what is reachable: store, Prefect API, models, alert channels")
    doctor.add_argument(
        "suites", nargs="*", metavar="SUITE", help="suites whose models and alert channels are looked at"
    )
    doctor.add_argument("--pool", metavar="NAME", help="work pool (default: all that deployments name)")
    doctor.add_argument(
        "--since",
        metavar="AGE",
        help="exit 3 if a suite has had no complete run for so long: 26h, 2d, 90m",
    )
    doctor.add_argument(
        "--alert", action="store_true", help="with --since: tell the suite's channels, once an outage"
    )
    doctor.add_argument("--spool", metavar="DIR", help="folder of the journals on this machine")
    doctor.add_argument("--json", metavar="PATH", help="write the findings as JSON; - for stdout")
    store_flag(doctor)


def night_commands(commands: Any) -> None:
    """Commands about many nights."""
    history = command(commands, "history", "how each evaluator and case did, night by night")
    history.epilog = "exit codes: 0 shown; 2 wrong input; 3 no complete run is stored"
    history.add_argument("suite", metavar="SUITE", help="suite id or folder")
    history.add_argument("--nights", type=int, metavar="N", help="the newest N nights (default 30)")
    history.add_argument("--evaluator", metavar="E", help="only this evaluator")
    history.add_argument("--case", metavar="GLOB", help="only these cases")
    series_flag(history)
    history.add_argument("--all", action="store_true", help="list cases that always passed too")
    history.add_argument("--json", metavar="PATH", help="write the trends as JSON; - for stdout")
    store_flag(history)

    flaky = command(commands, "flaky", "the flake board: broken, suspect, flaky or stable, and since when")
    flaky.epilog = "exit codes: 0 shown; 2 wrong input; 3 no complete run is stored"
    flaky.add_argument("suite", metavar="SUITE", help="suite id or folder")
    series_flag(flaky)
    flaky.add_argument("--all", action="store_true", help="list what is steady too")
    flaky.add_argument("--json", metavar="PATH", help="write the board as JSON; - for stdout")
    store_flag(flaky)

    promote = command(commands, "promote-case", "let a capability case gate: edits its file in place")
    promote.epilog = "exit codes: 0 done; 1 it is no capability case; 2 wrong input"
    promote.add_argument("suite", metavar="SUITE", help="a suite's folder")
    promote.add_argument("case", metavar="CASE", help="the case's id")
    promote.add_argument("--json", metavar="PATH", help="write what was changed as JSON; - for stdout")


def baseline_commands(commands: Any) -> None:
    """Commands about the run that others are compared with."""
    promote = command(commands, "promote", "make a passing, complete run its suite's baseline")
    promote.epilog = "exit codes: 0 done; 1 refused: open, not passed, a part of the suite; 2 wrong input"
    promote.add_argument("run", metavar="RUN", help="run id, latest, or latest:SUITE")
    promote.add_argument("--force", action="store_true", help="although its gate did not pass; needs --why")
    promote.add_argument("--why", metavar="TEXT", help="the reason, kept with the baseline")
    promote.add_argument("--json", metavar="PATH", help="write the baseline as JSON; - for stdout")
    store_flag(promote)

    compare = command(commands, "compare", "may I say it improved? runs over the same cases, paired")
    compare.epilog = (
        "exit codes: 0 improved, or no relevant change; 1 a run regressed; 2 wrong input; 3 it cannot be "
        "told: not comparable, candidate or inconclusive. Of several runs the first of 1, 3, 0 that applies"
    )
    compare.add_argument("base", metavar="BASE", help="run id, baseline or latest, or one with :SUITE")
    compare.add_argument("runs", nargs="+", metavar="RUN", help="as BASE; corrected for their number")
    compare.add_argument("--json", metavar="PATH", help="write the comparison as JSON; - for stdout")
    store_flag(compare)


def plan_command(commands: Any) -> None:
    """The command that looks ahead."""
    plan = command(commands, "plan", "what would run against the store, why, and the dollars; calls nothing")
    plan.add_argument("suite", metavar="SUITE", help="a suite's folder")
    plan_flags(plan.add_argument_group("what would run"))
    plan.add_argument(
        "--against", metavar="RUN", help="run to take trials from: id or latest (default: the latest, if any)"
    )
    plan.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    plan.add_argument("--json", metavar="PATH", help="write the plan as JSON; - for stdout")
    store_flag(plan)


def label_commands(commands: Any) -> None:
    """Commands by which people tell what judges are worth."""
    calibrate = command(commands, "calibrate", "hold judges against people's labels; nothing is called")
    calibrate.add_argument("suite", metavar="SUITE", help="a suite's folder, with labels/ in it, or its id")
    calibrate.add_argument("--suite", dest="path", metavar="PATH", help="the folder, where SUITE is an id")
    calibrate.add_argument(
        "--run", metavar="RUN", help="run id or latest (default: the latest complete run with a judge)"
    )
    calibrate.add_argument("--json", metavar="PATH", help="write what was found as JSON; - for stdout")
    store_flag(calibrate)

    label = command(commands, "label", "draw judged trials into a CSV file for people to label")
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
    store_flag(label)


def simulator_commands(commands: Any) -> None:
    """Commands about the simulated user."""
    simulator = command(commands, "simulator", "the simulated user against real transcripts")
    actions = simulator.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "compare a run's simulated conversations with the suite's transcripts; nothing is called"
    validate = actions.add_parser("validate", help=about, description=about, allow_abbrev=False)
    validate.add_argument("suite", metavar="SUITE", help="a suite's folder, with transcripts/ in it")
    validate.add_argument(
        "--run", metavar="RUN", help="run id or latest (default: the latest complete run with conversations)"
    )
    validate.add_argument("--json", metavar="PATH", help="write the comparison as JSON; - for stdout")
    store_flag(validate)


def canary_command(commands: Any) -> None:
    """The judges of a run over frozen trials."""
    canary = command(commands, "canary", "judge frozen trials of canary cases again, and planted attacks")
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
    store_flag(canary)


def sweep_command(commands: Any) -> None:
    """Other judges over stored trials."""
    sweep = command(commands, "sweep", "judge stored trials again; no agent is called")
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
    kin_flag(sweep)
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
    store_flag(sweep)


def starting_commands(commands: Any) -> None:
    """Commands by which suites and cases come into being."""
    init = command(commands, "init", "write a starter suite of seven cases that runs at once")
    init.add_argument("folder", metavar="DIR", help="the new suite's folder, such as cases/my-agent")

    trace = command(commands, "trace-to-case", "make a draft case from a stored trial or a recorded trace")
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
    store_flag(trace)


def bisect_command(commands: Any) -> None:
    """Which setting moved the score."""
    bisect = command(commands, "bisect", "which setting of the good run moves the broken cases back?")
    bisect.epilog = (
        "exit codes: 0 a swap moved something; 1 none did, or nothing broke; 2 wrong input; 3 it cannot be "
        "told; 4 stopped by the budget: the same command goes on"
    )
    bisect.add_argument("good", metavar="GOOD", help="run id, baseline or latest, or one with :SUITE")
    bisect.add_argument("bad", metavar="BAD", help="as GOOD; its configuration is the one that is varied")
    bisect.add_argument("--suite", metavar="PATH", help="the suite's folder, where it is not where it was")
    bisect.add_argument(
        "--trials", type=int, metavar="N", help="trials of a case in a probe (default: as BAD, at least 3)"
    )
    bisect.add_argument("--dry-run", action="store_true", help="say what would be played; call nothing")
    bisect.add_argument("--concurrency", type=int, metavar="N", help="agent trials in flight (default 10)")
    bisect.add_argument(
        "--judge-concurrency", type=int, metavar="N", help="judgements in flight (default 10)"
    )
    bisect.add_argument("--spool", metavar="DIR", help="folder of the journals on this machine")
    bisect.add_argument("--budget-usd", metavar="X", help="hard cap over all probes; 0 calls no model at all")
    bisect.add_argument("--prices", metavar="FILE", help="prices that override the bundled table")
    bisect.add_argument(
        "--allow-unpriced", action="store_const", const=True, help="a budget despite unknown prices"
    )
    bisect.add_argument("--json", metavar="PATH", help="write the answer as JSON; - for stdout")
    store_flag(bisect)


def watch_commands(commands: Any) -> None:
    """Commands by which runs start by themselves."""
    watch = command(
        commands, "watch", "look for changes of what suites test, and start the runs they ask for"
    )
    watch.epilog = (
        "exit codes with --once: 0 nothing changed, or what was started passed; 3 something could not be "
        "read, or keeps changing; else the run's. Without: 0 ended, 130 a run was stopped"
    )
    watch.add_argument("folder", metavar="DIR", help="folder with one suite a subfolder")
    watch.add_argument("--every", default="60s", metavar="T", help="time between looks (default 60s)")
    watch.add_argument("--once", action="store_true", help="look, start what is due, wait for it and end")
    watch.add_argument(
        "--quiet", default="60s", metavar="T", help="a change has to stay the same for so long (default 60s)"
    )
    watch.add_argument(
        "--live", action="store_const", const=True, help="use the suites' live: models and trials"
    )
    watch.add_argument("--look", action="store_true", help=argparse.SUPPRESS)
    store_flag(watch)

    notify = command(commands, "notify-change", "tell the Prefect server of a change: its run starts at once")
    notify.epilog = (
        "exit codes: 0 the server has it; 2 wrong input, or no server is named; 3 it was not taken"
    )
    notify.add_argument(
        "kind", metavar="KIND", help="what changed: model, retrieval, prompt, tools, code or judge"
    )
    notify.add_argument("--suite", required=True, metavar="SUITE", help="suite id or folder")
    notify.add_argument("--resource", metavar="NAME", help="what exactly, as in fingerprint: of the suite")
    notify.add_argument("--reason", metavar="TEXT", help="in words, for the report")
    notify.add_argument("--id", metavar="TEXT", help="the same id twice starts one run")


def fleet_commands(commands: Any) -> None:
    """Commands by which several processes, or machines, work on runs."""
    deploy = command(commands, "deploy", "put flows, schedules and triggers on the Prefect server")
    deploy.epilog = "exit codes: 0 done; 1 Prefect refused; 2 no server or no file"
    deploy.add_argument("--file", metavar="FILE", help="the deployments (default infra/prefect.yaml)")
    deploy.add_argument("--pool", metavar="NAME", help="of the flows (default NIGHTGATE_POOL, nightgate)")
    deploy.add_argument("--drain-pool", metavar="NAME", help="of a run's workers (default nightgate-drain)")
    deploy.add_argument("--home", default=".", metavar="DIR", help="folder in which workers run (default .)")

    worker = command(commands, "worker", "work for a pool: this machine's part in a fleet")
    worker.add_argument("--pool", metavar="NAME", help="work pool (default NIGHTGATE_POOL, nightgate)")
    worker.add_argument("--name", metavar="NAME", help="what the server calls it")
    worker.add_argument("--limit", type=int, metavar="N", help="flow runs at a time")

    serve = command(
        commands, "serve", "one machine: Prefect server, nightly schedule and flows in one service"
    )
    serve.add_argument("folder", metavar="DIR", help="folder with suites")
    serve.add_argument("--cron", default="30 2 * * *", metavar="CRON", help="nights (default 30 2 * * *)")
    serve.add_argument(
        "--watch", default="*/15 * * * *", metavar="CRON", help="looks for changes (default */15 * * * *)"
    )
    serve.add_argument(
        "--timezone", metavar="ZONE", help="whose hours and dates (default NIGHTGATE_TIMEZONE, UTC)"
    )
    serve.add_argument("--port", type=int, default=4200, metavar="N", help="of the server (default 4200)")
    run_flags(serve)
