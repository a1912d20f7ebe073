"""What a night's plan and verdict add to its flakiness: quarantine, and failures that were known.

Owns the id of a night's reruns, who is in quarantine with how many days left, and whether a gate failed by
nothing but cases that were known as flaky or broken before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from datetime import date
from typing import Any

from nightgate.cases.quarantines import fault
from nightgate.errors import MissingError
from nightgate.flakiness import Pair
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys

_MOST_ID = 64
_SUFFIX = "-rerun"


def rerun_id(run_id: str) -> str:
    """The id of a night's reruns: fixed, so that whoever comes back finds them.

    >>> rerun_id("support-20261129t223000-1a2b3c")
    'support-20261129t223000-1a2b3c-rerun'
    """
    if len(run_id) + len(_SUFFIX) <= _MOST_ID:
        return run_id + _SUFFIX
    digest = hashlib.sha256(run_id.encode()).hexdigest()[:8]
    return f"{run_id[: _MOST_ID - len(_SUFFIX) - 9]}-{digest}{_SUFFIX}"


def quarantined(plan: Plan) -> list[dict[str, Any]]:
    """Cases in quarantine on the night of the plan, those whose day has passed included.

    ``expired`` says that it does not hold; ``fault`` why, where its day has not passed.
    """
    day = date.fromisoformat(plan.date)
    return [
        {
            "case": case.case_id,
            "owner": case.quarantine["owner"],
            "reason": case.quarantine["reason"],
            "until": case.quarantine["until"],
            "days_left": (left := (date.fromisoformat(case.quarantine["until"]) - day).days),
            "expired": not case.quarantined,
            "fault": fault(left) if left >= 0 and not case.quarantined else None,
        }
        for case in plan.cases
        if case.quarantine is not None
    ]


def explained(store: Store, plan: Plan, known: Collection[Pair]) -> bool:
    """Whether the gate failed, and every failed cell behind that was known as flaky or broken before."""
    try:
        summary = json.loads(store.read(keys.summary_key(plan.run_id)))
    except MissingError:
        return False
    if summary.get("verdict") != "fail":
        return False
    failing = [e for e in summary["evaluators"] if e["verdict"] == "fail"]
    cells = [(case, e["name"]) for e in failing for case in e["failed_cases"]]
    return bool(cells) and all(cell in known for cell in cells)
