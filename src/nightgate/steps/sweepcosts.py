"""What a judge sweep would judge and cost, before it is begun.

Owns the forecast: tokens of a judgement as in earlier judgements of the same trials, the run's own and
its sweeps', or as a script has them, else a guess from the length of texts. Each judgement is priced for
itself: many short ones are not one long prompt. Makes no call and stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from nightgate.calls import Role, Scope
from nightgate.cases import Case, Suite
from nightgate.estimates import judge_call
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.prices import FREE, NANO, Price, PriceTable, list_and_batch_nanousd
from nightgate.rows import keys
from nightgate.scores import Cell
from nightgate.steps.choosing import Source
from nightgate.steps.reading import rows_of
from nightgate.steps.sweeping import sweeps_by_source
from nightgate.trials import Usage

_TOKENS = {
    "input": "tokens_in",
    "output": "tokens_out",
    "cache_read": "tokens_cache_read",
    "cache_write": "tokens_cache_write",
    "cache_write_1h": "tokens_cache_write_1h",
}
Scripted = Callable[[str, Scope], tuple[Price | None, Usage | None]]
"""What a script asks for a call of a scope, and the tokens that it will tell; None where it depends on
what the judge is shown."""
_COLUMNS = ("case_id", "evaluator", "judge_model", "panel", *_TOKENS.values())


@dataclass(slots=True)
class Spent:
    """Tokens of judgements that were made before."""

    by_case: dict[tuple[str, str | None, str], list[Usage]] = field(default_factory=dict)
    """(evaluator, judge or None for any, case) -> tokens of each."""
    by_evaluator: dict[tuple[str, str | None], list[Usage]] = field(default_factory=dict)

    def add(self, evaluator: str, judge: str, case_id: str, usage: Usage) -> None:
        """Count one."""
        for who in (judge, None):
            self.by_case.setdefault((evaluator, who, case_id), []).append(usage)
            self.by_evaluator.setdefault((evaluator, who), []).append(usage)

    def of(self, evaluator: str, judge: str, case_id: str) -> Sequence[Usage]:
        """The nearest that is known: the same judge's of the case, then anybody's, then of all cases."""
        for found in (
            self.by_case.get((evaluator, judge, case_id)),
            self.by_evaluator.get((evaluator, judge)),
            self.by_case.get((evaluator, None, case_id)),
            self.by_evaluator.get((evaluator, None)),
        ):
            if found:
                return found
        return ()

    def knows(self, evaluator: str) -> bool:
        """Whether anything is known of an evaluator."""
        return (evaluator, None) in self.by_evaluator


def spent_on_judging(store: Store, source: Source) -> Spent:
    """Tokens of the judgements of a run's trials: by its own judges, and by those of its sweeps.

    A script's tokens are made up, and no judgement that was paid for read none: neither tells anything.
    """
    sweeps = source.sweeps
    if sweeps is None:
        sweeps = sweeps_by_source(store, source.plan.suite).get(source.plan.run_id, ())
    found = Spent()
    for manifest in (source.manifest, *sweeps):
        rows = list(rows_of(store, manifest, keys.SCORES, _COLUMNS))
        # A panel's own row repeats what its members' rows hold.
        panels = {row["panel"] for row in rows if row["panel"] is not None}
        for row in rows:
            judge = row["judge_model"]
            own = row["panel"] is None and row["evaluator"] in panels
            usage = Usage(**{kind: row[column] or 0 for kind, column in _TOKENS.items()})
            if judge and usage.total and not own and not judge.startswith("scripted:"):
                found.add(row["evaluator"], judge, row["case_id"], usage)
    return found


@dataclass(slots=True)
class _Dollars:
    """A sum of expected judgements; None where one of them has no price."""

    listed: Fraction | None = Fraction(0)
    queued: Fraction | None = Fraction(0)
    known: Fraction = Fraction(0)
    """At list price, of what has one."""

    def add(self, listed: Fraction | None, queued: Fraction | None) -> None:
        """One judgement."""
        self.known += listed or 0
        self.listed = None if self.listed is None or listed is None else self.listed + listed
        self.queued = None if self.queued is None or queued is None else self.queued + queued


def _each(usages: Sequence[Usage], price: Price | None) -> tuple[Fraction | None, Fraction | None]:
    """What such a judgement costs in the mean, at list price and by batch."""
    both = [list_and_batch_nanousd(usage, price) for usage in usages]
    listed = _mean(first for first, _ in both)
    # A model on this machine has no queue, and needs none.
    return listed, listed if price is FREE else _mean(second for _, second in both)


def _mean(amounts: Iterable[int | None]) -> Fraction | None:
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return Fraction(sum(known), len(found)) if len(known) == len(found) else None


def forecast(
    plan: Plan,
    suite: Suite,
    known: Sequence[Cell],
    prices: PriceTable,
    spent: Spent,
    scripted: Scripted,
) -> dict[str, Any]:
    """What a sweep would judge and cost, at list price and through the batch queues.

    Args:
        plan: The sweep's.
        suite: For the length of the questions, where nothing was ever spent.
        known: Findings that still hold.
        prices: The table.
        spent: Tokens of earlier judgements of the same trials.
        scripted: For judges that are scripts: a script may have a price.

    Returns:
        The document of ``sweep --dry-run``: ``usd`` and ``usd_batch``, for the whole and for each
        evaluator, are null where a price is unknown or a judge has no queue; ``usd_at_least`` is what of
        the list price is known.
    """
    inputs = {case.id: case for case in suite.cases}
    cells, wanted = _left_to_judge(plan, known)
    rows: list[dict[str, Any]] = []
    at_least = Fraction(0)
    for planned in plan.evaluators:
        # A panel's verdict is made of its members': nobody is asked for it.
        fresh = [] if planned.members else wanted[planned.name]
        if planned.asks and _is_script(planned):
            dollars = _script_dollars(plan, planned, fresh, inputs, scripted)
        else:
            dollars = _dollars(planned, [case_id for case_id, _ in fresh], inputs, prices, spent)
        at_least += dollars.known
        rows.append(
            {
                "name": planned.name,
                "cells": cells[planned.name],
                "to_judge": len(fresh),
                "usd": _usd(dollars.listed),
                "usd_batch": _usd(dollars.queued),
            }
        )
    return {
        "schema": 1,
        "source": plan.source,
        "trials": plan.trial_count,
        "cells": plan.cell_count,
        "known": len(known),
        "to_judge": sum(row["to_judge"] for row in rows),
        "evaluators": rows,
        "left_out": dict(plan.sweep["left_out"]),
        "usd": _total(rows, "usd"),
        "usd_batch": _total(rows, "usd_batch"),
        "usd_at_least": _usd(at_least),
        "assumption": _assumption([planned for planned in plan.evaluators if planned.asks], spent),
    }


def _left_to_judge(
    plan: Plan, known: Sequence[Cell]
) -> tuple[dict[str, int], dict[str, list[tuple[str, int]]]]:
    """By column: how many cells it has, and the trials of those that nobody has judged."""
    have = {(cell.case_id, cell.trial, cell.score.evaluator) for cell in known}
    wanted: dict[str, list[tuple[str, int]]] = {planned.name: [] for planned in plan.evaluators}
    cells = dict.fromkeys(wanted, 0)
    for case, number, name in plan.cells():
        cells[name] += 1
        if (case.case_id, number, name) not in have:
            wanted[name].append((case.case_id, number))
    return cells, wanted


def _dollars(
    planned: PlannedEvaluator,
    fresh: Sequence[str],
    inputs: Mapping[str, Case],
    prices: PriceTable,
    spent: Spent,
) -> _Dollars:
    judge = planned.judge_model or ""
    if not planned.asks:
        return _Dollars()
    price = prices.price(judge) if judge else None
    found = _Dollars(queued=Fraction(0) if price is FREE or (price and price.batch) else None)
    means: dict[int, tuple[Fraction | None, Fraction | None]] = {}
    for case_id in fresh:
        usages = spent.of(planned.evaluator, judge, case_id)
        if usages and id(usages) not in means:  # the mean over all cases is that of many
            means[id(usages)] = _each(usages, price)
        found.add(*(means[id(usages)] if usages else _each((judge_call(inputs[case_id]),), price)))
    return found


def _script_dollars(
    plan: Plan,
    planned: PlannedEvaluator,
    fresh: Sequence[tuple[str, int]],
    inputs: Mapping[str, Case],
    scripted: Scripted,
) -> _Dollars:
    """As the run will book it: nobody queues for a script."""
    found = _Dollars(queued=None)
    for case_id, number in fresh:
        scope = Scope(
            role=Role.JUDGE,
            run_id=plan.run_id,
            suite=plan.suite,
            case_id=case_id,
            trial=number,
            evaluator=planned.evaluator,
            repeat=planned.repeat,
        )
        price, usage = scripted(planned.judge_model or "", scope)
        found.add(_each((usage or judge_call(inputs[case_id]),), price)[0], None)
    return found


def _is_script(planned: PlannedEvaluator) -> bool:
    return (planned.judge_model or "").startswith("scripted:")


def _usd(nanousd: Fraction | None) -> float | None:
    return None if nanousd is None else round(nanousd) / NANO


def _total(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    dollars = [row[name] for row in rows]
    return None if None in dollars else sum(dollars)


def _assumption(asked: Sequence[PlannedEvaluator], spent: Spent) -> str:
    """Where the tokens are from, in words."""
    if asked and all(map(_is_script, asked)):
        return "tokens as the scripts have them"
    asked = [planned for planned in asked if not _is_script(planned)]
    from_history = sum(spent.knows(planned.evaluator) for planned in asked)
    if not from_history:
        return "a guess from text length"
    told = "tokens as in earlier judgements of these trials"
    return (
        told if from_history == len(asked) else f"{told}, and a guess from text length where there are none"
    )
