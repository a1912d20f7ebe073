"""From stored rows to figures: counts for each case and evaluator, and what follows from them.

Owns counting. The one place where statuses become numbers: runs, gates and trends all read
``Tally``. Knows no threshold decision, no store and no terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from nightgate.plans import Plan, PlannedCase
from nightgate.scores import Blame, Status


@dataclass(slots=True)
class Tally:
    """Counts of the cells of one case and evaluator; adds up over cases."""

    planned: int = 0
    passed: int = 0
    failed: int = 0
    measured: int = 0
    not_applicable: int = 0
    allowed: int = 0
    """Not applicable where the case's ``may_skip`` allows it; part of ``not_applicable``."""
    required: int = 0
    """Not applicable where the case's ``require`` makes it a failure; part of ``not_applicable``."""
    error: int = 0
    skipped: int = 0
    curtailed: int = 0
    """Part of ``skipped``."""
    scores: list[float] = field(default_factory=list)
    """Figures of judged and measured cells."""

    def add(self, status: Status, blame: Blame | None, score: float | None) -> None:
        """Count one cell; ``planned`` is counted from the plan, never from what came back."""
        match status:
            case Status.PASS:
                self.passed += 1
            case Status.FAIL:
                self.failed += 1
            case Status.MEASURED:
                self.measured += 1
            case Status.NOT_APPLICABLE:
                self.not_applicable += 1
            case Status.ERROR:
                self.error += 1
            case Status.SKIPPED:
                self.skipped += 1
                self.curtailed += blame is Blame.CURTAILED
        if score is not None:
            self.scores.append(score)

    def __iadd__(self, other: Tally) -> Self:
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.scores += other.scores
        return self

    @property
    def judged(self) -> int:
        """Passes and fails."""
        return self.passed + self.failed

    @property
    def counted_failed(self) -> int:
        """What counts as failed at the gate: fails, and required findings that did not apply."""
        return self.failed + self.required

    @property
    def open(self) -> int:
        """Planned, but neither judged nor allowed to be skipped: may yet turn out either way."""
        return self.planned - self.passed - self.counted_failed - self.allowed

    @property
    def covered(self) -> int:
        """Cells that are decided: judged, measured, allowed to be skipped, or failed by ``require``."""
        return self.passed + self.failed + self.measured + self.allowed + self.required

    @property
    def mean_score(self) -> float | None:
        """Mean of the figures that exist; None when there is none."""
        return math.fsum(self.scores) / len(self.scores) if self.scores else None

    @property
    def missing(self) -> int:
        """Planned cells without a row: the run is open, they were skipped so far."""
        known = self.judged + self.measured + self.not_applicable + self.error + self.skipped
        return self.planned - known

    def counts(self) -> dict[str, int]:
        """The six statuses and ``planned``, as the JSON summary names them; they add up."""
        return {
            "planned": self.planned,
            "passed": self.passed,
            "failed": self.failed,
            "measured": self.measured,
            "not_applicable": self.not_applicable,
            "error": self.error,
            "skipped": self.skipped + self.missing,
        }


_COUNTS = (
    "planned",
    "passed",
    "failed",
    "measured",
    "not_applicable",
    "allowed",
    "required",
    "error",
    "skipped",
    "curtailed",
)


@dataclass(frozen=True, slots=True)
class Tallies:
    """All counts of a run, by (case id, evaluator)."""

    plan: Plan
    cells: Mapping[tuple[str, str], Tally]

    def of(self, evaluator: str, *, gating: bool | None = None) -> Tally:
        """The counts of an evaluator over its cases.

        Args:
            evaluator: Its name.
            gating: Only regression cases, only capability cases, or (None) both.
        """
        total = Tally()
        for _, tally in self.by_case(evaluator, gating=gating):
            total += tally
        return total

    def by_case(self, evaluator: str, *, gating: bool | None = None) -> Iterator[tuple[PlannedCase, Tally]]:
        """Cases that plan ``evaluator``, in suite order, with their counts."""
        for case in self.plan.cases:
            if evaluator in case.evaluators and (gating is None or case.gates is gating):
                yield case, self.cells[case.case_id, evaluator]

    def told(self, case: PlannedCase) -> tuple[str, ...]:
        """A case's evaluators as the run tells them: a panel as one, without its members."""
        behind = self.plan.panel_members
        return tuple(name for name in case.evaluators if name not in behind) if behind else case.evaluators

    def total(self) -> Tally:
        """All cells of the run."""
        total = Tally()
        for tally in self.cells.values():
            total += tally
        return total


def tally(plan: Plan, rows: Iterable[tuple[str, str, str, str | None, float | None]]) -> Tallies:
    """Count a run's cells.

    Args:
        plan: What was planned: the denominators.
        rows: (case id, evaluator, status, blame, score) of each stored cell. Cells that are planned
            and have no row stay open.

    Raises:
        ValueError: If a row was not planned, or a cell has more rows than trials.
    """
    cells = {
        (case.case_id, name): Tally(planned=case.trials) for case in plan.cases for name in case.evaluators
    }
    for case_id, evaluator, status, blame, score in rows:
        found = cells.get((case_id, evaluator))
        if found is None:
            msg = f"run {plan.run_id}: a row of case {case_id!r}, {evaluator!r} that was never planned"
            raise ValueError(msg)
        found.add(Status(status), Blame(blame) if blame else None, score)
    for case in plan.cases:
        for name in case.evaluators:
            found = cells[case.case_id, name]
            if (
                sum((found.judged, found.measured, found.not_applicable, found.error, found.skipped))
                > found.planned
            ):
                msg = (
                    f"run {plan.run_id}: case {case.case_id!r}, evaluator {name!r} has more rows than trials"
                )
                raise ValueError(msg)
            if name in case.require:
                found.required = found.not_applicable
            elif name in case.may_skip:
                found.allowed = found.not_applicable
    return Tallies(plan, cells)
