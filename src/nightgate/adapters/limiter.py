"""How many calls may be in flight to one model, and when the next may start.

Owns admission: an in-flight limit that shrinks when the provider throttles and grows back when it
is quiet, a shared pause after a throttle, and an optional pace in requests a minute. Knows nothing
of requests, prices or retries. Lives on one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncIterator, Callable


class Limiter:
    """Admission to one model on one loop.

    The limit is cut by half on a throttle (once for each cluster of throttles) and grows by one
    after as many successes in a row as calls may be in flight; it never passes ``most``.

    Args:
        most: Calls in flight at the most.
        per_minute: Calls started in a minute at the most; None for no pace.
        now: Monotonic seconds.
    """

    def __init__(self, most: int, per_minute: float | None, now: Callable[[], float]) -> None:
        self.drive(most, per_minute)
        self.in_flight = 0
        self.peak = 0
        self._next_start = -math.inf
        self._paused_until = -math.inf
        self._last_cut = -math.inf
        self._now = now
        self._queue: deque[asyncio.Future[None]] = deque()

    def drive(self, most: int, per_minute: float | None) -> None:
        """Set anew, before the first call, how many may be in flight and start in a minute."""
        self.most = max(1, most)
        self._limit = float(self.most)
        self._interval_s = 60.0 / per_minute if per_minute else 0.0

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._limit))

    @property
    def free(self) -> bool:
        """Whether a call could start this instant."""
        return self.in_flight < self.limit and not self._queue and self._delay() <= 0

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for admission, hold a slot for the time of the block."""
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    def throttled(self, pause_s: float) -> None:
        """The provider said "too much": halve the limit and start nothing for ``pause_s``."""
        now = self._now()
        self._paused_until = max(self._paused_until, now + pause_s)
        # One burst of throttles is one event: cutting for each of them would end at 1 at once.
        if now >= self._last_cut:
            self._limit = max(1.0, min(self._limit, float(self.in_flight + 1)) / 2)
            self._last_cut = now + pause_s

    def succeeded(self) -> None:
        """A call went through: grow back slowly."""
        if self._limit < self.most:
            self._limit = min(float(self.most), self._limit + 1 / self._limit)
            self._wake()

    async def _enter(self) -> None:
        if self._queue or self.in_flight >= self.limit:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            try:
                await turn
            except BaseException:
                with contextlib.suppress(ValueError):
                    self._queue.remove(turn)
                if turn.done() and not turn.cancelled():
                    self._leave()
                raise
        else:
            self._take()
        try:
            while (delay := self._delay()) > 0:  # noqa: ASYNC110 - a pause may be prolonged meanwhile
                await asyncio.sleep(delay)
        except BaseException:
            self._leave()
            raise
        if self._interval_s:
            self._next_start = max(self._next_start, self._now()) + self._interval_s

    def _delay(self) -> float:
        return max(self._paused_until, self._next_start) - self._now()

    def _take(self) -> None:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._queue and self.in_flight < self.limit:
            turn = self._queue.popleft()
            if not turn.done():
                self._take()
                turn.set_result(None)
