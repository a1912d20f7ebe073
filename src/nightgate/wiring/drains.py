"""A worker of a fleet on one run: it claims shards, plays them, and goes when none is left.

Owns the worker's loop: how many shards it holds so that its slots stay filled, its renewals, and what
becomes of a shard that it loses or cannot bring up. Other workers are known by their claims alone, so
it makes no difference who they are and what became of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeVar

from nightgate import logs
from nightgate.adapters.meter import booked_nanousd
from nightgate.adapters.store import open_store
from nightgate.errors import DamagedError, InputError, MissingError, StoreError
from nightgate.prices import LeasedBudget
from nightgate.recorder import bring_up
from nightgate.requests import RunRequest
from nightgate.runner import Done, run_shard
from nightgate.steps import purses
from nightgate.steps.claims import PATIENCE_S, Claims, Taken
from nightgate.steps.collecting import Collected, collect
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.steps.stops import is_stopped
from nightgate.wiring.rooms import Room, on_signals, room_of
from nightgate.wiring.shares import Shares, sharing
from nightgate.wiring.telling import tell_claim, tell_let_go, tell_lost, tell_shard

T = TypeVar("T")

_PAUSE_S = 2.0
"""Between two tries while the store is away."""
_LOOKS = 8
"""How often a worker without work looks for some within the patience."""


@dataclass(slots=True, kw_only=True)
class Drained:
    """What one worker did."""

    run_id: str
    owner: str
    shards: int = 0
    """Played to their end."""
    trials: int = 0
    cells: int = 0
    taken_over: int = 0
    """Shards that somebody had before."""
    lost: int = 0
    """Shards that somebody else took over while they were played here."""
    stopped: str | None = None
    staged: str | None = None
    """Why records wait on this machine, when the store is away."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


async def drain(
    request: RunRequest,
    run_id: str,
    owner: str,
    *,
    patience_s: float = PATIENCE_S,
    on_start: Callable[[Room], None] = lambda _: None,
) -> Drained:
    """Work on a planned run until no shard of it is left.

    Args:
        request: What was asked for, as the run's parent has it.
        run_id: The run.
        owner: This worker's name, unique within the run: two that share one take each other's work.
        patience_s: Seconds after which a claim that does not change is taken over; the same for all workers.
        on_start: Told of the room once it is open.

    Raises:
        InputError: If the run cannot be taken up here: another configuration, no such run, no module.
        OSError: If the journal cannot be written.
    """
    try:
        room = await room_of(request, run_id)
    except InputError:
        if await asyncio.to_thread(_committed, request.store, run_id):
            return Drained(run_id=run_id, owner=owner)  # started too late: the others are through
        raise
    try:
        on_start(room)
        _share_cap(room, owner)
        claims = Claims(
            room.furniture.store,
            run_id,
            len(room.shards),
            owner,
            patience_s=patience_s,
            journal=room.shop.recorder.journal,
            committed=lambda: manifest_of(room.furniture.store, room.plan) is not None,
        )
        async with sharing(room.furniture.hub, os.environ, request.drainers) as shares:
            with logs.about(run=run_id, suite=room.plan.suite, worker=owner), on_signals(room.stop):
                return await _Drain(room, claims, owner, patience_s, shares).run()
    finally:
        await room.close()


def _committed(uri: str, run_id: str) -> bool:
    """Whether the run is complete, and nothing is left to play."""
    try:
        store = open_store(uri)
        return manifest_of(store, load_plan(store, run_id)) is not None
    except StoreError:  # why it cannot be told is what the room was refused for
        return False


