"""One run as far as it can be compared: what was planned, by whom it was judged, how it came out.

Owns what is counted of a case and evaluator on both sides alike. Reads a plan and counts; knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.summaries import Tallies, Tally


@dataclass(frozen=True, slots=True)
class Counts:
    """The cells of one case and evaluator."""

    planned: int
    covered: int
    """Judged, measured, allowed not to apply, or failed by ``require``."""
    passed: int
    decided: int
    """Passes and what counts as failed: a required finding that did not apply is a failure."""

    @classmethod
    def of(cls, tally: Tally) -> Counts:
        """From a run's tally."""
        return cls(tally.planned, tally.covered, tally.passed, tally.passed + tally.counted_failed)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Counts:
        """From a row of the summaries table."""
        required = row["not_applicable_required"] or 0
        decided = row["passed"] + row["failed"] + required
        return cls(
            row["planned"],
            decided + row["measured"] + row["not_applicable_allowed"],
            row["passed"],
            decided,
        )

    @property
    def mostly_passes(self) -> bool:
        """Whether more than half of what was decided passed."""
        return 2 * self.passed > self.decided

    def pair(self) -> list[int]:
        """``[passed, decided]``, as the documents have it."""
        return [self.passed, self.decided]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two runs."""

    plan: Plan
    cases: Mapping[str, PlannedCase]
    evaluators: Mapping[str, PlannedEvaluator]
    """By name; a panel is one, without its members."""
    counts: Mapping[tuple[str, str], Counts]
    """By case id and evaluator."""

    @classmethod
    def of(cls, plan: Plan, counts: Mapping[tuple[str, str], Counts]) -> Side:
        """A run with its counts."""
        behind = plan.panel_members
        return cls(
            plan=plan,
            cases={case.case_id: case for case in plan.cases},
            evaluators={e.name: e for e in plan.evaluators if e.name not in behind},
            counts=counts,
        )

    @classmethod
    def of_tallies(cls, tallies: Tallies) -> Side:
        """A run that is being decided."""
        behind = tallies.plan.panel_members
        return cls.of(
            tallies.plan,
            {key: Counts.of(found) for key, found in tallies.cells.items() if key[1] not in behind},
        )

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.plan.run_id

    @property
    def filtered(self) -> bool:
        """Whether it was asked for a part of its suite only."""
        return bool(self.plan.filters)

    def gate_evaluators(self) -> tuple[str, ...]:
        """Evaluators that decide at this run's gate, in the order of report."""
        used = {name for case in self.cases.values() if case.gates for name in case.evaluators}
        return tuple(
            name
            for name, planned in self.evaluators.items()
            if planned.threshold is not None and name in used and name not in self.plan.advisory
        )

    def of_evaluator(self, name: str) -> dict[str, Counts]:
        """The counts of an evaluator by case id."""
        return {case_id: found for (case_id, evaluator), found in self.counts.items() if evaluator == name}

    def judged_by(
        self, planned: Mapping[str, PlannedEvaluator], counts: Mapping[tuple[str, str], Counts]
    ) -> Side:
        """The same run with the findings of other judges in the place of its own.

        Args:
            planned: Evaluators by name, with version and judge.
            counts: Theirs; cases that they do not have keep their planned cells, none of them covered.
        """
        kept = {
            key: Counts(found.planned, 0, 0, 0) if key[1] in planned else found
            for key, found in self.counts.items()
        }
        return replace(self, evaluators={**self.evaluators, **planned}, counts={**kept, **counts})
