"""Stopping early without guessing: cells whose outcome the gate's verdict no longer depends on.

Owns the exact rule. An evaluator is settled when it fails whatever the rest says: its rate would miss
the threshold though all open cells passed, or a blocking case of it has failed. A pass is settled only
where the suite lets enough cells stay open: an error in the rest would else make it inconclusive. No
statistics is involved. Counts are of this process alone; other workers can only know less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from nightgate import stats
from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.scores import Cell, Status


@dataclass(slots=True)
class _Counts:
    """The gating cells of one evaluator."""

    planned: int = 0
    passed: int = 0
    failed: int = 0
    other: int = 0
    """Found, and neither passed nor failed: errors, and what did not apply."""
    allowed: int = 0
    blocking: int = 0
    """Cells of blocking cases without a finding."""
    blocked: bool = False
    """Whether a blocking case failed."""

    @property
    def rest(self) -> int:
        """Cells without a finding."""
        return self.planned - self.passed - self.failed - self.other - self.allowed


@dataclass(slots=True)
class Curtailment:
    """What need not be played or judged any more.

    Args:
        plan: The run's.
    """

    plan: Plan
    trials: int = 0
    """Trials left out."""
    cells: int = 0
    """Cells left out, those of these trials included."""
    _counts: dict[str, _Counts] = field(default_factory=dict)
    _cases: dict[str, PlannedCase] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)
    _panels: dict[str, str] = field(default_factory=dict)
    """A panel's member -> the column that gates for it."""

    def __post_init__(self) -> None:
        self._cases = {case.case_id: case for case in self.plan.cases}
        self._panels = {e.name: e.panel for e in self.plan.evaluators if e.panel is not None}
        planned = Counter((name, case.blocking) for case, _, name in self.plan.cells() if case.gates)
        for (name, blocking), count in planned.items():
            counts = self._counts.setdefault(name, _Counts())
            counts.planned += count
            counts.blocking += count if blocking else 0

    def found(self, cell: Cell) -> None:
        """Take note of a finding."""
        case, name = self._cases[cell.case_id], cell.score.evaluator
        if not case.gates or name in self._panels:
            return
        counts, status = self._counts[name], cell.score.status
        required = status is Status.NOT_APPLICABLE and name in case.require
        if status is Status.PASS:
            counts.passed += 1
        elif status is Status.FAIL or required:
            counts.failed += 1
            counts.blocked |= case.blocking
        elif status is Status.NOT_APPLICABLE and name in case.may_skip:
            counts.allowed += 1
        else:
            counts.other += 1
        counts.blocking -= case.blocking
        if name not in self._settled and settled(self.plan.evaluator(name), counts, self.plan.gate):
            self._settled.add(name)

    def cell(self, case: PlannedCase, name: str) -> bool:
        """Whether a cell may be left out. What does not gate is reported whole, so it may not."""
        return case.gates and self._panels.get(name, name) in self._settled

    def trial(self, case: PlannedCase) -> bool:
        """Whether a trial may be left out: all of its cells may."""
        return bool(case.evaluators) and all(self.cell(case, name) for name in case.evaluators)


def settled(planned: PlannedEvaluator, counts: _Counts, rules: Mapping[str, Any]) -> bool:
    """Whether no outcome of an evaluator's open cells can change its verdict at the gate."""
    if planned.threshold is None:
        return False
    if counts.blocked:
        return True
    threshold = stats.parse_threshold(planned.threshold)
    if rules.get("policy") == "confident" and threshold != 1:
        return False  # its verdict hangs on an interval, which every further cell moves
    open_cells = counts.rest + counts.other
    verdict = stats.bounds_verdict(counts.passed, counts.failed, open_cells, threshold)
    if verdict != "pass":
        return verdict == "fail"
    # Were all of the rest to end in errors: would coverage and error share still let it pass?
    covered = Fraction(counts.passed + counts.failed + counts.allowed, counts.planned)
    broken = Fraction(open_cells, counts.planned)
    least = stats.parse_threshold(planned.min_coverage)
    most = stats.parse_threshold(str(rules.get("max_error_share", "0.0")))
    return covered >= least and broken <= most and not counts.blocking
