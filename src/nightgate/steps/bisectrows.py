"""What the probes of a one-factor search left in the store: counts, calls, and what they cost.

Owns the reading of it. What a count means is ``comparisons``'. Knows no adapter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from nightgate.calls import Call
from nightgate.comparisons.bisecting import Shares
from nightgate.comparisons.swaps import Pair
from nightgate.errors import MissingError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import call_from_row
from nightgate.scores import Status
from nightgate.steps.reading import load_plan, manifest_of, rows_of

_COLUMNS = (
    "case_id", "evaluator", "evaluator_version", "judge_fingerprint", "repeat", "panel", "status",
)  # fmt: skip


def calls_of(store: Store, run_ids: Sequence[str]) -> list[Call]:
    """The ledgers of committed runs: what probes before this one cost counts under the same cap."""
    found: list[Call] = []
    for run_id in run_ids:
        manifest = manifest_of(store, load_plan(store, run_id))
        if manifest is not None:
            found += (call_from_row(row) for row in rows_of(store, manifest, keys.CALLS))
    return found


def cost_of(store: Store, run_id: str) -> float | None:
    """What a probe cost in all, in US dollars; None where it has no summary or a price is unknown."""
    try:
        summary = json.loads(store.read(keys.summary_key(run_id)))
    except MissingError:
        return None
    total = summary.get("cost_usd", {}).get("total")
    return None if total is None else float(total)


def swept_counts(store: Store, plan: Plan, pairs: Sequence[Pair], *, repeat: int) -> Shares:
    """The counts of a sweep's own columns; a required finding that did not apply has failed."""
    columns = {
        (planned.evaluator, planned.version, planned.judge_fingerprint)
        for planned in plan.evaluators
        if planned.panel is None and planned.repeat == repeat
    }
    required = {(case.case_id, name) for case in plan.cases for name in case.require}
    counts: dict[Pair, list[int]] = {pair: [0, 0] for pair in pairs}
    manifest = manifest_of(store, plan)
    assert manifest is not None
    for row in rows_of(store, manifest, keys.SCORES, _COLUMNS):
        pair = row["case_id"], row["evaluator"]
        column = (row["evaluator"], row["evaluator_version"], row["judge_fingerprint"])
        if pair not in counts or column not in columns or row["panel"] or (row["repeat"] or 0) != repeat:
            continue
        status = Status(row["status"])
        failed = status is Status.FAIL or (status is Status.NOT_APPLICABLE and pair in required)
        counts[pair][0] += status is Status.PASS
        counts[pair][1] += status is Status.PASS or failed
    return {pair: (passed, decided) for pair, (passed, decided) in counts.items()}
