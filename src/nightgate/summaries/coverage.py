"""What was planned and not judged, and why: the other half of every rate.

Owns the grouping of unjudged cells by evaluator, status, blame and reason. Counts come from
``Tally``; reasons from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.scores import Status

_MOST_REASONS = 20
"""Different reasons kept for one evaluator and status; the others are counted under ``_OTHER``."""
_MOST_TEXT = 300
_MOST_CASES = 5
_OTHER = "(other reasons, see the rows)"
UNJUDGED = frozenset({Status.NOT_APPLICABLE, Status.ERROR, Status.SKIPPED})
_Group = tuple[str, str | None, str]
"""Status, blame, reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """Cells of one evaluator that were not judged for one reason."""

    status: str
    blame: str | None
    reason: str
    count: int
    cases: tuple[str, ...]
    """At most five case ids, in the order met."""

    def as_dict(self) -> dict[str, Any]:
        """Its entry in the JSON summary."""
        return {
            "status": self.status,
            "blame": self.blame,
            "count": self.count,
            "reason": self.reason,
            "cases": list(self.cases),
        }


@dataclass(slots=True)
class Holes:
    """Unjudged cells of a run by evaluator."""

    _found: dict[str, dict[_Group, Counter[str]]] = field(default_factory=dict)
    """Evaluator -> group -> case id -> cells."""

    def add(self, case_id: str, evaluator: str, status: Status, blame: str | None, reason: str) -> None:
        """Count a cell, if it was not judged."""
        if status not in UNJUDGED:
            return
        groups = self._found.setdefault(evaluator, {})
        key = (status.value, blame, " ".join(reason.split())[:_MOST_TEXT])
        if key not in groups and sum(known[0] == status.value for known in groups) >= _MOST_REASONS:
            key = (status.value, blame, _OTHER)
        groups.setdefault(key, Counter())[case_id] += 1

    def of(self, evaluator: str, cases: Container[str] | None = None) -> list[Hole]:
        """An evaluator's holes, biggest first.

        Args:
            evaluator: Its name.
            cases: Only cells of these cases; None: of all.
        """
        return _holes(
            (key, {case: n for case, n in counts.items() if cases is None or case in cases})
            for key, counts in self._found.get(evaluator, {}).items()
        )

    def of_case(self, evaluator: str, case_id: str) -> list[Hole]:
        """The holes of one case, biggest first.

        Costs nothing for other cases: an outage fills one group with all of them.
        """
        return _holes(
            (key, {case_id: counts[case_id]} if case_id in counts else {})
            for key, counts in self._found.get(evaluator, {}).items()
        )


def _holes(groups: Iterable[tuple[_Group, Mapping[str, int]]]) -> list[Hole]:
    found = [
        Hole(
            status=status,
            blame=blame,
            reason=reason,
            count=sum(counts.values()),
            cases=tuple(counts)[:_MOST_CASES],
        )
        for (status, blame, reason), counts in groups
        if counts
    ]
    return sorted(found, key=lambda hole: -hole.count)
