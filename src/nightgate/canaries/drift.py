"""When flipped verdicts over frozen trials are drift, and in which direction.

Owns the base flip rate, the bar and the word for the direction. The outputs are the same every night,
so a verdict that differs is the judge's doing. Knows no store, no run and no document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from nightgate.stats.tails import binomial_tail, within

ALPHA = 0.01
"""One-sided: so often a judge that did not change would raise the alarm of one test."""
BASE_RATE = 0.01
"""Flips of a judge that did not change, a verdict: the least that is ever assumed."""
MEASURED_NIGHTS = 14
"""A judge's first nights, from which its own flip rate is measured. Later ones do not count: a judge
that drifts slowly would otherwise raise its own bar."""
_LEAST_NIGHTS = 5
_LEAST_VERDICTS = 200
_DOMINATES = 0.75
"""Share of the flips that go one way from which the direction is named."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """Verdicts that could be compared, and those of them that changed."""

    judged: int = 0
    """Pass or fail both times."""
    to_pass: int = 0
    to_fail: int = 0

    @property
    def flips(self) -> int:
        """Changed in either direction."""
        return self.to_pass + self.to_fail

    @classmethod
    def of(cls, before: Mapping[K, bool], now: Mapping[K, bool]) -> Flips:
        """Compare verdicts (True: pass) by key; a key that one side lacks is no flip."""
        both = [(before[key], now[key]) for key in before.keys() & now.keys()]
        return cls(
            judged=len(both),
            to_pass=sum(not was and is_ for was, is_ in both),
            to_fail=sum(was and not is_ for was, is_ in both),
        )

    def __add__(self, other: Flips) -> Flips:
        return Flips(
            judged=self.judged + other.judged,
            to_pass=self.to_pass + other.to_pass,
            to_fail=self.to_fail + other.to_fail,
        )


def p_value(found: Flips, base: float) -> float | None:
    """Chance of so many flips or more if the judge flips at the base rate; None without a verdict."""
    return binomial_tail(found.flips, found.judged, base) if found.judged else None


def is_alarm(p: float | None) -> bool:
    """Whether that is drift: at the fewest flips whose p-value is within ``ALPHA``."""
    return p is not None and within(p, ALPHA)


def base_rate(nights: Iterable[Flips]) -> float:
    """The flip rate of a judge that did not change.

    Args:
        nights: Its earlier nights without an alarm, the oldest first.

    Returns:
        The pooled rate of the first ``MEASURED_NIGHTS``, once five nights and 200 verdicts are there;
        until then, and at the least, ``BASE_RATE``.
    """
    counted = [night for night in nights if night.judged][:MEASURED_NIGHTS]
    total = sum(counted, Flips())
    if len(counted) < _LEAST_NIGHTS or total.judged < _LEAST_VERDICTS:
        return BASE_RATE
    # Strictly under 1, as the test wants it; a judge that flips always is seen by eye.
    return min(0.99, max(BASE_RATE, total.flips / total.judged))


def direction_of(found: Flips) -> str | None:
    """``more lenient``, ``stricter`` or ``both``; None without a flip.

    It describes the flips that were seen: a sign test could name no direction of five flips, which are
    an alarm already.

    >>> direction_of(Flips(judged=100, to_pass=5)), direction_of(Flips(judged=100, to_pass=3, to_fail=2))
    ('more lenient', 'both')
    """
    if not found.flips:
        return None
    if found.to_pass >= _DOMINATES * found.flips:
        return "more lenient"
    if found.to_fail >= _DOMINATES * found.flips:
        return "stricter"
    return "both"
