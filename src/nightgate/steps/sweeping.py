"""A judge sweep: stored trials judged again, by other judges or more than once. No agent is called.

Owns the sweep's plan, and which findings of earlier sweeps still hold. A sweep is a run of kind
``sweep``: planned, staged, committed and resumed like any other, with the judged run as its source. Its
rows stand beside that run's own and never replace them. Knows no adapter.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from nightgate.cases import (
    Suite,
    asked_hash,
    case_hash,
    criterion_hashes,
    evaluators_of,
    questions_of,
    threshold_of,
)
from nightgate.cases.problems import did_you_mean
from nightgate.errors import InputError
from nightgate.evaluators.registry import Registered
from nightgate.plans import SWEEP, Plan, PlannedCase, PlannedEvaluator, new_run_id, utc_date
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.rows import keys
from nightgate.rows.facts import cell_from_row
from nightgate.rows.keys import checked_id
from nightgate.rows.manifests import Manifest
from nightgate.scores import Cell, Status
from nightgate.steps.choosing import Chosen, Source
from nightgate.steps.planning import kept_cap
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.reusing import same_config, same_question
from nightgate.steps.trials import StoredTrials
from nightgate.version import VERSION

_HOLDS = frozenset({Status.PASS, Status.FAIL, Status.MEASURED, Status.NOT_APPLICABLE})
_NAMED = 5

Key = tuple[str, int, str, int, str | None, int]
"""Case id, trial, evaluator, its version, judge fingerprint, repeat: what a finding is known by."""


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
    known = known_evaluators(suite)
    for name in asked:
        if name not in known:
            msg = f"--evaluator {name}: no case of suite {suite.suite!r} plans it{did_you_mean(name, known)}"
            raise InputError(msg)
    return tuple(dict.fromkeys(asked))


def known_evaluators(suite: Suite) -> tuple[str, ...]:
    """All evaluators that some case plans."""
    return tuple(dict.fromkeys(name for case in suite.cases for name in evaluators_of(suite, case)))


def label(evaluator: str, judge: str, repeat: int, *, judges: int, repeats: int) -> str:
    """A planned name that tells evaluator, judge and repeat apart, as short as it can be."""
    of_judge = f"{evaluator} @ {judge}" if judges > 1 else evaluator
    return f"{of_judge} #{repeat + 1}" if repeats > 1 else of_judge


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
    cases = _swept_cases(suite, source, chosen, judged)
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
        judge=", ".join(request.judges) or suite.judge_text,
        panel={},
        evaluators=tuple(planned for name, (_, planned) in judged.items() if name in planned_names),
        cases=cases,
        budget_nanousd=request.budget_nanousd(None),
        allow_unpriced=request.allow_unpriced,
        parent=base.run_id,
        source=base.run_id,
        sweep=what_is_asked(request) | {"left_out": dict(chosen.left_out)},
        filters={},
        price_table=price_table,
        nightgate=VERSION,
        warnings=(),
        expected_calls={},
    )


def _swept_cases(
    suite: Suite,
    source: Source,
    chosen: Chosen,
    judged: Mapping[str, tuple[Registered, PlannedEvaluator]],
) -> tuple[PlannedCase, ...]:
    """The chosen cases as the source planned them, with today's questions and the columns that ask them."""
    before = {case.case_id: case for case in source.plan.cases}
    cases = []
    for case, numbers in chosen.cases:
        asked = set(evaluators_of(suite, case))
        names = tuple(name for name, (_, planned) in judged.items() if planned.evaluator in asked)
        if names:
            cases.append(
                replace(
                    before[case.id],
                    case_hash=case_hash(case),
                    asked=asked_hash(case),
                    questions=questions_of(suite, case, asked),
                    criteria=criterion_hashes(case, asked),
                    trials=len(numbers),
                    numbers=numbers,
                    evaluators=names,
                    expected_loads=(),
                )
            )
    return tuple(cases)


