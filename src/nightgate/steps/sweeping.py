"""A judge sweep: stored trials judged again, by other judges or more than once. No agent is called.

Owns which stored trials are meant, the sweep's plan, and which findings of earlier sweeps still hold.
A sweep is a run of kind ``sweep``: planned, staged, committed and resumed like any other, with the
judged run as its source. Its rows stand beside that run's own and never replace them. Knows no
adapter.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from nightgate.cases import Case, Suite, case_hash, evaluators_of
from nightgate.cases.problems import did_you_mean
from nightgate.errors import InputError
from nightgate.evaluators.registry import Registered
from nightgate.plans import SWEEP, Plan, PlannedCase, PlannedEvaluator, new_run_id, threshold_of, utc_date
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.rows import keys
from nightgate.rows.facts import cell_from_row
from nightgate.rows.keys import checked_id
from nightgate.rows.manifests import Manifest
from nightgate.scores import Cell, Status
from nightgate.steps.listing import runs_of
from nightgate.steps.planning import kept_cap
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.trials import StoredTrials
from nightgate.trials import Ending
from nightgate.version import VERSION

_JUDGEABLE = frozenset({Ending.COMPLETED, Ending.AGENT_BLOCKED})
"""Other endings decide a cell by themselves: there is nothing for a judge to see."""
_HOLDS = frozenset({Status.PASS, Status.FAIL, Status.MEASURED, Status.NOT_APPLICABLE})
_NAMED = 5

Key = tuple[str, int, str, int, str | None, int]
"""Case id, trial, evaluator, its version, judge fingerprint, repeat: what a finding is known by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A committed run whose trials are judged."""

    plan: Plan
    manifest: Manifest
    trials: StoredTrials


def source_of(store: Store, run_id: str) -> Source:
    """The run to sweep.

    Raises:
        MissingError: If there is no such run.
        InputError: If it is open, or a sweep itself.
    """
    plan = load_plan(store, run_id)
    if plan.is_sweep:
        msg = f"run {run_id} is a sweep of {plan.source}: sweep that run"
        raise InputError(msg)
    manifest = manifest_of(store, plan)
    if manifest is None:
        msg = f"run {run_id} is open: resume it first, then its trials can be swept"
        raise InputError(msg)
    return Source(plan=plan, manifest=manifest, trials=StoredTrials(store, manifest))


def wanted_evaluators(suite: Suite, asked: Sequence[str]) -> tuple[str, ...]:
    """The judges of a sweep by name, in the order asked for.

    Raises:
        InputError: If the suite plans no such evaluator.
    """
    known = tuple(dict.fromkeys(name for case in suite.cases for name in evaluators_of(suite, case)))
    for name in asked:
        if name not in known:
            msg = f"--evaluator {name}: no case of suite {suite.suite!r} plans it{did_you_mean(name, known)}"
            raise InputError(msg)
    return tuple(dict.fromkeys(asked))


def label(evaluator: str, judge: str, repeat: int, *, judges: int, repeats: int) -> str:
    """A planned name that tells evaluator, judge and repeat apart, as short as it can be."""
    of_judge = f"{evaluator} @ {judge}" if judges > 1 else evaluator
    return f"{of_judge} #{repeat + 1}" if repeats > 1 else of_judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The stored trials that a sweep judges, and those that it cannot."""

    cases: tuple[tuple[Case, tuple[int, ...]], ...]
    """In suite order, with trial numbers."""
    left_out: Mapping[str, int]
    """Why trials are left out -> how many."""


def choose(suite: Suite, source: Source) -> Chosen:
    """The trials of a run that can be judged by the suite as it is today.

    Args:
        suite: Filtered: only its cases are meant.
        source: The run.

    Raises:
        InputError: If none is left.
    """
    left: dict[str, int] = defaultdict(int)
    numbers: dict[str, list[int]] = defaultdict(list)
    hashes = {case.id: case_hash(case) for case in suite.cases}
    for (case_id, number), row in source.trials.index.items():
        if case_id not in hashes:
            left["not chosen, or no longer in the suite"] += 1
        elif row["case_hash"] != hashes[case_id]:
            left["the case was edited since"] += 1
        elif Ending(row["ending"]) not in _JUDGEABLE:
            left[f"ended as {row['ending']}"] += 1
        else:
            numbers[case_id].append(number)
    cases = tuple((case, tuple(sorted(numbers[case.id]))) for case in suite.cases if numbers[case.id])
    if not cases:
        why = ", ".join(f"{count} {reason}" for reason, count in left.items()) or "it has no trials"
        msg = f"run {source.plan.run_id}: no trial to judge ({why})"
        raise InputError(msg)
    return Chosen(cases=cases, left_out=dict(left))


