"""What a run would do: trials taken over, trials played, cells judged again, why, and for how much.

Owns the counting, and the document that ``nightgate plan`` prints. It counts as ``--reuse`` would take,
by the same rules (``reusing``). Reads plans and rows that are handed in; calls and stores nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from nightgate.calls import Role
from nightgate.estimates import ASSUMED
from nightgate.histories import TOKEN_KINDS, Bill, History, Line, Task
from nightgate.plans import Plan, PlannedCase
from nightgate.steps.changes import NOTHING_STORED, Changes, Kind, Row, Why

FORECAST_SCHEMA = 1
CASES_NAMED = 5
"""Cases named beside a reason."""
TRIAL_COLUMNS = ("case_id", "trial", "case_hash", "agent_fingerprint", "ending")
SCORE_COLUMNS = ("case_id", "trial", "evaluator", "evaluator_version", "judge_fingerprint", "status")
"""What the comparison reads of a stored run."""
_NANO = 1_000_000_000
_KINDS = list(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A committed run, as far as it decides what need not be done again."""

    plan: Plan
    trials: Mapping[tuple[str, int], Row]
    findings: Mapping[tuple[str, int, str], Row]

    @classmethod
    def of_rows(cls, plan: Plan, trials: Iterable[Row], scores: Iterable[Row]) -> Before:
        """From the run's rows, with at least ``TRIAL_COLUMNS`` and ``SCORE_COLUMNS``."""
        return cls(
            plan=plan,
            trials={(row["case_id"], row["trial"]): row for row in trials},
            findings={(row["case_id"], row["trial"], row["evaluator"]): row for row in scores},
        )


