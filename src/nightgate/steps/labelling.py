"""A sheet of stored trials for people to label, without a word of what the judge said.

Owns what stands in a sheet and which cells it is drawn from. How they are drawn is
``calibration.drawing``'s. Nothing is called and nothing is stored.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.calibration import Label, Sample
from nightgate.calibration.drawing import Judged, drawn
from nightgate.cases import Case, Suite, case_hash, questions_of
from nightgate.cases.problems import did_you_mean
from nightgate.errors import ExitCode, InputError, NightgateError
from nightgate.importers.labels import guarded, read_labels
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import talk_of
from nightgate.rows.manifests import Manifest
from nightgate.scores import Blame, Status
from nightgate.steps.calibrating import JUDGE, LABELS
from nightgate.steps.reading import load_plan, manifest_of, rows_of

COLUMNS = ("run_id", "case_id", "trial", "evaluator", "question", "input", "output", "label")
_CRITERION = "Criterion:"
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class NothingToLabelError(NightgateError):
    """A run without verdicts of a judge, or without one that nobody has labelled yet."""

    exit_code = ExitCode.INCONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Rows for people to fill in."""

    run_id: str
    text: str
    """CSV, with a first line that says how the rows were drawn."""
    rows: int
    judged: int
    """Cells that could have been drawn."""
    left_out: int = 0
    """Judged cells that the suite asks otherwise today: a sheet would put the wrong question."""


def sheet_of(
    store: Store,
    run_id: str,
    size: int,
    *,
    evaluator: str | None = None,
    suite: Suite | None = None,
    seed: int = 0,
    sample: Sample = Sample.STRATIFIED,
) -> Sheet:
    """Draw cells of a committed run.

    Args:
        store: Where the run lies.
        run_id: The run.
        size: How many rows; all there are where there are fewer.
        evaluator: Only this judge's; None: all judges'.
        suite: Its criteria become the questions, and what its labels say already is left out; so are
            cells of which the run's judge was asked something else.
        seed: Another one draws other rows.
        sample: How they are drawn.

    Raises:
        InputError: If the size is none, the run has no such judge, the suite is another one, or a
            random sample would lack cells that are asked otherwise today.
        MissingError: If there is no such run.
        NothingToLabelError: If the run is open, or nothing is left to label.
    """
    if size < 1:
        raise InputError(f"--sample {size}: ask for at least 1 row")
    plan = load_plan(store, run_id)
    names = _judges(plan, evaluator)
    if suite is not None and suite.suite != plan.suite:
        raise InputError(f"run {run_id} is of suite {plan.suite!r}, not {suite.suite!r}")
    manifest = manifest_of(store, plan)
    if manifest is None:
        raise NothingToLabelError(f"run {run_id} is open: resume it first, then its trials can be labelled")
    labels = read_labels(suite.path / LABELS).labels if suite is not None else ()
    found = list(_judged(store, manifest, names, labels))
    same = None if suite is None else _asked_as_today(plan, suite, names)
    cells = [cell for cell in found if same is None or (cell.case_id, cell.evaluator) in same]
    left_out = len(found) - len(cells)
    if left_out and (sample is Sample.RANDOM or not cells):
        raise _asked_otherwise(run_id, left_out, plan)
    if not cells:
        what = "that nobody has labelled yet" if labels else f"of {', '.join(names)}"
        raise NothingToLabelError(f"run {run_id}: no verdict {what}")
    chosen = drawn(cells, size, seed=seed, stratified=sample is Sample.STRATIFIED)
    cases = {case.id: case for case in suite.cases} if suite is not None else {}
    text = _written(store, manifest, chosen, cases, sample)
    return Sheet(run_id=run_id, text=text, rows=len(chosen), judged=len(cells), left_out=left_out)