def sweep_plan(
    suite: Suite,
    request: RunRequest,
    source: Source,
    chosen: Chosen,
    judged: Mapping[str, tuple[Registered, PlannedEvaluator]],
    *,
    price_table: str,
    now: datetime,
) -> Plan:
    """The plan of a sweep; nothing is stored yet.

    Args:
        suite: As it is today.
        request: What was asked for.
        source: The judged run.
        chosen: Its trials.
        judged: Evaluators by planned name.
        price_table: Version of the price table.
        now: The sweep's start.
    """
    started = now.astimezone(UTC)
    before = {case.case_id: case for case in source.plan.cases}
    cases = []
    for case, numbers in chosen.cases:
        asked = set(evaluators_of(suite, case))
        names = tuple(name for name, (_, planned) in judged.items() if planned.evaluator in asked)
        if names:
            old = before[case.id]
            cases.append(
                replace(old, trials=len(numbers), numbers=numbers, evaluators=names, expected_loads=())
            )
    planned_names = {name for case in cases for name in case.evaluators}
    base = source.plan
    return replace(
        base,
        run_id=checked_id(
            request.run_id or new_run_id(f"{suite.suite}-sweep", started, secrets.token_hex(3))
        ),
        date=utc_date(started).isoformat(),
        started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        run_kind=SWEEP,
        trigger=request.trigger,
        judge=", ".join(request.judges) or suite.judge,
        evaluators=tuple(planned for name, (_, planned) in judged.items() if name in planned_names),
        cases=tuple(cases),
        budget_nanousd=request.budget_nanousd(None),
        allow_unpriced=request.allow_unpriced,
        parent=base.run_id,
        source=base.run_id,
        sweep={name: _plain(getattr(request, name)) for name in _ASKED} | {"left_out": dict(chosen.left_out)},
        filters={},
        price_table=price_table,
        nightgate=VERSION,
        warnings=(),
        expected_calls={},
    )


_ASKED = ("judges", "evaluators", "repeat", "batch", "case", "tag", "layer", "stage")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def taken_up(stored: Plan, request: RunRequest) -> RunRequest:
    """The request under which a sweep is resumed: what its first start asked for is kept."""
    asked: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in stored.sweep.items() if k in _ASKED
    }
    return replace(
        request, run_id=stored.run_id, sweep=stored.source, budget_usd=kept_cap(stored, request), **asked
    )


def planned_evaluator(
    suite: Suite, name: str, registered: Registered, judge: str, repeat: int, planned_name: str
) -> PlannedEvaluator:
    """An evaluator of a sweep."""
    return PlannedEvaluator(
        name=planned_name,
        version=registered.facts.version,
        kind=registered.facts.kind,
        threshold=threshold_of(suite, name, registered.facts.kind),
        min_coverage=suite.gate.min_coverage,
        judge_model=judge,
        judge_fingerprint=registered.facts.fingerprint,
        base=name,
        repeat=repeat,
    )


def known_findings(store: Store, plan: Plan, source: Source) -> list[Cell]:
    """Findings that need not be paid for again, as cells of this sweep.

    Those of the judged run itself and of its committed sweeps count, where trial, evaluator version,
    judge fingerprint and repeat are the same.
    """
    wanted: dict[Key, str] = {}
    for case, number, name in plan.cells():
        planned = plan.evaluator(name)
        wanted[_key(case, number, planned)] = name
    found: dict[Key, Cell] = {}
    for manifest, is_sweep in _earlier(store, source):
        for row in rows_of(store, manifest, keys.SCORES):
            key = (
                row["case_id"],
                row["trial"],
                row["evaluator"],
                row["evaluator_version"],
                row["judge_fingerprint"],
                (row["repeat"] or 0) if is_sweep else 0,
            )
            if key in wanted and key not in found and Status(row["status"]) in _HOLDS:
                cell = cell_from_row(row)
                found[key] = replace(cell, score=replace(cell.score, evaluator=wanted[key]), attempt=1)
    return list(found.values())


def _key(case: PlannedCase, number: int, planned: PlannedEvaluator) -> Key:
    return (
        case.case_id,
        number,
        planned.evaluator,
        planned.version,
        planned.judge_fingerprint,
        planned.repeat,
    )


def _earlier(store: Store, source: Source) -> Iterator[tuple[Manifest, bool]]:
    """The judged run's own commit, then its sweeps', oldest first."""
    yield source.manifest, False
    for entry in reversed(runs_of(store, source.plan.suite)):
        if entry["run_kind"] != SWEEP or not entry["complete"]:
            continue
        plan = load_plan(store, entry["run_id"])
        manifest = manifest_of(store, plan) if plan.source == source.plan.run_id else None
        if manifest is not None:
            yield manifest, True


def named(reasons: Mapping[str, int]) -> Iterable[str]:
    """Why trials are left out, a line each."""
    for reason, count in list(reasons.items())[:_NAMED]:
        yield f"{count} trials left out: {reason}"
