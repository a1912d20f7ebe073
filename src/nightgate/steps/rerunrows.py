"""What a night's reruns played and what that cost, out of their stored rows.

Owns the reading of two tables; decides nothing.
"""

from __future__ import annotations

from collections import Counter

from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest
from nightgate.steps.reading import rows_of
from nightgate.trials import Ending


def played_by_case(store: Store, rerun: Manifest) -> Counter[str]:
    """Trials that were played, whatever came of them: those left out or unpaid for are rows, too."""
    endings = rows_of(store, rerun, keys.TRIALS, ("case_id", "ending"))
    return Counter(row["case_id"] for row in endings if row["ending"] != Ending.NOT_RUN)


def costs_of(store: Store, rerun: Manifest) -> dict[tuple[str, str | None], int | None]:
    """Nano-dollars of the reruns by case and, of judges' calls, evaluator; None where a part is unknown."""
    costs: dict[tuple[str, str | None], int | None] = {}
    for row in rows_of(store, rerun, keys.CALLS, ("case_id", "evaluator", "cost_nanousd")):
        key = (row["case_id"], row["evaluator"])
        before, cost = costs.get(key, 0), row["cost_nanousd"]
        costs[key] = None if before is None or cost is None else before + cost
    return costs