def _asked_as_today(plan: Plan, suite: Suite, names: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """(Case, evaluator) of which the suite asks what the run asked; the case hash decides for old plans."""
    today = {case.id: case for case in suite.cases}
    found = set()
    for planned in plan.cases:
        case = today.get(planned.case_id)
        if case is None:
            continue
        questions = questions_of(suite, case, names)
        for name in names:
            before = planned.questions.get(name)
            same = planned.case_hash == case_hash(case) if before is None else before == questions[name]
            if same:
                found.add((planned.case_id, name))
    return frozenset(found)


def _asked_otherwise(run_id: str, count: int, plan: Plan) -> InputError:
    at = f" (commit {plan.git_sha[:12]})" if plan.git_sha else ""
    msg = (
        f"run {run_id}: {count} judged cells are asked otherwise by the suite today: their sheet would put "
        f"another question than the judge got, and a random sample may not leave them out. Name the suite as "
        f"it was for that run{at}, or label a run of today's"
    )
    return InputError(msg)


def _judges(plan: Plan, evaluator: str | None) -> tuple[str, ...]:
    if plan.is_sweep:
        raise InputError(f"run {plan.run_id} is a sweep of {plan.source}: label the trials of that run")
    # A panel's members are judged by the same labels as the panel: what people are asked is the same.
    judges = (planned for planned in plan.evaluators if planned.kind == JUDGE and planned.panel is None)
    names = tuple(planned.name for planned in judges)
    if not names:
        raise NothingToLabelError(f"run {plan.run_id} has no judge: there is nothing to label")
    if evaluator is None:
        return names
    if evaluator not in names:
        msg = f"--evaluator {evaluator}: run {plan.run_id} has no such judge{did_you_mean(evaluator, names)}"
        raise InputError(msg)
    return (evaluator,)


def _judged(
    store: Store, manifest: Manifest, names: tuple[str, ...], labels: Iterable[Label]
) -> Iterable[Judged]:
    """Cells with a verdict of the run's own judge, apart from those that somebody labelled."""
    about: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        if label.run_id in (None, manifest.run_id):
            about.setdefault((label.evaluator, label.case_id), []).append(label)
    columns = ("case_id", "trial", "evaluator", "status", "blame")
    for row in rows_of(store, manifest, keys.SCORES, columns):
        judged = row["status"] in (Status.PASS, Status.FAIL) and row["blame"] != Blame.AGENT
        if not judged or row["evaluator"] not in names:
            continue
        known = about.get((row["evaluator"], row["case_id"]), ())
        if not any(label.trial in (None, row["trial"]) for label in known):
            yield Judged(row["evaluator"], row["case_id"], row["trial"], row["status"] == Status.PASS)


def _written(
    store: Store, manifest: Manifest, chosen: list[Judged], cases: Mapping[str, Case], sample: Sample
) -> str:
    wanted = {(cell.case_id, cell.trial) for cell in chosen}
    columns = ("case_id", "trial", "input", "output", "conversation")
    found = {
        key: row
        for row in rows_of(store, manifest, keys.TRIALS, columns)
        if (key := (row["case_id"], row["trial"])) in wanted
    }
    out = io.StringIO(newline="")
    out.write(f"# sample: {sample.value}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in chosen:
        row = found.get((cell.case_id, cell.trial), {})
        cells = (
            manifest.run_id,
            cell.case_id,
            str(cell.trial),
            cell.evaluator,
            _question(cell, cases.get(cell.case_id)),
            row.get("input") or "",
            _output(row),
            "",
        )
        writer.writerow([guarded(_UNPRINTABLE.sub("\ufffd", text)) for text in cells])
    return out.getvalue()


def _question(cell: Judged, case: Case | None) -> str:
    """What people are asked: the criterion in its own words, else what the evaluator is called."""
    asked = cell.evaluator
    if case is None:
        return asked
    for criterion in case.expect.judge:
        if cell.evaluator == f"{_CRITERION}{criterion.id}":
            asked = criterion.criterion
    return f"{asked}\nExpected: {case.expected_output}" if case.expected_output else asked


def _output(row: Mapping[str, Any]) -> str:
    """The agent's answer; of a conversation all that was said."""
    talk = talk_of(row)
    if talk is None:
        return row.get("output") or ""
    return "\n".join(f"User: {turn.user}\nAgent: {turn.agent}" for turn in talk.turns)
