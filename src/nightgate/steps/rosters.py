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
"""Starts a worker, on average, without one more shard done: a shard may kill whoever plays it."""
START_S = 300.0
"""Shards are free for so long, and a worker takes none: it never came, or died between two."""


class Roster:
    """The workers of one run, for its parent. Blocking; for one thread at a time.

    Args:
        watch: On the run's claims.
        shards: How many it was cut into.
        workers: How many are to be at work.
        attempts: How many are started from one shard done to the next, as a multiple of that.
        start_s: Seconds that a worker may take until it holds a shard, while some are free.
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
        self._most = self._left = attempts * workers
        self._start_s, self._monotonic = start_s, monotonic
        # Of its own: a scheduler that is asked for the same name again answers with the run that crashed.
        self._name = secrets.token_hex(3)
        self._started: list[str] = []
        self._accepted: set[str] = set()
        self._begun: set[str] = set()
        self._gone: set[str] = set()
        self._idle: dict[str, float] = {}
        """Since when a worker has held nothing while shards were free."""
        self.standing = Standing(done=0, held={}, silent=frozenset(), stopped=None)

    def look(self) -> Standing:
        """Take note of the claims as they are now, and free what the dead hold.

        Raises:
            StoreError: If the store is away; what was seen last stands.
        """
        before = self.standing.done
        self.standing = self._watch.look()
        self._gone |= self.standing.silent
        if self.standing.done > before:
            self._left = self._most
        self._count_idle()
        self._watch.release()
        return self.standing

    def _count_idle(self) -> None:
        """Give up workers that leave free shards alone for too long."""
        now, held = self._monotonic(), self.standing.held
        free = self._shards - self.standing.done - sum(held.values()) > 0
        self._begun.update(held)
        expected = self._begun if held else self._begun | self._accepted
        idle = (self.alive & expected) - set(held) if free else frozenset()
        self._idle = {owner: self._idle.get(owner, now) for owner in idle}
        self._gone.update(owner for owner, since in self._idle.items() if now - since >= self._start_s)

    def accepted(self, owner: str) -> None:
        """Take note that the scheduler knows of a worker; one that it does not is not given up."""
        self._accepted.add(owner)

    def begun(self, owner: str) -> None:
        """Take note that a machine has taken a worker on: from here on it is expected.

        One that only waits for a free machine is not replaced beside others at work: names would pile up.
        """
        self._begun.add(owner)

    def ended(self, owner: str) -> None:
        """Take note that a worker has gone, in order or not."""
        self._gone.add(owner)

    def due(self) -> list[str]:
        """Names of workers to start now; each is told once, and not given up before it was ``accepted``."""
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
    def given_up(self) -> str | None:
        """Why nobody is started any more though shards are left; None where that is not so."""
        if not self.over or self._done or self.standing.stopped is not None:
            return None
        return (
            f"{self._most} workers died or left without one more shard done, with {self.standing.done} of "
            f"{self._shards} done: their logs say why. What they finished is safe; the same run id goes on"
        )

    @property
    def _done(self) -> bool:
        return self.standing.done >= self._shards
