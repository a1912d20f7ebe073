"""How many workers of a fleet are alive, and when another one has to be started.

Owns the parent's judgement of its workers: by their claims, because a scheduler may say RUNNING of a dead one
for minutes, and by what the scheduler says of those that ended. Starts nobody itself. Knows no scheduler.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from nightgate.steps.standings import Standing, Watch

ATTEMPTS = 3
"""Starts a worker, on average: a shard that kills whoever plays it must not do so for ever."""
START_S = 300.0
"""Nobody holds a shard for so long: whoever was started has not come, and will not."""


class Roster:
    """The workers of one run, for its parent. Blocking; for one thread at a time.

    Args:
        watch: On the run's claims.
        shards: How many it was cut into.
        workers: How many are to be at work.
        attempts: How many are started in all, as a multiple of that.
        start_s: Seconds that a worker may take until it holds a shard.
        monotonic: Seconds of this machine.
    """

    def __init__(
        self,
        watch: Watch,
        shards: int,
        workers: int,
        *,
        attempts: int = ATTEMPTS,
        start_s: float = START_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watch, self._shards, self._workers = watch, shards, workers
        self._left = attempts * workers
        self._start_s, self._monotonic = start_s, monotonic
        # Of its own: a scheduler that is asked for the same name again answers with the run that crashed.
        self._name = secrets.token_hex(3)
        self._started: list[str] = []
        self._gone: set[str] = set()
        self._held_at = monotonic()
        self.standing = Standing(done=0, held={}, silent=frozenset(), stopped=None)

    def look(self) -> Standing:
        """Take note of the claims as they are now.

        Raises:
            StoreError: If the store is away; what was seen last stands.
        """
        self.standing = self._watch.look()
        self._gone |= self.standing.silent
        if self.standing.held:
            self._held_at = self._monotonic()
        elif self._monotonic() - self._held_at >= self._start_s:
            self._gone.update(self._started)
            self._held_at = self._monotonic()
        return self.standing

    def ended(self, owner: str) -> None:
        """Take note that a worker has gone, in order or not."""
        self._gone.add(owner)

    def due(self) -> list[str]:
        """Names of workers to start now; each is told once."""
        if self._done or self.standing.stopped is not None:
            return []
        count = max(0, min(self._workers - len(self.alive), self._left))
        self._left -= count
        names = [f"{self._name}-{len(self._started) + n + 1}" for n in range(count)]
        self._started += names
        return names

    @property
    def alive(self) -> frozenset[str]:
        """Workers that are there as far as anybody can tell; those of a parent that was killed count too."""
        return frozenset({*self._started, *self.standing.held} - (self._gone - set(self.standing.held)))

    @property
    def over(self) -> bool:
        """Whether all shards are done, or nobody is left who could play them."""
        if self._done:
            return True
        return not self.alive and (self._left == 0 or self.standing.stopped is not None)

    @property
    def _done(self) -> bool:
        return self.standing.done >= self._shards
