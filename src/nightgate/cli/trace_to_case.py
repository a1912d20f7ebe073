"""``nightgate trace-to-case``: a stored trial or a recorded trace becomes a draft case."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nightgate.cli.output import check_writable, people, write_json
from nightgate.cli.stores import store_of
from nightgate.errors import ExitCode, InputError

if TYPE_CHECKING:
    from nightgate.cases import Case, Suite
    from nightgate.importers.drafts import Draft
    from nightgate.importers.proposals import Surroundings
    from nightgate.importers.records import Recorded
    from nightgate.ports import Store
    from nightgate.trials import Trial

DRAFTS = "drafts"
"""Folder of a suite that the loader does not read."""
_RUN = re.compile(r"[0-9a-z-]{1,64}|(?:latest|baseline)(?::.*)?")


def run(args: argparse.Namespace) -> int:
    """Print the draft, or write it into the suite's drafts folder and say what to do next."""
    try:
        return _run(args)
    except RecursionError:
        raise InputError(f"{args.source}:1: is nested too deeply to be a recording") from None


def _run(args: argparse.Namespace) -> int:
    from nightgate.importers.drafts import draft_of
    from nightgate.importers.masks import Mask

    check_writable(args.json)
    suite = _suite(args.to) if args.to else None
    recorded, case_id = _recorded(args, suite)
    mask = Mask(recorded)
    recorded = mask.recorded
    around = _surroundings(suite)
    draft = draft_of(recorded, case_id=mask.text(case_id) if case_id else None, around=around)
    if draft.case_id in around.taken:
        raise InputError(f"{args.to}: the suite has a case {draft.case_id!r} already{_rename(args)}")
    _tell(recorded)
    if args.to:
        for line in _write(draft, Path(args.to), conversation=bool(recorded.exchanges)):
            print(line, file=people(args.json))
    elif args.json != "-":
        print(draft.whole, end="")
    write_json(recorded.document(draft.whole), args.json)
    return ExitCode.OK


def _recorded(args: argparse.Namespace, suite: Suite | None) -> tuple[Recorded, str | None]:
    """The turn that is meant, and the id that its case shall have, where one was named."""
    path = Path(args.source)
    if path.exists() and not path.is_dir():
        from nightgate.importers.traces import read_trace

        if args.trial is not None:
            raise InputError(
                f"--trial {args.trial}: {args.source} is a file; --trace names one of its traces"
            )
        return read_trace(path, args.trace), args.case
    if not _RUN.fullmatch(args.source):
        what = "is a folder; name one file" if path.is_dir() else "cannot be read: there is no such file"
        raise InputError(f"{args.source}:1: {what}")
    if args.trace is not None:
        raise InputError(f"--trace {args.trace}: {args.source} is a run; --case and --trial name a trial")
    return _of_run(store_of(args), args, suite), None


def _of_run(store: Store, args: argparse.Namespace, suite: Suite | None) -> Recorded:
    from nightgate.importers.stored import UselessTrialError, nothing_learnt, recorded_trial, with_context
    from nightgate.steps.listing import resolve
    from nightgate.steps.trials import completed_trials, stored_trial

    run_id = resolve(store, args.source)
    trial, complete = stored_trial(store, run_id, args.case, args.trial or 0)
    why = nothing_learnt(trial)
    if why is not None:
        raise UselessTrialError(trial, why, completed_trials(store, run_id, trial.key.case_id))
    recorded = recorded_trial(trial, store=store.uri, complete=complete)
    case = _case(store, trial, suite)
    return recorded if case is None else with_context(recorded, case.context)


def _case(store: Store, trial: Trial, suite: Suite | None) -> Case | None:
    """The case that was played, from the suite that the draft is for, else from the run's own."""
    from nightgate.cases import load_suite
    from nightgate.steps.reading import load_plan

    if suite is None or suite.suite != trial.key.suite:
        path = load_plan(store, trial.key.run_id).suite_path
        try:
            suite = load_suite(path) if path else None
        except InputError:
            return None  # it was moved or is being worked on
        if suite is None or suite.suite != trial.key.suite:
            return None
    return next((case for case in suite.cases if case.id == trial.key.case_id), None)


def _rename(args: argparse.Namespace) -> str:
    """How a draft gets another id; of a run, ``--case`` names the case that was played."""
    return "; name another id with --case" if Path(args.source).exists() else ": this trial was taken before"


def _suite(folder: str) -> Suite:
    """The suite that the draft is for; a draft of a suite that cannot be read would never be run."""
    from nightgate.cases import load_suite

    return load_suite(folder)


def _surroundings(suite: Suite | None) -> Surroundings:
    """What a draft has to know of the suite that it is for."""
    from nightgate.evaluators.citations import CITATION
    from nightgate.importers.proposals import Surroundings

    if suite is None:
        return Surroundings()
    cites = suite.evaluators.get("CitesSource")
    pattern = cites.params.get("pattern") if cites is not None else None
    return Surroundings(
        side_effects=suite.side_effects,
        citation=pattern if isinstance(pattern, str) else CITATION,
        taken=frozenset(case.id for case in suite.cases),
    )


def _tell(recorded: Recorded) -> None:
    """What was recognised, and item by item what is not in the draft."""
    from nightgate.reports.text import plain

    lines = [f"read {recorded.source['about']}"]
    if recorded.source.get("trace_id"):
        lines.append(f"trace {recorded.source['trace_id']}")
    lines += [f"not in the draft: {item}" for item in recorded.unread]
    if recorded.masked:
        lines.append(f"masked what looked like a credential in {recorded.masked} text(s)")
    for line in lines:
        print(plain(line, 400), file=sys.stderr)


def _write(draft: Draft, suite: Path, *, conversation: bool) -> list[str]:
    """Write the draft and its script; refuse to touch a draft that is there."""
    from nightgate.importers.saving import save

    folder = (suite.parent if suite.is_file() else suite) / DRAFTS
    files = {folder / f"{draft.name}.yaml": draft.case, folder / f"{draft.name}.script.yaml": draft.script}
    save(files)
    case, script = files
    home = folder.parent
    played = home / "scripts" / f"{draft.name}.yaml"
    model = f"scripted:{draft.name}"
    persona = ", give the persona its goal and its success" if conversation else ""
    return [
        f"wrote {case}",
        f"wrote {script}",
        "next:",
        f"  1. open {case}: say why the case matters, uncomment what must hold{persona}, delete the rest",
        f"  2. {_shell('mv', case, home / case.name)}",
        f"  3. {_shell('mv', script, played)}   (or copy its reply into another script)",
        f"  4. {_shell('nightgate', 'check', home)}",
        f"  5. {_shell('nightgate', 'run', home, '--case', draft.case_id, '--model', model)}",
        "  6. drop the line `stage: capability` once the case should gate; until then a run of it alone ends",
        "     inconclusive (exit 3): nothing gates",
    ]


def _shell(*words: str | Path) -> str:
    return shlex.join(map(str, words))
