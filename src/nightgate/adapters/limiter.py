"""How many calls may be in flight to one model, and when the next may start.

Owns admission: slots for calls in flight, a pace of starts (``Pace``) and one of tokens, and a pause where
the provider said how long to wait. Knows nothing of requests, prices or retries. Lives on one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from nightgate.adapters.pace import FLOOR_PER_S, Pace

_FIRST_TOKENS = 1000.0
"""What a call is taken for before one of its model has ended, where tokens are limited."""
_MEMORY = 0.9
"""How much of the mean tokens of a call is kept when the next is known."""


@dataclass(slots=True)
class Slot:
    """A call that was admitted.

    Attributes:
        started_at: When, in the limiter's seconds.
        tokens: What it was taken for.
    """

    started_at: float
    tokens: float = 0.0


class Limiter:
    """Admission to one model on one loop.

    Args:
        most: Calls in flight at the most.
        per_minute: Calls started in a minute at the most; None for no limit.
        now: Monotonic seconds.
        adapts: Whether a refusal says anything about the rate; one out of a script does not.
        floor_per_s: Starts a second that no refusal takes away.
    """

    def __init__(
        self,
        most: int,
        per_minute: float | None,
        now: Callable[[], float],
        *,
        adapts: bool = True,
        floor_per_s: float = FLOOR_PER_S,
    ) -> None:
        self.in_flight = 0
        self.peak = 0
        self._held_back = 0
        """Calls that have a slot and wait for the pace or for tokens."""
        self._paused_until = -math.inf
        self._now, self._adapts = now, adapts
        self._queue: deque[asyncio.Future[None]] = deque()
        self._gate = asyncio.Lock()
        self._pace = Pace(now, floor_per_s)
        self._tokens_per_s = math.inf
        self._tokens_free_at = -math.inf
        self._mean_tokens = _FIRST_TOKENS
        self._changed = asyncio.Event()
        self.drive(most, per_minute)

    def drive(self, most: int, per_minute: float | None, tokens_per_minute: float | None = None) -> None:
        """Set how much is allowed from now on; what is in flight ends as it would.

        Args:
            most: Calls in flight; 0 admits none until the next ``drive``.
            per_minute: Calls started in a minute; None for no limit.
            tokens_per_minute: Tokens in and out, without what came from a cache; None for no limit.
        """
        self.most = max(0, most)
        self._pace.drive(math.inf if per_minute is None else per_minute / 60)
        self._tokens_per_s = math.inf if tokens_per_minute is None else tokens_per_minute / 60
        self._changed.set()
        self._changed = asyncio.Event()
        self._wake()

    @property
    def per_s(self) -> float:
        """Calls that may start in a second now; infinite where nothing limits them."""
        return self._pace.per_s

    @property
    def wanted(self) -> bool:
        """Whether calls wait for more than is allowed: slots, starts or tokens."""
        return bool(self._queue) or self._held_back > 0

    @property
    def free(self) -> bool:
        """Whether a call could start this instant."""
        return self.in_flight < self.most and not self._queue and self._delay() <= 0

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for admission, hold a slot for the time of the block."""
        await self._enter()
        try:
            yield self._start()
        finally:
            self._leave()

    def throttled(self, slot: Slot, pause_s: float | None) -> None:
        """The provider said "too much" to a call: cut the pace, and start nothing while it asked for that.

        Args:
            slot: The call's.
            pause_s: Seconds that the provider named; None where it did not.
        """
        if pause_s is not None:
            self._paused_until = max(self._paused_until, self._now() + pause_s)
        if self._adapts:
            self._pace.throttled(slot.started_at)

    def succeeded(self) -> None:
        """A call went through."""
        self._pace.succeeded()

    def used(self, slot: Slot, tokens: int) -> None:
        """What a call took in the end: the next one starts earlier or later for it."""
        if tokens:  # one that was refused says nothing about the others
            self._mean_tokens = _MEMORY * self._mean_tokens + (1 - _MEMORY) * tokens
        if slot.tokens and math.isfinite(self._tokens_per_s) and self._tokens_per_s > 0:
            self._tokens_free_at += (tokens - slot.tokens) / self._tokens_per_s

    async def _enter(self) -> None:
        if self._queue or self.in_flight >= self.most:
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
            async with self._gate:  # one at a time, in the order of their turns
                while (delay := self._delay()) > 0:
                    paused = delay <= self._paused_until - self._now()
                    self._held_back += not paused
                    try:
                        await self._sleep(delay)
                    finally:
                        self._held_back -= not paused
        except BaseException:
            self._leave()
            raise

    async def _sleep(self, delay_s: float) -> None:
        """Until then, or until more or less is allowed."""
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(delay_s) else delay_s):
                await changed.wait()

    def _start(self) -> Slot:
        now = self._now()
        self._pace.started()
        tokens = self._mean_tokens if math.isfinite(self._tokens_per_s) else 0.0
        if tokens and self._tokens_per_s > 0:
            self._tokens_free_at = max(self._tokens_free_at, now) + tokens / self._tokens_per_s
        return Slot(now, tokens)

    def _delay(self) -> float:
        until = max(self._paused_until, self._tokens_free_at)
        if self._tokens_per_s <= 0:
            return math.inf
        return max(until - self._now(), self._pace.delay_s())

    def _take(self) -> None:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._queue and self.in_flight < self.most:
            turn = self._queue.popleft()
            if not turn.done():
                self._take()
                turn.set_result(None)
