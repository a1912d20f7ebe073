"""Nights in a store without playing any: plan, summaries and manifest as a finished run leaves them.

Reruns also have their trials, because only these say what was played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from makers import a_case, a_plan, a_planned, a_planned_case
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.rows.parts import encode_part, encode_parts
from nightgate.rows.schemas import SUMMARIES, TRIALS
from nightgate.rows.tables import summaries_table, trials_table
from nightgate.steps.planning import store_plan

FIRST = datetime(2026, 11, 1, 22, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of a case and evaluator; what is planned and in none of them ended in an error."""

    passed: int
    failed: int
    planned: int
    curtailed: int = 0
    unpaid: int = 0
    """Skipped because the budget was used up."""


def at(night: int) -> datetime:
    """The scheduled start of the nth night, from 0."""
    return FIRST + timedelta(days=night)


def a_night_id(night: int) -> str:
    """Its run id."""
    return f"demo-{at(night):%Y%m%d}"


def outcomes(results: Mapping[str, str], evaluator: str = "E") -> dict[tuple[str, str], Outcome]:
    """Counts of cases from words: p passed, f failed, e ended in an error.

    >>> outcomes({"a": "ppf"})
    {('a', 'E'): Outcome(passed=2, failed=1, planned=3, curtailed=0, unpaid=0)}
    """
    return {
        (case, evaluator): Outcome(word.count("p"), word.count("f"), len(word))
        for case, word in results.items()
    }


def put_night(
    store: Store,
    night: int,
    found: Mapping[tuple[str, str], Outcome],
    *,
    run_id: str | None = None,
    kind: str = "run",
    parent: str | None = None,
    filters: Mapping[str, Any] | None = None,
    model: str = "scripted:agent",
    hashes: Mapping[str, str] | None = None,
    version: int = 1,
    stages: Mapping[str, str] | None = None,
    judge: str | None = None,
) -> str:
    """Put a committed run; returns its id."""
    started = at(night)
    name = run_id or a_night_id(night)
    plan = _plan(name, started, found, kind, model, hashes or {}, stages or {}, version)
    plan = replace(plan, parent=parent, filters=dict(filters or {}))
    store_plan(store, plan)
    rows = [
        _row(plan, started, case, evaluator, counts, judge) for (case, evaluator), counts in found.items()
    ]
    part = encode_part(summaries_table(rows), SUMMARIES, literals=())
    key = keys.summaries_key(plan.suite, started.date(), name)
    store.create(key, part.data)
    parts = [PartRef(table=keys.SUMMARIES, key=key, rows=part.rows, bytes=len(part.data), sha256=part.sha256)]
    if kind == "rerun":
        parts += _put_trials(store, plan, found)
    manifest = Manifest(
        run_id=name,
        suite=plan.suite,
        date=started.date(),
        run_kind=kind,
        started_at=started,
        schemas={keys.SUMMARIES: SUMMARIES.version, keys.TRIALS: TRIALS.version},
        parts=tuple(parts),
        facts={"model": model, "filters": dict(filters or {}), "parent": parent, "verdict": "pass"},
    )
    store.create(manifest.key, manifest.to_json())
    return name


def _plan(
    run_id: str,
    started: datetime,
    found: Mapping[tuple[str, str], Outcome],
    kind: str,
    model: str,
    hashes: Mapping[str, str],
    stages: Mapping[str, str],
    version: int,
) -> Plan:
    by_case: dict[str, list[str]] = {}
    for case, evaluator in found:
        by_case.setdefault(case, []).append(evaluator)
    cases = [
        replace(
            a_planned_case(
                a_case(case, stage=stages.get(case, "regression")),
                trials=max(1, *(found[case, name].planned for name in names)),
                evaluators=names,
            ),
            case_hash=hashes.get(case, "h"),
        )
        for case, names in by_case.items()
    ]
    names: Sequence[str] = list(dict.fromkeys(name for _, name in found))
    return replace(
        a_plan(*cases),
        run_id=run_id,
        date=started.date().isoformat(),
        started_at=started.isoformat().replace("+00:00", "Z"),
        run_kind=kind,
        model=model,
        evaluators=tuple(a_planned(name, version=version) for name in names),
    )


def _put_trials(store: Store, plan: Plan, found: Mapping[tuple[str, str], Outcome]) -> list[PartRef]:
    """What was left out by every evaluator of a case was not played."""
    played: dict[str, int] = {}
    for (case, _), counts in found.items():
        judged = counts.planned - counts.curtailed - counts.unpaid
        played[case] = max(played.get(case, 0), judged)
    started = datetime.fromisoformat(plan.started_at)
    rows = [
        {
            "run_id": plan.run_id,
            "suite": plan.suite,
            "date": started.date(),
            "case_id": case.case_id,
            "case_hash": case.case_hash,
            "trial": trial,
            "ending": "completed" if trial < played[case.case_id] else "not_run",
            "agent_model": plan.model,
            "agent_fingerprint": "g",
            "attempt": 1,
            "run_kind": plan.run_kind,
        }
        for case, trial in plan.trials()
    ]
    refs = []
    for part in encode_parts(trials_table(rows), TRIALS):
        key = keys.part_key(keys.TRIALS, plan.suite, started.date(), plan.run_id, part.name)
        store.create(key, part.data)
        refs.append(
            PartRef(table=keys.TRIALS, key=key, rows=part.rows, bytes=len(part.data), sha256=part.sha256)
        )
    return refs


def _row(
    plan: Plan, started: datetime, case: str, evaluator: str, counts: Outcome, judge: str | None
) -> dict[str, Any]:
    planned = next(each for each in plan.cases if each.case_id == case)
    return {
        "run_id": plan.run_id,
        "suite": plan.suite,
        "date": date.fromisoformat(plan.date),
        "case_id": case,
        "case_hash": planned.case_hash,
        "layer": planned.layer,
        "stage": planned.stage,
        "blocking": False,
        "evaluator": evaluator,
        "evaluator_version": plan.evaluator(evaluator).version,
        "threshold": "1.0",
        "judge_fingerprint": judge,
        "agent_model": plan.model,
        "agent_fingerprint": "g",
        "planned": counts.planned,
        "passed": counts.passed,
        "failed": counts.failed,
        "measured": 0,
        "not_applicable": 0,
        "not_applicable_allowed": 0,
        "not_applicable_required": 0,
        "error": counts.planned - counts.passed - counts.failed - counts.curtailed - counts.unpaid,
        "skipped": counts.curtailed + counts.unpaid,
        "curtailed": counts.curtailed,
        "score_count": 0,
        "run_kind": plan.run_kind,
        "trigger": plan.trigger,
        "started_at": started,
    }
