"""What a run's documents say of its base: the comparison, or why there is none.

Owns the shape of ``baseline``, ``changes`` and ``comparison`` in a summary. Knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.comparisons.factors import Factor
from nightgate.comparisons.verdicts import Comparison, Word
from nightgate.comparisons.wording import change_text, sentence

ALL = "*"
"""Stands for every evaluator where the base itself cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A run beside its base."""

    base: str | None
    """The base's run id; None where there is none."""
    comparison: Comparison | None = None
    factors: tuple[Factor, ...] = ()
    trouble: str | None = None
    """Why there is no comparison although there is, or should be, a base."""

    @property
    def expected(self) -> bool:
        """Whether the run has a base, readable or not."""
        return self.base is not None or self.trouble is not None

    def changes(self) -> dict[str, list[dict[str, Any]]]:
        """``changes`` of a summary."""
        if self.comparison is None:
            lost = [] if self.trouble is None else [{"evaluator": ALL, "reason": self.trouble}]
            return {"newly_broken": [], "newly_fixed": [], "not_comparable": lost}
        pairing = self.comparison.pairing
        return {
            "newly_broken": [flip.as_dict() for flip in pairing.newly_broken],
            "newly_fixed": [flip.as_dict() for flip in pairing.newly_fixed],
            "not_comparable": list[dict[str, Any]](pairing.not_comparable(self.comparison.base)),
        }

    def as_dict(self) -> dict[str, Any] | None:
        """``comparison`` of a summary; None without a base."""
        if self.comparison is None:
            return None if self.trouble is None else {**_EMPTY, "base": self.base, "text": self.trouble}
        found, pairing = self.comparison, self.comparison.pairing
        return {
            "base": found.base,
            "verdict": found.word.value,
            "text": sentence(found),
            "cases": len(pairing.shared),
            "questions": found.questions,
            "evaluators": [{**change.as_dict(), "text": change_text(change)} for change in found.changes],
            "added": list(pairing.added),
            "removed": list(pairing.removed),
            "changed": list(pairing.changed),
            "factors": [factor.as_dict() for factor in self.factors],
        }


_EMPTY: Mapping[str, Any] = {
    "base": None,
    "verdict": Word.NOT_COMPARABLE.value,
    "text": "",
    "cases": 0,
    "questions": 0,
    "evaluators": [],
    "added": [],
    "removed": [],
    "changed": [],
    "factors": [],
}

NO_BASE = Outcome(base=None)
