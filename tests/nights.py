"""Nights of a suite in a store, as alerts look at them: a plan and documents, no rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from makers import a_case, a_plan, a_planned_case
from nightgate.plans import Plan
from nightgate.ports import AlertChannel, Store
from nightgate.rows.keys import manifest_key, plan_key, run_key, summary_key
from nightgate.rows.manifests import Manifest
from nightgate.steps.alerting import Telling, alert
from nightgate.steps.delivering import Patience
from nightgate.testing import FixedClock
from rundocs import a_row, a_summary, an_evaluator

SUITE = "support"
FIRST = datetime(2026, 11, 1, 2, 0, tzinfo=UTC)
AT_ONCE = Telling(patience=Patience(sleep=lambda _: None))
"""Retries without a wait."""


def moment(number: int) -> datetime:
    """The scheduled start of a night, from 1."""
    return FIRST + timedelta(days=number - 1)


def a_night_plan(number: int, **more: Any) -> Plan:
    """The plan of a night, from 1."""
    start = moment(number)
    values: dict[str, Any] = {
        "run_id": f"night-{number}",
        "suite": SUITE,
        "owner": "support-team",
        "date": f"{start:%Y-%m-%d}",
        "started_at": start.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "trigger": "schedule",
        "suite_path": "cases/support",
        "alerts": ("default",),
    }
    return replace(a_plan(a_planned_case(a_case("late"))), **values | more)


def put_night(
    store: Store,
    number: int,
    summary: Mapping[str, Any] | None = None,
    *,
    flakiness: Mapping[str, Any] | None = None,
    canary: Mapping[str, Any] | None = None,
    **plan: Any,
) -> str:
    """Store a night and return its run id; without a summary a green one is stored."""
    planned = a_night_plan(number, **plan)
    run_id = planned.run_id
    store.replace(plan_key(run_id), planned.to_json())
    document = dict(summary) if summary is not None else green()
    put(store, summary_key(run_id), {**document, "run_id": run_id, "suite": planned.suite})
    for name, told in (("flakiness.json", flakiness), ("canary.json", canary)):
        if told is not None:
            put(store, run_key(run_id, name), told)
    return run_id


def put(store: Store, key: str, document: Mapping[str, Any]) -> None:
    """Store a document."""
    store.replace(key, json.dumps(document).encode())


def commit(store: Store, number: int, **more: Any) -> None:
    """The manifest of a night that has no rows."""
    start = moment(number)
    values: dict[str, Any] = {
        "run_id": f"night-{number}",
        "suite": SUITE,
        "date": start.date(),
        "run_kind": "run",
        "started_at": start,
        "schemas": {},
        "parts": (),
    }
    manifest = Manifest(**values | more)
    store.create(manifest_key(manifest.suite, manifest.date, manifest.run_id), manifest.to_json())


def tell(store: Store, run_id: str, *channels: AlertChannel, at: datetime | None = None) -> dict[str, Any]:
    """``alert`` with a clock that stands at ``at``, else a little after the first night."""
    return alert(store, run_id, channels, FixedClock(at or FIRST + timedelta(minutes=5)), AT_ONCE)


def green(**more: Any) -> dict[str, Any]:
    """The summary of a night on which all passed."""
    return a_summary(a_row(), **more)


def red(*failed: str, evaluator: str = "ToolPolicy", **more: Any) -> dict[str, Any]:
    """The summary of a night on which an evaluator failed the gate."""
    cases = list(failed or ("late",))
    text = f"{evaluator}: 71% < 100%, failed [{', '.join(cases)}]"
    values: dict[str, Any] = {
        "verdict": "fail",
        "code": 1,
        "evaluators": [an_evaluator(evaluator, "fail", failed_cases=cases)],
        "findings": [{"evaluator": evaluator, "text": text}],
    }
    return a_summary(*(a_row(case, passed=0, failed=1) for case in cases), **values | more)


def flakiness(
    *,
    broken: Sequence[str] = (),
    still: Sequence[str] = (),
    fixed: Sequence[str] = (),
    suspects: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """What the history says of a night; cases by name, all under ToolPolicy."""
    values: dict[str, Any] = {
        "schema": 1,
        "event": None,
        "newly_broken": [_state(case) for case in broken],
        "newly_fixed": [_state(case) for case in fixed],
        "still_broken": [_state(case) | {"since_date": f"{FIRST:%Y-%m-%d}"} for case in still],
        "suspects": [_state(case) for case in suspects],
        "cleared": [],
        "flaky": [],
        "quarantined": [],
        "gate_explained": False,
    }
    return values | more


def canary(*, alarm: bool = False, passed: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """What the frozen trials say of the judges of a night."""
    attacks = [{"case": case, "evaluator": "Criterion:x", "attack": "ignore the rubric"} for case in passed]
    values: dict[str, Any] = {
        "schema": 1,
        "judged": 100,
        "flips": 6 if alarm else 0,
        "alarm": alarm or bool(passed),
        "drift": alarm,
        "complete": True,
        "direction": "stricter" if alarm else None,
        "text": "6 of 100 frozen judgements flipped, 6 to fail",
        "attacks": {"planted": 3, "judged": 3, "passed": attacks},
    }
    return values | more


def _state(case: str) -> dict[str, Any]:
    return {
        "case": case,
        "evaluator": "ToolPolicy",
        "failed": 3,
        "judged": 3,
        "base_rate": 0.02,
        "since_run": None,
        "since_date": None,
    }