@dataclass(slots=True)
class Group:
    """A reason with what it holds for."""

    of: str
    """``trials`` or ``cells``."""
    why: Why
    count: int = 0
    cases: dict[str, None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Its entry in the document."""
        return {
            "of": self.of,
            "kind": self.why.kind.value,
            "text": self.why.text,
            "count": self.count,
            "cases": list(self.cases)[:CASES_NAMED],
            "case_count": len(self.cases),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What a plan takes over, and what is left to do."""

    trials: Mapping[str, int]
    """``planned``, ``reused``, ``run``."""
    cells: Mapping[str, int]
    """``planned``, ``reused``, ``rejudged``, ``judged``."""
    reasons: tuple[Group, ...]
    work: Counter[Task]
    """What calls will be made for."""


def compare(plan: Plan, before: Before | None, talks: Collection[str]) -> Needed:
    """Hold a plan against a stored run.

    Args:
        plan: What would run.
        before: The run that is taken from; None: there is none.
        talks: Ids of the cases that are conversations.
    """
    comparison = _Comparison(plan, before, talks)
    for case, number in plan.trials():
        comparison.add(case, number)
    counts, groups = comparison.counts, comparison.groups.values()
    return Needed(
        trials={"planned": plan.trial_count, "reused": counts["reused"], "run": counts["run"]},
        cells={
            "planned": plan.cell_count,
            **{name: counts[f"cells {name}"] for name in ("reused", "rejudged", "judged")},
        },
        reasons=tuple(sorted(groups, key=lambda g: (g.of != "trials", _KINDS.index(g.why.kind), -g.count))),
        work=+comparison.work,
    )


class _Comparison:
    """Counts trial by trial."""

    def __init__(self, plan: Plan, before: Before | None, talks: Collection[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.groups: dict[tuple[str, Why], Group] = {}
        self.work: Counter[Task] = Counter()
        self._before, self._talks = before, talks
        self._changes = None if before is None else Changes(plan, before.plan, talks)
        self._evaluators = {evaluator.name: evaluator for evaluator in plan.evaluators}

    def add(self, case: PlannedCase, number: int) -> None:
        """Count a planned trial and its cells."""
        reasons = self._reasons(case, number)
        self.counts["run" if reasons else "reused"] += 1
        for why in reasons:
            self._note("trials", why, case.case_id)
        if reasons:
            self.work[Task(Role.AGENT, case.case_id)] += 1
            self.work[Task(Role.USER, case.case_id)] += case.case_id in self._talks
        for name in case.evaluators:
            again = None if reasons else self._again(case, number, name)
            if again is not None:
                self._note("cells", again, case.case_id)
            self.counts["cells judged" if reasons else "cells rejudged" if again else "cells reused"] += 1
            if (reasons or again is not None) and self._evaluators[name].asks:
                self.work[Task(Role.JUDGE, case.case_id, name)] += 1

    def _reasons(self, case: PlannedCase, number: int) -> tuple[Why, ...]:
        if self._changes is None or self._before is None:
            return (NOTHING_STORED,)
        return self._changes.of_trial(case, number, self._before.trials.get((case.case_id, number)))

    def _again(self, case: PlannedCase, number: int, name: str) -> Why | None:
        if self._changes is None or self._before is None:
            return NOTHING_STORED
        row = self._before.findings.get((case.case_id, number, name))
        return self._changes.of_finding(case, self._evaluators[name], row)

    def _note(self, of: str, why: Why, case_id: str) -> None:
        group = self.groups.setdefault((of, why), Group(of, why))
        group.count += 1
        group.cases[case_id] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a run would do and cost."""

    plan: Plan
    against: str | None
    needed: Needed
    bill: Bill
    history: History
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The document of ``--json``; docs/operations.md describes it."""
        plan, lines = self.plan, self.bill.lines
        cap = plan.budget_nanousd
        return {
            "schema": FORECAST_SCHEMA,
            "suite": plan.suite,
            "against": self.against,
            "model": plan.model,
            "judge": plan.judge if any(e.kind == "judge" for e in plan.evaluators) else None,
            "user": plan.user if Role.USER in self.bill.prices else None,
            "price_table": plan.price_table,
            "trials": dict(self.needed.trials),
            "cells": dict(self.needed.cells),
            "reasons": [group.as_dict() for group in self.needed.reasons],
            "cost_usd": {**{role.value: self._role(role) for role in Role}, "total": self._total()},
            "budget_usd": None if cap is None else cap / _NANO,
            "assumptions": [self._assumption(line) for line in lines],
            "assumed": dict(ASSUMED) if any(line.guessed for line in lines) else {},
            "warnings": list(self.warnings),
        }

    def _role(self, role: Role) -> dict[str, Any]:
        lines = self.bill.of(role)
        sources = dict.fromkeys(line.price.source for line in lines if line.price and line.price.source)
        factor = self.bill.batch_factor(role)
        batch = _batch(lines) if lines or factor is None else Fraction(0)
        known = all(line.known for line in lines)
        at_least = sum((line.nanousd for line in lines), Fraction(0))
        return {
            "calls": _rounded(sum((line.calls for line in lines), Fraction(0))),
            "tokens": _tokens(lines),
            "list": _usd(at_least) if known else None,
            "at_least": _usd(at_least),
            "batch": _usd(batch) if known and batch is not None else None,
            "batch_factor": None if factor is None else float(factor),
            "price_source": "; ".join(sources) or None,
        }

    def _total(self) -> dict[str, Any]:
        """All roles; at batch price where the provider has one, else at list price."""
        known = all(line.known for line in self.bill.lines)
        at_least = sum((line.nanousd for line in self.bill.lines), Fraction(0))
        batch = sum(
            (line.nanousd if line.batch_factor is None else line.batch_nanousd for line in self.bill.lines),
            Fraction(0),
        )
        has_batch = any(line.batch_factor is not None for line in self.bill.lines)
        return {
            "calls": _rounded(sum((line.calls for line in self.bill.lines), Fraction(0))),
            "list": _usd(at_least) if known else None,
            "at_least": _usd(at_least),
            "batch": _usd(batch) if known and has_batch else None,
        }

    def _assumption(self, line: Line) -> dict[str, Any]:
        runs = {} if line.guessed == line.tasks else dict(self.history.runs(line.role))
        return {
            "role": line.role.value,
            "evaluator": line.evaluator,
            "tasks": line.tasks,
            "guessed": line.guessed,
            "observed": line.observed,
            "runs": [{"run_id": run_id, "model": model} for run_id, model in runs.items()],
            "calls_each": _rounded(line.calls / line.tasks),
            "tokens_a_call": {
                kind: _rounded(count / line.calls) if line.calls else 0.0
                for kind, count in line.tokens.items()
            },
        }


def _batch(lines: Sequence[Line]) -> Fraction | None:
    """Through the providers' queues; None where one of them has none."""
    if not lines or any(line.batch_factor is None for line in lines):
        return None
    return sum((line.batch_nanousd for line in lines), Fraction(0))


def _tokens(lines: Iterable[Line]) -> dict[str, int]:
    total = dict.fromkeys(TOKEN_KINDS, Fraction(0))
    for line in lines:
        for kind, count in line.tokens.items():
            total[kind] += count
    return {kind: round(count) for kind, count in total.items()}


def _rounded(value: Fraction) -> float:
    return round(float(value), 2)


def _usd(nanousd: Fraction) -> float:
    return round(nanousd) / _NANO


def money_warnings(plan: Plan, bill: Bill, *, refusing: bool) -> list[str]:
    """What a run of this plan would do because of its cap.

    Args:
        plan: With its cap.
        bill: As expected.
        refusing: Whether the run refuses unknown prices under a cap.
    """
    cap = plan.budget_nanousd
    if cap is None:
        return []
    at_least = sum((line.nanousd for line in bill.lines), Fraction(0))
    found = []
    if at_least > cap:
        found.append(f"the budget of ${cap / _NANO:.2f} would stop the run: it is expected to cost more")
    unpriced = dict.fromkeys(line.role.value for line in bill.lines if line.price is None)
    if unpriced and refusing:
        found.append(
            f"the run has a budget and would refuse the {' and the '.join(unpriced)} model, whose price is "
            "unknown: add it with --prices FILE, or pass --allow-unpriced"
        )
    return found