_ASKED = (
    "judges", "panel", "evaluators", "repeat", "batch", "case", "tag", "layer", "stage", "status", "of",
    "sweep_id",
)  # fmt: skip


def what_is_asked(request: RunRequest) -> dict[str, Any]:
    """What a sweep was asked for, as its plan keeps it: plain JSON."""
    values = {name: getattr(request, name) for name in _ASKED}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def as_asked(request: RunRequest, kept: Mapping[str, Any]) -> RunRequest:
    """A request with what ``what_is_asked`` kept of an earlier one."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in kept.items()
        if name in _ASKED
    }
    return replace(request, **values)


def taken_up(stored: Plan, request: RunRequest) -> RunRequest:
    """The request under which a sweep is resumed: what its first start asked for is kept.

    Raises:
        InputError: If it is a part of a sweep over several runs, which share a cap, and is meant alone.
    """
    whole = stored.sweep.get("sweep_id")
    if whole is not None and request.sweep_id != whole:
        msg = f"run {stored.run_id} is a part of sweep {whole}: `nightgate sweep --resume {whole}`"
        raise InputError(msg)
    return replace(
        as_asked(request, stored.sweep),
        run_id=stored.run_id,
        sweep=stored.source,
        budget_usd=kept_cap(stored, request),
        allow_unpriced=request.allow_unpriced or stored.allow_unpriced,
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
        config=registered.facts.config,
        base=name,
        repeat=repeat,
    )


def known_findings(store: Store, plan: Plan, source: Source) -> list[Cell]:
    """Findings that need not be paid for again, as cells of this sweep.

    Those of the judged run itself and of its committed sweeps count, where trial, evaluator version,
    judge fingerprint, configuration, repeat and what the evaluator asks of the case are the same.
    """
    wanted: dict[Key, str] = {}
    columns = {planned.name: planned for planned in plan.evaluators}
    for case, number, name in plan.cells():
        wanted[_key(case, number, columns[name])] = name
    found: dict[Key, Cell] = {}
    now = {case.case_id: case for case in plan.cases}
    for manifest, is_sweep in _earlier(store, source):
        before = load_plan(store, manifest.run_id)
        then = {case.case_id: case for case in before.cases}
        planned_then = {(e.evaluator, e.judge_fingerprint): e for e in before.evaluators}
        for row in rows_of(store, manifest, keys.SCORES):
            key = (
                row["case_id"],
                row["trial"],
                row["panel"] or row["evaluator"],
                row["evaluator_version"],
                row["judge_fingerprint"],
                (row["repeat"] or 0) if is_sweep else 0,
            )
            if key not in wanted or key in found or Status(row["status"]) not in _HOLDS:
                continue
            earlier = planned_then.get((key[2], row["judge_fingerprint"]))
            if earlier is None or not same_config(columns[wanted[key]], earlier):
                continue
            if same_question(now[row["case_id"]], then[row["case_id"]], key[2]):
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
    sweeps = source.sweeps
    if sweeps is None:
        sweeps = sweeps_by_source(store, source.plan.suite).get(source.plan.run_id, ())
    for manifest in sweeps:
        yield manifest, True


def sweeps_by_source(store: Store, suite: str) -> dict[str, list[Manifest]]:
    """The committed sweeps of a suite's runs, by the run that they judged, oldest first."""
    found: dict[str, list[Manifest]] = {}
    for key in store.find(keys.manifest_prefix(suite)):
        if keys.parse_manifest_key(key) is None:
            continue
        manifest = Manifest.from_json(store.read(key))
        judged = manifest.facts.get("source")
        if manifest.run_kind == SWEEP and judged is not None:
            found.setdefault(judged, []).append(manifest)
    for manifests in found.values():
        manifests.sort(key=lambda manifest: (str(manifest.started_at), manifest.run_id))
    return found


def named(reasons: Mapping[str, int]) -> Iterable[str]:
    """Why trials are left out, a line each."""
    for reason, count in list(reasons.items())[:_NAMED]:
        yield f"{count} trials left out: {reason}"
