"""Judges against people: stored judgements of a suite beside its labels.

Owns which runs and sweeps are read and where the answer is kept. What is computed is
``calibration``'s; nothing is called.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.calibration import (
    Asked,
    Calibration,
    Evidence,
    Judgement,
    Label,
    Labels,
    Pinned,
    Unmet,
    calibrated,
)
from nightgate.cases import Suite, evaluators_of
from nightgate.cases.problems import Problem, SuiteError, did_you_mean
from nightgate.errors import ExitCode, InputError, MissingError, NightgateError
from nightgate.importers.labels import read_labels
from nightgate.plans import SWEEP, Plan, PlannedCase
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.keys import checked_id
from nightgate.rows.manifests import Manifest
from nightgate.scores import Blame, Status
from nightgate.steps.listing import latest, runs_of
from nightgate.steps.reading import load_plan, manifest_of, rows_of

LABELS = "labels"
"""Folder of a suite with what people said of judged trials."""
JUDGE = "judge"
_COLUMNS = (
    "case_id", "trial", "evaluator", "repeat", "status", "blame", "label", "judge_model",
    "judge_fingerprint", "panel", "layer", "language", "tags",
)  # fmt: skip
_PASSES, _FAILS = frozenset({"pass", "yes"}), frozenset({"fail", "no"})
"""Labels of findings that are figures only, because no threshold was set."""


class NothingJudgedError(NightgateError):
    """No complete run has judgements of a judge: it cannot be told."""

    exit_code = ExitCode.INCONCLUSIVE


def calibration_key(suite: str) -> str:
    """``calibrations/<suite>.json``: what ``calibrate`` found last; the gate reads it."""
    return f"calibrations/{checked_id(suite, 'suite')}.json"


def calibrate(store: Store, suite: Suite, run: str | None = None) -> Calibration:
    """Hold the judges of a run, and of sweeps over labelled runs, against the suite's labels.

    Args:
        store: Where the runs lie.
        suite: With labels in its folder.
        run: Id of the run whose rates are corrected; None takes the latest complete one with a judge.

    Raises:
        InputError: If a label file cannot be read or does not fit the suite, or the run is another
            suite's.
        MissingError: If there is no such run.
        NothingJudgedError: If no complete run has a judge.
    """
    labels = read_labels(suite.path / LABELS)
    library = _Library(store, suite.suite)
    chosen = _chosen(library, suite, run)
    named = {label.run_id for label in labels.labels if label.run_id is not None}
    runs = {chosen.run_id: chosen}
    runs |= {run_id: plan for run_id in sorted(named) if (plan := library.committed(run_id)) is not None}
    _check(labels, suite, list(runs.values()))
    reader = _Reader(chosen.run_id)
    for plan in runs.values():
        reader.read(library, plan)
    for plan in library.plans:
        if plan.run_kind == SWEEP and plan.source in runs:
            reader.read(library, plan)
    return calibrated(
        Evidence(
            suite=suite.suite,
            run_id=chosen.run_id,
            labels=labels,
            judgements=reader.judgements,
            pinned=_pinned(chosen),
            own={
                (plan.run_id, planned.name): planned.judge_fingerprint or ""
                for plan in runs.values()
                for planned in plan.evaluators
                if planned.kind == JUDGE and planned.panel is None
            },
            asked={
                (plan.run_id, case.case_id, name): _asked(case, name)
                for plan in runs.values()
                for case in plan.cases
                for name in case.questions
            },
            since=library.since(),
            asked_since=library.asked_since({(label.case_id, label.evaluator) for label in labels.labels}),
            faults=reader.faults,
            absent=sorted(named - set(runs)),
            unmet=list(_unmet(labels, runs, chosen.run_id, reader.judgements)),
        )
    )


def _pinned(plan: Plan) -> dict[str, Pinned]:
    return {
        planned.name: Pinned(
            threshold=planned.threshold,
            fingerprint=planned.judge_fingerprint or "",
            judge_model=planned.judge_model or "",
            criteria=_criteria(plan, planned.name),
        )
        for planned in plan.evaluators
        if planned.kind == JUDGE and planned.panel is None
    }


def _asked(case: PlannedCase, evaluator: str) -> Asked:
    return Asked(case.questions.get(evaluator, ""), case.criteria.get(evaluator, ""))


def _criteria(plan: Plan, evaluator: str) -> frozenset[str]:
    return frozenset(case.criteria[evaluator] for case in plan.cases if evaluator in case.criteria)


def keep(store: Store, calibration: Calibration, now: datetime) -> None:
    """Store what was found, so that a gate can ask which judges may block."""
    document = {**calibration.document, "calibrated_at": now.astimezone(UTC).isoformat(timespec="seconds")}
    data = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
    store.replace(calibration_key(str(calibration.document["suite"])), data)


def kept(store: Store, suite: str) -> Mapping[str, Any] | None:
    """What ``keep`` stored last for a suite; None when it never did."""
    try:
        found: Mapping[str, Any] = json.loads(store.read(calibration_key(suite)))
    except MissingError:
        return None
    return found


class _Library:
    """The runs and sweeps of a suite."""

    def __init__(self, store: Store, suite: str) -> None:
        self.store = store
        entries = runs_of(store, suite)
        self.plans = tuple(load_plan(store, entry["run_id"]) for entry in entries)
        """The most recently started first."""
        self.complete = frozenset(entry["run_id"] for entry in entries if entry["complete"])

    def committed(self, run_id: str) -> Plan | None:
        """A run of the suite; None when there is none, or it is open or a sweep."""
        plan = next((plan for plan in self.plans if plan.run_id == run_id), None)
        if plan is None or plan.is_sweep or self.manifest(plan) is None:
            return None
        return plan

    def manifest(self, plan: Plan) -> Manifest | None:
        """The commit of a run."""
        return manifest_of(self.store, plan)

    def since(self) -> dict[str, datetime]:
        """Fingerprint -> start of the first run or sweep that had it."""
        found: dict[str, datetime] = {}
        for plan in self.plans:
            started = datetime.fromisoformat(plan.started_at)
            for planned in plan.evaluators:
                if planned.judge_fingerprint is not None:
                    known = found.get(planned.judge_fingerprint, started)
                    found[planned.judge_fingerprint] = min(known, started)
        return found

    def asked_since(self, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str, str], datetime]:
        """(Case, evaluator, question) -> start of the first run or sweep that asked it; of those wanted."""
        cases = {case_id for case_id, _ in wanted}
        found: dict[tuple[str, str, str], datetime] = {}
        for plan in self.plans:
            started = datetime.fromisoformat(plan.started_at)
            for case in plan.cases:
                if case.case_id not in cases:
                    continue
                for name, question in case.questions.items():
                    if (case.case_id, name) in wanted:
                        key = case.case_id, name, question
                        found[key] = min(found.get(key, started), started)
        return found


def _chosen(library: _Library, suite: Suite, run: str | None) -> Plan:
    if run is None:
        latest(library.store, suite.suite)  # says so when there is none at all
        for plan in library.plans:
            judges = any(planned.kind == JUDGE for planned in plan.evaluators)
            if plan.run_kind == "run" and judges and plan.run_id in library.complete:
                return plan
        msg = (
            f"no complete run of suite {suite.suite!r} in {library.store.uri} has a judge; "
            f"start one with `nightgate run {suite.path}`"
        )
        raise NothingJudgedError(msg)
    plan = load_plan(library.store, run)
    if plan.suite != suite.suite:
        raise InputError(f"run {run} is of suite {plan.suite!r}, not {suite.suite!r}")
    if plan.is_sweep:
        raise InputError(f"run {run} is a sweep of {plan.source}: name that run, its sweeps are read with it")
    if library.manifest(plan) is None:
        msg = f"run {run} is open; go on with `nightgate run {suite.path} --resume {run}`"
        raise NothingJudgedError(msg)
    if not any(planned.kind == JUDGE for planned in plan.evaluators):
        raise NothingJudgedError(f"run {run} has no judge: there is nothing to calibrate")
    return plan


def _check(labels: Labels, suite: Suite, plans: list[Plan]) -> None:
    """Refuse labels of cases and evaluators that nobody knows: they would be lost in silence."""
    cases = {case.id for case in suite.cases}
    cases |= {case.case_id for plan in plans for case in plan.cases}
    kinds = {planned.name: planned.kind for plan in plans for planned in plan.evaluators}
    for case in suite.cases:
        for name in evaluators_of(suite, case):
            kinds.setdefault(name, JUDGE)
    problems = [
        Problem(path=Path(label.file), line=label.line, message=message)
        for label in labels.labels
        for message in _misfits(label, cases, kinds)
    ]
    if problems:
        raise SuiteError(problems)


def _misfits(label: Label, cases: set[str], kinds: Mapping[str, str]) -> Iterator[str]:
    if label.case_id not in cases:
        yield f"case_id: unknown {label.case_id!r}{did_you_mean(label.case_id, cases)}"
    if label.evaluator not in kinds:
        yield f"evaluator: unknown {label.evaluator!r}{did_you_mean(label.evaluator, kinds)}"
    elif kinds[label.evaluator] != JUDGE:
        yield f"evaluator: {label.evaluator} is no judge: only judges are held against labels"


def _unmet(
    labels: Labels, runs: Mapping[str, Plan], chosen: str, judgements: Collection[Judgement]
) -> Iterator[Unmet]:
    """Labels of the runs at hand that are about nothing that a judge has seen, and why."""
    seen: dict[tuple[str, str, str], set[int]] = {}
    for one in judgements:
        seen.setdefault((one.run_id, one.case_id, one.evaluator), set()).add(one.trial)
    cases = {(plan.run_id, case.case_id): case for plan in runs.values() for case in plan.cases}
    for label in labels.labels:
        run = chosen if label.run_id is None else label.run_id
        trials = seen.get((run, label.case_id, label.evaluator), set())
        if run in runs and not (trials if label.trial is None else label.trial in trials):
            case = cases.get((run, label.case_id))
            yield Unmet(label.file, label.line, f"run {run} {_why_unmet(label, case, judged=bool(trials))}")


def _why_unmet(label: Label, case: PlannedCase | None, *, judged: bool) -> str:
    if case is None:
        return f"has no case {label.case_id!r}"
    if not judged and label.evaluator not in case.evaluators:
        return f"does not ask {label.evaluator} of case {label.case_id!r}"
    if label.trial is not None and label.trial >= case.trials:
        return f"has no trial {label.trial} of case {label.case_id!r}, which it plays {case.trials} times"
    return f"has no judgement of it: case {label.case_id!r} failed by the agent's own fault there"


@dataclass(slots=True)
class _Reader:
    """Judgements as they are read."""

    run_id: str
    judgements: list[Judgement] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)

    def read(self, library: _Library, plan: Plan) -> None:
        """Read the judgements of a run or of a sweep; an open sweep has none yet."""
        judges = {planned.evaluator for planned in plan.evaluators if planned.kind == JUDGE}
        panels = {planned.judge_fingerprint for planned in plan.evaluators if planned.members}
        manifest = library.manifest(plan)
        if not judges or manifest is None:
            return
        source = plan.source or plan.run_id
        cases = {case.case_id: case for case in plan.cases}
        for row in rows_of(library.store, manifest, keys.SCORES, _COLUMNS):
            # A member of a panel is a judge of the panel's evaluator, held against the same labels.
            if (row["panel"] or row["evaluator"]) not in judges:
                continue
            if row["blame"] == Blame.AGENT and row["status"] == Status.FAIL:
                if plan.run_id == self.run_id and row["panel"] is None:
                    self.faults[row["evaluator"]] = self.faults.get(row["evaluator"], 0) + 1
                continue
            self.judgements.append(_judgement(row, source, panels, cases[row["case_id"]]))


def _judgement(
    row: Mapping[str, Any], run_id: str, panels: Collection[str | None], case: PlannedCase
) -> Judgement:
    evaluator = row["panel"] or row["evaluator"]
    return Judgement(
        run_id=run_id,
        case_id=row["case_id"],
        trial=row["trial"],
        evaluator=evaluator,
        asked=_asked(case, evaluator),
        panel=row["judge_fingerprint"] in panels,
        fingerprint=row["judge_fingerprint"] or "",
        judge_model=row["judge_model"] or "",
        repeat=row["repeat"] or 0,
        verdict=_verdict(row),
        layer=row["layer"],
        language=row["language"],
        tags=tuple(row["tags"] or ()),
    )


def _verdict(row: Mapping[str, Any]) -> bool | None:
    if row["status"] == Status.MEASURED:
        return True if row["label"] in _PASSES else False if row["label"] in _FAILS else None
    return {Status.PASS: True, Status.FAIL: False}.get(row["status"])
