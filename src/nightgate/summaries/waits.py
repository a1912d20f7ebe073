"""How long calls waited before they were sent: admission, a shared limit, the pause before another try.

Owns the figures of a wait: quantiles, buckets, the longest. Knows no call and no clock.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

BOUNDS_S = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""Upper ends of a histogram's buckets: from a free slot to a provider's batch queue."""


@dataclass(slots=True)
class Waits:
    """Waits in seconds, 8 bytes each."""

    seconds: array[float] = field(default_factory=lambda: array("d"))

    @classmethod
    def of(cls, parts: Iterable[Waits]) -> Self:
        """All waits of several together."""
        whole = cls()
        for part in parts:
            whole.seconds.extend(part.seconds)
        return whole

    def add(self, wait_s: float) -> None:
        """Count one."""
        self.seconds.append(wait_s)

    @property
    def total_s(self) -> float:
        """All of them together, whatever their order."""
        return math.fsum(self.seconds)

    def buckets(self, bounds: Sequence[float] = BOUNDS_S) -> list[int]:
        """Shape (len(bounds) + 1,): how many lie at or under each bound and over the one before it.

        >>> Waits(array("d", [0.0, 1.0, 1.5])).buckets([1.0])
        [2, 1]
        """
        counts = [0] * (len(bounds) + 1)
        for wait_s in self.seconds:
            counts[bisect_left(bounds, wait_s)] += 1
        return counts

    def as_dict(self) -> dict[str, float] | None:
        """``p50``, ``p95``, ``max`` and ``total`` in seconds; None where nothing was counted.

        A quantile is a wait that was there (nearest rank): so many calls waited no longer.

        >>> Waits(array("d", [4.0, 0.0, 1.0, 2.0])).as_dict()
        {'p50': 1.0, 'p95': 4.0, 'max': 4.0, 'total': 7.0}
        """
        if not self.seconds:
            return None
        ordered = sorted(self.seconds)

        def at(percent: int) -> float:
            return ordered[-(-percent * len(ordered) // 100) - 1]

        figures = {"p50": at(50), "p95": at(95), "max": ordered[-1], "total": self.total_s}
        return {name: round(value, 3) for name, value in figures.items()}
