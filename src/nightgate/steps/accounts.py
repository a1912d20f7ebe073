"""What is counted of a run on the way from records or rows to its summary.

Owns the running counts, so that a run that is being committed and one that is read again later come
to the same summary. Knows no store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nightgate.rows.redaction import redact_texts
from nightgate.scores import Status
from nightgate.summaries import Ledger
from nightgate.trials import Ending

_MOST_FAILURES = 200
_MOST_REASON = 500
_TOLD = frozenset({Status.FAIL, Status.ERROR, Status.NOT_APPLICABLE})


@dataclass(slots=True)
class Account:
    """Counts of cells, trials and calls."""

    cells: list[tuple[str, str, str, str | None, float | None]] = field(default_factory=list)
    """(case id, evaluator, status, blame, score), what ``summaries.tally`` reads."""
    endings: dict[Ending, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    _failures: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    def add_trial(self, ending: Ending) -> None:
        """Count a trial."""
        self.endings[ending] = self.endings.get(ending, 0) + 1

    def add_cell(
        self,
        case_id: str,
        evaluator: str,
        status: Status,
        *,
        blame: str | None,
        score: float | None,
        trial: int,
        reason: str,
    ) -> None:
        """Count a cell, and keep the first reason of each case, evaluator and status."""
        self.cells.append((case_id, evaluator, status.value, blame, score))
        if status not in _TOLD:
            return
        key = (case_id, evaluator, status.value)
        known = self._failures.get(key)
        if known is not None:
            known["count"] += 1
        elif len(self._failures) < _MOST_FAILURES:
            self._failures[key] = {
                "case": case_id,
                "evaluator": evaluator,
                "status": status.value,
                "blame": blame,
                "trial": trial,
                "count": 1,
                "reason": reason[:_MOST_REASON],
            }

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Reasons by case, evaluator and status, in the order in which they were met."""
        told = list(self._failures.values())
        reasons = redact_texts([failure["reason"] for failure in told])
        return [{**failure, "reason": reason} for failure, reason in zip(told, reasons, strict=True)]
