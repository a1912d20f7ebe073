"""What the page of a suite's history is made of, and how nights lie in time.

Owns the shape that whoever gathers fills and whoever renders reads, and where a night is missing between two
others. Knows no store and no markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from statistics import median_low
from typing import Any

_MOST_MISSING = 7
"""Missing nights in a row that each have a place of their own; more share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something of which the nights before and after do not compare."""

    night: int
    """Position in the history's nights: the first one with it."""
    what: str
    """In a word: model, prompt, source, judge, evaluator, case ..."""
    text: str
    evaluator: str | None = None
    """Set where only this one is befallen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFacts:
    """A suite's history as stored rows and documents tell it.

    Attributes:
        document: What ``history --json`` says, and besides ``summaries`` (run id -> parts of its summary),
            ``flaky`` (what ``flaky --json`` says) and ``calibration``; the last two may be None.
        changes: By night.
        troubles: What could not be read.
        store_flag: The store as commands have to name it; None: they need not.
        notice: Said at the top of the page.
    """

    document: Mapping[str, Any]
    changes: Sequence[Change] = ()
    troubles: Sequence[str] = ()
    store_flag: str | None = None
    notice: str | None = None

    @property
    def nights(self) -> Sequence[Mapping[str, Any]]:
        """The nights, oldest first."""
        found: Sequence[Mapping[str, Any]] = self.document["nights"]
        return found

    def summary(self, night: int) -> Mapping[str, Any]:
        """What is known of a night's summary; empty where it has none."""
        found: Mapping[str, Any] = self.document["summaries"].get(self.nights[night]["run_id"], {})
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place on the axis of nights: a night, or where one would have been."""

    day: str
    night: int | None = None
    """Position in the history's nights; None: none came."""
    missing: int = 0
    """How many did not come."""

    @property
    def word(self) -> str:
        """Month and day."""
        return self.day[5:]


def slots(days: Sequence[str]) -> list[Slot]:
    """Nights in their order, and the places of those that never came.

    How often nights come is taken from themselves: the usual number of days between two of them.

    Args:
        days: Of the nights, as YYYY-MM-DD, oldest first.

    >>> [(slot.word, slot.night) for slot in slots(["2026-11-01", "2026-11-02", "2026-11-04"])]
    [('11-01', 0), ('11-02', 1), ('11-03', None), ('11-04', 2)]
    """
    dates = [date.fromisoformat(day) for day in days]
    gaps = [(after - before).days for before, after in pairwise(dates)]
    usual = median_low([gap for gap in gaps if gap > 0] or [1])
    found: list[Slot] = []
    for night, day in enumerate(days):
        if night:
            found += _missing(dates[night - 1], gaps[night - 1], usual)
        found.append(Slot(day=day, night=night))
    return found


def _missing(after: date, gap: int, usual: int) -> Iterator[Slot]:
    count = round(gap / usual) - 1
    first = after + timedelta(days=usual)
    if count > _MOST_MISSING:
        yield Slot(day=first.isoformat(), missing=count)
        return
    for place in range(count):
        yield Slot(day=(first + timedelta(days=place * usual)).isoformat(), missing=1)
