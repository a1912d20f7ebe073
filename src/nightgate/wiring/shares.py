"""A worker's share of what its models may be driven to, leased from the limits that all workers hold.

Owns when a share is taken, kept and given back, and sets the models' limiters to it. A worker asks for its
equal part first. While its calls wait for more and something is free, as when others are through, it takes
that too, for a while only, so that whoever comes finds a part. While the server is away it goes on with what
it has. Knows nothing of calls and of shards.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

from nightgate.adapters.hub import Drive
from nightgate.adapters.leases import LEASE_S, GlobalLimit, Lease, limit_name
from nightgate.adapters.prefect_api import PrefectApi, PrefectApiError

RENEW_S = LEASE_S / 4
"""Between two renewals of a lease."""
LOOK_S = 2.0
"""Between two tries while a share is missing."""
EXTRA_S = LEASE_S / 2
"""How long what was taken beyond the equal part is kept."""
_TITLES = {"in_flight": "calls in flight", "rpm": "requests a minute", "tpm": "tokens a minute"}


class Driven(Protocol):
    """What knows the models: a ``ModelHub``."""

    told: dict[str, Drive]

    def drive(self, model: str, share: Drive) -> None:
        """Set how hard this process drives a model."""

    def wanted(self, model: str) -> bool:
        """Whether calls of a model wait for more than this process may do."""


@dataclass(slots=True, kw_only=True)
class _Part:
    """What this worker has of one limit."""

    model: str
    kind: str
    limit: GlobalLimit
    equal: int
    """Its equal part, at least 1."""
    held: list[Lease] = field(default_factory=list)
    extra: Lease | None = None
    renewed_at: float = -math.inf
    extra_at: float = -math.inf
    """When the extra was taken or given back."""

    @property
    def slots(self) -> int:
        """All that it may use."""
        return sum(lease.slots for lease in self.held) + (self.extra.slots if self.extra else 0)

    @property
    def short(self) -> bool:
        """Whether its equal part is not held in full."""
        return sum(lease.slots for lease in self.held) < self.equal


class Shares:
    """One worker's shares. Lives on the loop of the models' limiters.

    Args:
        hub: The models.
        api: The server whose limits they are.
        workers: How many share them.
        monotonic: Seconds of this machine.
    """

    def __init__(
        self,
        hub: Driven,
        api: PrefectApi,
        workers: int,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub, self._now = hub, monotonic
        self._asked = True
        self._told = asyncio.Event()
        self._over = False
        self._looking = asyncio.Lock()
        self._parts = [
            _Part(
                model=model,
                kind=kind,
                limit=GlobalLimit(api, limit_name(model, _TITLES[kind]), max(1, int(value))),
                equal=max(1, int(value) // max(1, workers)),
            )
            for model, told in hub.told.items()
            for kind, value in _values(told)
        ]
        self._drive()

    @property
    def ready(self) -> bool:
        """Whether there is something of every limit: else a shard would be held and not played."""
        return self._asked and all(part.slots for part in self._parts)

    def ask(self, *, wanted: bool) -> None:
        """Say whether there is anything to play: without, all of the share is for others."""
        if wanted is not self._asked:
            self._asked = wanted
            self._told.set()

    async def keep(self) -> None:
        """Take, renew, give back, until ``close``."""
        while self._parts and not self._over:
            self._told.clear()
            await self.look()
            # Not ``wait_for``: it swallows a cancellation that comes in the same moment as the word.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._told.wait()

    async def look(self) -> None:
        """Do what is due now; while the server is away, nothing."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        if self._over or not self._asked:
            await self._let_go(self._parts)
            self._drive()
            return
        with contextlib.suppress(PrefectApiError):
            for number, part in enumerate(self._parts):
                await asyncio.to_thread(self._tend, part, self._hub.wanted(part.model))
                if not part.slots:
                    # All workers take in this order, and hold nothing behind what they miss: two that held
                    # each what the other waits for would wait for ever.
                    await self._let_go(self._parts[number + 1 :])
                    break
        self._drive()

    async def close(self) -> None:
        """Give all of it back; what cannot be comes back by itself."""
        self._over = True
        self._told.set()
        async with self._looking:  # what is being taken at this moment is given back, too
            await self._let_go(self._parts)

    async def _let_go(self, parts: Sequence[_Part]) -> None:
        for part in parts:
            now = self._now()
            leases = [(lease, part.renewed_at) for lease in part.held]
            leases += [(part.extra, part.extra_at)] if part.extra else []
            part.held, part.extra = [], None
            for lease, since in leases:
                with contextlib.suppress(PrefectApiError):
                    await asyncio.to_thread(self._return, part.limit, lease, now - since)

    @staticmethod
    def _return(limit: GlobalLimit, lease: Lease, age_s: float) -> None:
        """Give a lease back; the slots of one that the server forgot are freed all the same."""
        if limit.renew(lease):
            limit.give_back(lease)
        elif age_s < LEASE_S - LOOK_S:  # not because its time was over
            limit.uncount(lease)

    def _tend(self, part: _Part, wanted: bool) -> None:
        now = self._now()
        if part.held and now - part.renewed_at >= RENEW_S:
            self._renew(part, now)
        if part.extra is not None and now - part.extra_at >= EXTRA_S:
            # For a moment it is free: whoever waits takes it, else it is taken again at the next look.
            extra, since = part.extra, part.extra_at
            part.extra, part.extra_at = None, now
            self._return(part.limit, extra, now - since)
        if part.short:
            missing = part.equal - sum(lease.slots for lease in part.held)
            if lease := part.limit.take(missing):
                part.renewed_at = now if not part.held else part.renewed_at
                part.held.append(lease)
        elif part.extra is None and wanted and now - part.extra_at >= LOOK_S * 2:
            part.extra = part.limit.take(part.limit.slots)
            part.extra_at = now

    @staticmethod
    def _renew(part: _Part, now: float) -> None:
        """Keep what is held; what is not, is taken anew."""
        young = now - part.renewed_at < LEASE_S - LOOK_S
        for lease in list(part.held):
            if not part.limit.renew(lease):
                if young:  # not because its time was over
                    part.limit.uncount(lease)
                part.held.remove(lease)
        part.renewed_at = now

    def _drive(self) -> None:
        for model, told in self._hub.told.items():
            shares = {part.kind: part.slots for part in self._parts if part.model == model}
            if shares:
                self._hub.drive(model, Drive(**{kind: shares[kind] for kind, _ in _values(told)}))


def shares_of(hub: Driven, environ: Mapping[str, str], workers: int) -> Shares | None:
    """Where a Prefect server is named, its limits; None: the models keep their static parts."""
    url = environ.get("PREFECT_API_URL")
    return Shares(hub, PrefectApi(url, environ), workers) if url and workers else None


@contextlib.asynccontextmanager
async def sharing(hub: Driven, environ: Mapping[str, str], workers: int) -> AsyncIterator[Shares | None]:
    """Hold a worker's share for the length of the block; None: as ``shares_of``."""
    shares = shares_of(hub, environ, workers)
    if shares is None:
        yield None
        return
    keeping = asyncio.create_task(shares.keep())
    try:
        yield shares
    finally:
        # Not cancelled: a lease that a thread is just taking would be nobody's, and held for a minute.
        await shares.close()
        await keeping


def _values(told: Drive) -> Iterator[tuple[str, float]]:
    for named in fields(told):
        value = getattr(told, named.name)
        if value is not None:
            yield named.name, value
