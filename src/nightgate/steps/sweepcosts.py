"""What a judge sweep would judge and cost, before it is begun.

Owns the forecast: tokens as in the judged run's own judge calls where it made any, else a guess from
the length of texts. Makes no call and stores nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nightgate.calls import Role
from nightgate.cases import Case, Suite
from nightgate.estimates import NANO, judge_call
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.prices import PriceTable, cost_nanousd
from nightgate.rows import keys
from nightgate.scores import Cell
from nightgate.steps.reading import rows_of
from nightgate.steps.sweeping import Source
from nightgate.trials import Usage


def spent_on_judging(store: Store, source: Source) -> dict[str, tuple[int, int, int]]:
    """Judge calls of a run by evaluator: how many answered, input and output tokens."""
    found: dict[str, tuple[int, int, int]] = {}
    for row in rows_of(store, source.manifest, keys.CALLS, ("role", "evaluator", "tokens_in", "tokens_out")):
        if row["role"] == Role.JUDGE.value and row["tokens_in"] is not None:
            calls, read, written = found.get(row["evaluator"], (0, 0, 0))
            found[row["evaluator"]] = (calls + 1, read + row["tokens_in"], written + (row["tokens_out"] or 0))
    return found


def forecast(
    plan: Plan,
    suite: Suite,
    known: Sequence[Cell],
    prices: PriceTable,
    spent: Mapping[str, tuple[int, int, int]],
) -> dict[str, Any]:
    """What a sweep would judge and cost.

    Args:
        plan: The sweep's.
        suite: For the length of the questions, where nothing was ever spent.
        known: Findings that still hold.
        prices: The table.
        spent: Tokens of the source's own judge calls, by evaluator.
    """
    inputs = {case.id: case for case in suite.cases}
    have = Counter(cell.score.evaluator for cell in known)
    rows: list[dict[str, Any]] = []
    for planned in plan.evaluators:
        cells = [case for case, _, name in plan.cells() if name == planned.name]
        fresh = len(cells) - have[planned.name]
        usage = _usage(planned, [inputs[case.case_id] for case in cells], spent)
        price = prices.price(planned.judge_model) if planned.judge_model else None
        usd: float | None = 0.0
        if planned.kind == "judge" and not (planned.judge_model or "").startswith("scripted:"):
            usd = None if price is None else cost_nanousd(usage, price) / NANO * fresh / max(1, len(cells))
        rows.append({"name": planned.name, "cells": len(cells), "to_judge": fresh, "usd": usd})
    dollars = [row["usd"] for row in rows]
    from_history = any(planned.evaluator in spent for planned in plan.evaluators)
    return {
        "schema": 1,
        "source": plan.source,
        "trials": plan.trial_count,
        "cells": plan.cell_count,
        "known": len(known),
        "to_judge": plan.cell_count - len(known),
        "evaluators": rows,
        "left_out": dict(plan.sweep["left_out"]),
        "usd": None if None in dollars else sum(dollars),
        "assumption": "tokens as in the run's own judge calls"
        if from_history
        else "a guess from text length",
    }


def _usage(
    planned: PlannedEvaluator, cases: Sequence[Case], spent: Mapping[str, tuple[int, int, int]]
) -> Usage:
    calls, read, written = spent.get(planned.evaluator, (0, 0, 0))
    if calls:
        return Usage(input=read * len(cases) // calls, output=written * len(cases) // calls)
    total = Usage()
    for case in cases:
        total = total + judge_call(case)
    return total
