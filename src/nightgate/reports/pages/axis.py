"""Nights from left to right, for all charts of a page: places, words below, marks.

Owns which change is marked where, and that a night without figures keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nightgate.reports.pages.charts import Mark, ticks
from nightgate.reports.pages.suitevalues import Change, Slot, SuiteFacts

LITTLE = 0.5
"""A share of what was planned below which a figure says nothing about the night."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The nights of a page from left to right."""

    facts: SuiteFacts
    slots: Sequence[Slot]
    changes: Sequence[Change] = field(default=())

    @property
    def span(self) -> tuple[float, float]:
        """First and last place."""
        return 0.0, float(max(1, len(self.slots) - 1))

    def places(self) -> Iterator[tuple[int, int]]:
        """Place and night of each place that has one."""
        return ((place, slot.night) for place, slot in enumerate(self.slots) if slot.night is not None)

    def ticks(self) -> list[tuple[float, str]]:
        """Words below a chart."""
        return ticks((float(place), slot.word) for place, slot in enumerate(self.slots))

    def marks(self, evaluator: str | None = None) -> Iterator[Mark]:
        """Where an evaluator's nights do not compare, and where none came.

        Args:
            evaluator: None: the nights themselves; then those that decided nothing are marked as well.
        """
        where = {night: place for place, night in self.places()}
        words: dict[int, list[str]] = {}
        for change in self.changes:
            if befalls(change, evaluator):
                found = words.setdefault(where[change.night], [])
                found += [] if change.what in found else [change.what]
        for place, found in words.items():
            yield Mark(at=place, name="+".join(found))
        for place, slot in enumerate(self.slots):
            if slot.night is None:
                name = "no night" if slot.missing == 1 else f"{slot.missing} nights missing"
                yield Mark(at=place, name=name, hole=True)
            elif evaluator is None and self.facts.nights[slot.night]["verdict"] == "inconclusive":
                yield Mark(at=place, name="inconclusive", hole=True)


def befalls(change: Change, evaluator: str | None) -> bool:
    """Whether a change is one of an evaluator; of the run's judge it knows itself, code has none."""
    if evaluator is not None and change.what == "judge":
        return change.evaluator == evaluator
    return change.evaluator in (None, evaluator)
