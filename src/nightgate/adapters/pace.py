"""How often calls to one model may start: a rate that a throttle cuts and that grows back when it is used.

Owns the rate alone. Knows nothing of slots, requests, prices or retries, and never waits: it is told what
happened and says how long to hold the next start back. The growth follows CUBIC (RFC 9438): slow near the
rate at which the provider refused, quick far from it; several workers that share a provider's limit without
knowing of each other settle around their shares.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

CUT = 0.8
"""What is left of the accepted rate after a throttle, at the least."""
_WEIGHT = 2.0
"""How much more than its share of the starts a refusal takes: one in forty cuts by a twentieth."""
_COUNTED = 20
"""Starts that are looked at where the window holds fewer: one refusal of five would say little."""
PLATEAU_S = 12.0
"""Seconds of use until the rate is back where it was refused."""
FLOOR_PER_S = 0.2
"""Workers may be so many that each has no more than this of a provider's rate."""
STORM_PER_S = 2.0
"""While everything is refused it is asked so often, or half as often as it took before: often enough to learn
that the storm is over while the calls have tries left."""
_WINDOW_S = 2.0
"""Starts and refusals are counted over so long."""
_SHORTEST_S = 1.0
"""A handful of starts in the first milliseconds is no rate yet."""
_DOUBLING_S = 0.25
"""Below the last rate that was accepted it doubles in so long, or with each call that goes through."""


class Pace:
    """The rate of starts of one model on one loop; without a limit until the first throttle or a told one.

    Args:
        now: Monotonic seconds.
        floor_per_s: Starts a second that are always allowed.
    """

    def __init__(self, now: Callable[[], float], floor_per_s: float = FLOOR_PER_S) -> None:
        self._now, self._floor = now, floor_per_s
        self._before = math.inf
        """The rate before the last cut."""
        self._told = math.inf
        self._rate = math.inf
        self._good = math.inf
        """The rate that was accepted when the provider refused more; infinite while it never did."""
        self._cut = CUT
        self._used_s = 0.0
        """Seconds since the last cut in which calls waited for the rate."""
        self._wanted = False
        self._succeeded_at = -math.inf
        self._cut_at = -math.inf
        self._next_start = -math.inf
        self._starts: deque[float] = deque()
        self._refusals: deque[float] = deque()

    @property
    def per_s(self) -> float:
        """Starts a second that are allowed now; infinite where nothing limits them."""
        return min(self._rate, self._told)

    def drive(self, per_s: float) -> None:
        """Set what is never passed, in starts a second; infinite for nothing."""
        self._told = per_s
        if per_s <= 0:
            self._next_start = math.inf
        else:  # what waits was promised another rate
            self._next_start = min(self._next_start, self._now() + 1 / self.per_s)

    def delay_s(self) -> float:
        """Seconds until the next call may start; 0 or less: now."""
        delay = self._next_start - self._now()
        if delay > 0:
            self._wanted = True
        return delay

    def started(self) -> None:
        """A call starts now."""
        now = self._now()
        self._starts.append(now)
        self._forget(now)
        if math.isfinite(self.per_s) and self.per_s > 0:
            self._next_start = max(self._next_start, now) + 1 / self.per_s

    def throttled(self, started_at: float) -> None:
        """The provider refused a call that had started at ``started_at``.

        Refusals of one burst are one event: those that were under way at the cut only make its measure
        better.
        """
        now = self._now()
        self._refusals.append(now)
        of_the_last = started_at < self._cut_at
        if not of_the_last and self._succeeded_at < self._cut_at:
            # Nothing went through since the last cut: a storm, which says nothing about the rate after it.
            if now - self._cut_at >= _SHORTEST_S:
                self._slow_down(now)
        else:
            if not of_the_last:
                self._before = self._rate
                self._cut_at, self._used_s, self._wanted = now, 0.0, False
            accepted = self._accepted(now)
            if accepted > 0:
                self._cut = max(CUT, 1 - _WEIGHT * len(self._refusals) / len(self._starts))
                # What was accepted says little where the rate has just grown: not more than half is cut.
                least = 0.0 if math.isinf(self._before) else self._before / 2
                self._rate = max(self._floor, min(self._rate, max(least, accepted * self._cut)))
                self._good = self._rate / self._cut
            elif not of_the_last:
                self._slow_down(now)
        # What waits was promised the old rate.
        self._next_start = max(self._next_start, now + 1 / self.per_s) if self.per_s > 0 else math.inf

    def succeeded(self) -> None:
        """A call went through: grow, if the rate is what holds the others back."""
        now = self._now()
        passed, self._succeeded_at = min(now - self._succeeded_at, 1.0), now
        if math.isinf(self._rate) or not self._wanted:
            return
        self._wanted = False
        if math.isinf(self._good) or self._rate < self._good * self._cut:
            self._rate *= 2 ** min(1.0, passed / _DOUBLING_S)
            return
        self._used_s += passed
        bend = (self._used_s - PLATEAU_S) / PLATEAU_S
        self._rate = max(self._rate, self._good * (1 + (1 - self._cut) * bend**3))

    def _slow_down(self, now: float) -> None:
        """Halve the rate, down to what a storm is asked with."""
        halved = min(self._rate, len(self._starts) / _SHORTEST_S) / 2
        self._rate = max(self._floor, min(self._rate, STORM_PER_S, self._good / 2), halved)
        self._cut_at, self._used_s, self._wanted = now, 0.0, False

    def _accepted(self, now: float) -> float:
        """Starts a second, over the window, that were not refused; 0 in a storm, where none goes through.

        Those that nobody has answered count as accepted: a refusal comes quickly.
        """
        if now - self._succeeded_at > _WINDOW_S:
            return 0.0
        self._forget(now)
        span = max(_SHORTEST_S, now - self._starts[0]) if self._starts else _SHORTEST_S
        return max(0, len(self._starts) - len(self._refusals)) / span

    def _forget(self, now: float) -> None:
        """Drop what is no longer counted."""
        while len(self._starts) > _COUNTED and self._starts[0] < now - _WINDOW_S:
            self._starts.popleft()
        while self._refusals and (not self._starts or self._refusals[0] < self._starts[0]):
            self._refusals.popleft()