def _share_cap(room: Room, owner: str) -> None:
    """From here on the worker's money is leased from the run's purse; without a cap there is none."""
    furniture, run_id = room.furniture, room.plan.run_id
    cap = furniture.budget.cap_nanousd
    if not cap:
        return
    store, workers, calls = furniture.store, furniture.request.drainers, furniture.meter.prefix

    def lend(missing: int) -> int:
        while True:
            try:
                return purses.lease(store, run_id, owner, calls, missing, workers)
            except (DamagedError, MissingError):
                raise
            except StoreError:
                time.sleep(_PAUSE_S)  # in a thread of its own: the call waits, as for a rate limit

    budget = LeasedBudget(cap, lend)

    def settle() -> None:
        with contextlib.suppress(StoreError):  # then whoever finishes the run reads it in the ledger
            purses.settle(store, run_id, owner, lambda _: budget.spent_nanousd)

    furniture.budget = furniture.meter.budget = budget
    furniture.stack.callback(settle)


class _Drain:
    def __init__(
        self, room: Room, claims: Claims, owner: str, patience_s: float, shares: Shares | None
    ) -> None:
        self.room, self.claims, self.patience_s, self.shares = room, claims, patience_s, shares
        self.found = Drained(run_id=room.plan.run_id, owner=owner)
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.waiting: Taken | None = None
        """A shard that is held until there is a share to play it with."""
        self._turn = asyncio.Lock()
        self._asked_at = time.monotonic()
        size = max((len(shard.trials) for shard in room.shards), default=1)
        # One shard more than fills the slots: the next is at hand when the first runs out of trials.
        self.most = 1 + -(-max(room.shop.concurrency, 1) // max(size, 1))

    async def run(self) -> Drained:
        renewing = asyncio.create_task(self._renew())
        try:
            await self._work()
        finally:
            for task in self.tasks.values():
                task.cancel()
            await asyncio.gather(*self.tasks.values(), return_exceptions=True)
            renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewing
            with contextlib.suppress(StoreError):  # silent from here on, they are taken over all the same
                await self._let_go()
        self.found.stopped = self.room.stop.reason
        self.found.staged = self.room.shop.recorder.problem
        return self.found

    async def _work(self) -> None:
        stopped = asyncio.create_task(self.room.stop.wait_cancelled())
        try:
            while True:
                await self._fill()
                if self.room.stop.reason is not None or (not self.tasks and self.claims.all_done()):
                    break
                await asyncio.wait(
                    {*self.tasks.values(), stopped},
                    timeout=self.patience_s / _LOOKS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                self._reap()
            if self.room.stop.reason != "cancelled" and self.tasks:  # what the budget let start is played on
                await asyncio.wait(self.tasks.values())
            self._reap()
        finally:
            stopped.cancel()

    async def _fill(self) -> None:
        """Claim shards until the slots are filled or none is to be had."""
        if self.shares is not None and not await self._has_share(self.shares):
            return
        if (waiting := self.waiting) is not None:
            self.waiting = None
            self._begin(waiting)
        while len(self.tasks) < self.most and self.room.stop.reason is None:
            try:
                taken = await self._claimed(self.claims.take)
            except DamagedError:
                raise
            except StoreError:
                return  # away; what is held goes on
            if taken is None:
                return
            self._begin(taken)

    async def _has_share(self, shares: Shares) -> bool:
        """Whether there is a share; asked for with a shard in hand, so that all see this worker waiting."""
        if not self.tasks and self.waiting is None:
            try:
                self.waiting = held = await self._claimed(self.claims.take)
            except DamagedError:
                raise
            except StoreError:
                return False
            shares.ask(wanted=held is not None)
        return shares.ready

    def _begin(self, taken: Taken) -> None:
        self.found.taken_over += taken.before is not None
        with logs.about(shard=taken.shard):
            tell_claim(taken)
            self.tasks[taken.shard] = asyncio.create_task(self._play(taken))

    def _reap(self) -> None:
        for shard, task in list(self.tasks.items()):
            if task.done():
                del self.tasks[shard]
                if not task.cancelled():
                    task.result()  # a journal that cannot be written ends the worker

    async def _play(self, taken: Taken) -> None:
        room = self.room
        done = room.done
        if taken.before is not None:
            done = await self._patiently(partial(self._caught_up, taken))
        shop = replace(room.shop, admit=partial(self._admitted, taken.shard))
        receipt = await run_shard(shop, room.shards[taken.shard], done)
        await room.furniture.hub.settle()
        self.found.trials += receipt.trials
        self.found.cells += receipt.cells
        await self._patiently(room.shop.recorder.flush)
        # Only now: whoever reads "done" must find all of it in the store.
        whole = receipt.stopped is None
        end = partial(self._claimed, self.claims.end, taken.shard, done=whole, why=receipt.stopped)
        if await self._patiently(end):
            self.found.shards += whole
            tell_shard(receipt)
        else:
            self.found.lost += 1
            tell_lost(taken.shard)

    async def _caught_up(self, taken: Taken) -> Done:
        """What is in the store by now: another worker may have played a part of the shard."""
        room, sweep = self.room, self.room.plan.is_sweep
        store, run_id = room.furniture.store, room.plan.run_id
        # The journal of a worker that was killed on this machine knows its last second.
        await asyncio.to_thread(bring_up, store, run_id, room.furniture.request.spool_folder)
        found = await asyncio.to_thread(collect, store, run_id, sweep=sweep)
        if taken.silent and taken.before is not None and room.furniture.budget.cap_nanousd:
            await asyncio.to_thread(self._settle_for, taken.before, found)
        before = room.done

        def reader(case_id: str, number: int) -> Any:
            return lambda: found.trial(case_id, number)

        return replace(
            before,
            trials=before.trials if sweep else {key: reader(*key) for key in found.trials},
            cells=frozenset(before.cells) | frozenset(found.cells),
            cell=lambda *key: found.cell(*key) or before.cell(*key),
            plays=dict(found.plays),
        )

    def _settle_for(self, owner: str, found: Collected) -> None:
        """What a dead worker spent stands in the ledger; what else it had leased is free again."""
        ledger = found.calls()

        def spent(calls: str) -> int:
            return booked_nanousd((call for call in ledger if call.call_id.startswith(calls)), ledger)

        purses.settle(self.room.furniture.store, self.room.plan.run_id, owner, spent)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.claims.renew_s)
            await self._renew_once()
            await self._listen()

    async def _listen(self) -> None:
        """Stop where the run's parent says so: after an outage Prefect's own word is not heard any more."""
        store, run_id = self.room.furniture.store, self.room.plan.run_id
        with contextlib.suppress(StoreError):
            if await asyncio.to_thread(is_stopped, store, run_id):
                self.room.stop("cancelled")

    async def _renew_once(self) -> None:
        async with self._turn:
            lost: list[int] = []
            with contextlib.suppress(StoreError):  # away: nobody can take over then either
                lost = await asyncio.to_thread(self.claims.renew)
            self._asked_at = time.monotonic()
        for shard in lost:
            self.found.lost += 1
            tell_lost(shard)
            if self.waiting is not None and self.waiting.shard == shard:
                self.waiting = None
            if task := self.tasks.get(shard):
                task.cancel()
        budget = self.room.furniture.budget
        if lost and isinstance(budget, LeasedBudget):
            budget.forget()  # others were lent what this worker had leased

    async def _admitted(self, shard: int) -> bool:
        """Whether the shard is still this worker's; one that slept through its patience asks first."""
        if time.monotonic() - self._asked_at > self.patience_s / 2:
            await self._renew_once()
        return shard in self.claims.held

    async def _let_go(self) -> None:
        for shard in self.claims.held:
            await self._claimed(self.claims.end, shard, done=False, why=self.room.stop.reason)
            tell_let_go(shard, self.room.stop.reason)

    async def _claimed(self, ask: Callable[..., T], *args: Any, **options: Any) -> T:
        """Something of the claims, which are for one at a time."""
        async with self._turn:
            return await asyncio.to_thread(ask, *args, **options)

    async def _patiently(self, ask: Callable[[], Any]) -> Any:
        """What the store answers once it is there; cancelled like anything else."""
        while True:
            try:
                return await ask()
            except DamagedError:
                raise
            except StoreError:
                await asyncio.sleep(_PAUSE_S)
