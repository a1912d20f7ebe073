"""One room a run and process: where its shards are worked on.

Owns the life of a room: opened after all checks, shared by the shards of one process, closed when
everything is staged. Knows no command line and no Prefect.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from nightgate import logs
from nightgate.adapters.store import open_store
from nightgate.cases import Suite, load_suite
from nightgate.curtailment import Curtailment
from nightgate.errors import DamagedError, StoreError
from nightgate.heap import settled_heap
from nightgate.plans import Plan
from nightgate.ports import Clock, Store
from nightgate.requests import RunRequest
from nightgate.rows.memory import use_system_memory
from nightgate.runner import Done, Receipt, Stop, Workshop, run_shard
from nightgate.scores import Cell
from nightgate.shards import Shard, cut
from nightgate.steps import planning, rerunning, sweeping
from nightgate.steps.finishing import Finished, finish_run
from nightgate.trials import Trial
from nightgate.wiring.benches import shared_by
from nightgate.wiring.furnishing import Furniture, draw_up, furnish, go_on, start_anew, stored_plan
from nightgate.wiring.metrics import check_metrics
from nightgate.wiring.readiness import nothing_spent, refuse_unready, unusable
from nightgate.wiring.sweeps import draw_up_sweep, furnish_sweep, go_on_with_sweep, start_sweep, swept
from nightgate.wiring.telling import tell_shard, trial_told

SHARD_TRIALS = 250
"""Trials of one shard: a Prefect task run costs what several trials cost."""
MOST_SHARDS = 64
CLAIM_TRIALS = 25
"""Trials of a shard that workers of a fleet claim: what a dead one takes along."""
MOST_CLAIMS = 400
_MOST_WAITING = 500
"""Trials that wait for judges without a judgement in flight: each is held in memory."""


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """Now, in UTC with zone."""
        return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class Progress:
    """Callbacks while shards run; called on the loop, must not block."""

    on_plan: Callable[[Plan], None] = lambda _: None
    on_warning: Callable[[str], None] = lambda _: None
    on_there: Callable[[int, int], None] = lambda *_: None
    """Trials and cells that were stored before: a run that is taken up plays the rest."""
    on_trial: Callable[[Trial], None] = lambda _: None
    on_cell: Callable[[Cell], None] = lambda _: None
    on_judged: Callable[[], None] = lambda: None
    """A trial has all its findings, whoever made them."""


@dataclass(slots=True, kw_only=True)
class Room:
    """All that this process needs to work on one run."""

    plan: Plan
    shop: Workshop
    furniture: Furniture
    done: Done
    shards: tuple[Shard, ...]
    began: float
    """Monotonic seconds at the start of the run in this process."""

    @property
    def stop(self) -> Stop:
        """Why nothing new may start."""
        return self.shop.stop

    async def run_shard(self, index: int) -> Receipt:
        """Play and judge a shard, then wait for calls whose trial was over before they answered."""
        with logs.about(run=self.plan.run_id, suite=self.plan.suite, shard=index):
            receipt = await run_shard(self.shop, self.shards[index], self.done)
            await self.furniture.hub.settle()
            tell_shard(receipt)
        return receipt

    async def close(self) -> None:
        """Stage what is left, close clients. Safe to call twice."""
        _ROOMS.pop(self.plan.run_id, None)
        # Whatever is still in flight is written down before the journal closes.
        shared = self.furniture.shared
        await self.furniture.meter.abandon(None if shared is None else self.plan.run_id)
        if shared is not None:
            shared.routes.end(self.plan.run_id)
        await self.furniture.stack.aclose()

    async def finish(self) -> Finished:
        """Close, then commit what is complete."""
        await self.close()
        store = self.furniture.store
        try:
            with settled_heap():
                return await asyncio.to_thread(
                    finish_run,
                    store,
                    self.plan.run_id,
                    stopped=self.stop.reason,
                    wall_s=time.monotonic() - self.began,
                )
        except DamagedError:
            raise
        except StoreError as error:
            msg = (
                f"{error}\nWhat was paid for is safe on this machine. When the store is back: "
                f"nightgate publish {self.plan.run_id} --store {store.uri}"
            )
            raise StoreError(msg) from error


_ROOMS: dict[str, Room] = {}
"""Rooms of this process: the tasks of one flow share budget, limits and recorder."""


async def open_room(
    request: RunRequest,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
    joining: bool = False,
    again: rerunning.Chosen | None = None,
) -> Room:
    """Check everything that can be checked, plan the run (or take up a planned one), open its room.

    Args:
        request: What was asked for.
        progress: Callbacks.
        suite: Where it is loaded already.
        store: Where it is open already.
        clock: Gives the scheduled start.
        joining: Whether other processes may be at work on the run that is taken up.
        again: What of another run is played again, where that is not for the request to say.

    Raises:
        InputError: Before anything was spent.
        DamagedError: If a run that it builds on (resumed, rerun, taken over) is not what was stored; before
            anything was spent.
    """
    began = time.monotonic()
    check_metrics()
    logs.set_up()
    use_system_memory()
    progress = progress or Progress()
    loaded = suite if suite is not None else await asyncio.to_thread(load_suite, request.suite)
    if store is None:
        store = await asyncio.to_thread(open_store, request.store)
    stored = await asyncio.to_thread(_reachable, stored_plan, store, request, loaded)
    # The parts of a sweep over several runs share what was looked at before the first of them.
    warned = [] if shared_by(request) else await asyncio.to_thread(_ready, request, store, stored)
    if stored is not None:
        request = (sweeping.taken_up if stored.is_sweep else planning.resumed)(stored, request)
    sweeps = request.sweep is not None
    if again is None:
        again = await asyncio.to_thread(_reachable, rerunning.chosen, store, request, loaded.suite, stored)
    if again is not None:
        loaded, request = again.suite(loaded), again.request(request)
    if sweeps:
        source = await asyncio.to_thread(_reachable, swept, store, request, loaded)
        furniture = furnish_sweep(request, loaded, store, source)
    else:
        furniture = furnish(request, loaded, store, stored if again is None else again.parent)
    now = (clock or SystemClock()).now()
    plan, done = await _planned(furniture, stored, now, sweeps=sweeps, joining=joining, again=again)
    furniture.stack.enter_context(settled_heap())
    progress.on_plan(plan)
    # Of a sweep all trials are there; each is told again once it has its findings.
    progress.on_there(0 if plan.is_sweep else len(done.trials), len(done.cells))
    for warning in (*warned, *furniture.warnings):
        progress.on_warning(warning)
    if furniture.hub.queues is not None and furniture.shared is None:
        furniture.hub.queues.told = progress.on_warning
    return opened(furniture, plan, done, progress, began)


def _ready(request: RunRequest, store: Store, stored: Plan | None) -> list[str]:
    return refuse_unready(request, store, None if stored is None else stored.run_id)


def opened(furniture: Furniture, plan: Plan, done: Done, progress: Progress, began: float) -> Room:
    """The room of a run whose plan is stored and whose recorder is open."""
    # Every process must come to the same cut: it hangs on the plan, and on whether there is a fleet at all.
    most, size = (MOST_CLAIMS, CLAIM_TRIALS) if furniture.request.drainers else (MOST_SHARDS, SHARD_TRIALS)
    count = min(most, -(-plan.trial_count // size))
    room = Room(
        plan=plan,
        shop=_workshop(furniture, plan, progress),
        furniture=furniture,
        done=done,
        shards=cut(plan, count) if plan.trial_count else (),
        began=began,
    )
    _ROOMS[plan.run_id] = room
    return room


async def _planned(
    furniture: Furniture,
    stored: Plan | None,
    now: datetime,
    *,
    sweeps: bool,
    joining: bool,
    again: rerunning.Chosen | None,
) -> tuple[Plan, Done]:
    """Plan the run or take up the stored one, and record from here on; on failure all is closed again."""
    begin, take_up = (start_sweep, go_on_with_sweep) if sweeps else (start_anew, go_on)
    try:
        fresh = draw_up_sweep(furniture, now) if sweeps else await draw_up(furniture, now)
        fresh = fresh if again is None else again.shaped(fresh)
        if stored is None:
            return await begin(furniture, fresh)
        return await take_up(furniture, fresh, stored, joining=joining)
    except StoreError as error:
        await furniture.stack.aclose()
        raise unusable(furniture.store, error) from error
    except BaseException:
        await furniture.stack.aclose()
        raise


T = TypeVar("T")


def _reachable(ask: Callable[..., T], store: Store, *args: Any) -> T:
    """Ask the store before anything is spent."""
    with nothing_spent(store):
        return ask(store, *args)


def _workshop(furniture: Furniture, plan: Plan, progress: Progress) -> Workshop:
    request = furniture.request
    assert furniture.relay.recorder is not None
    return Workshop(
        plan=plan,
        suite=furniture.suite,
        factory=furniture.factory,
        models=furniture.hub,
        evaluators=furniture.evaluators,
        recorder=furniture.relay.recorder,
        slots=asyncio.Semaphore(request.concurrency),
        judge_slots=asyncio.Semaphore(request.judge_concurrency)
        if furniture.shared is None
        else furniture.shared.judge_slots,
        backlog=asyncio.Semaphore(_backlog(plan, request.judge_concurrency)),
        concurrency=request.concurrency,
        judge_concurrency=request.judge_concurrency,
        curtailment=Curtailment(plan) if plan.curtail else None,
        on_trial=trial_told(progress.on_trial),
        on_cell=progress.on_cell,
        on_judged=progress.on_judged,
    )


def _backlog(plan: Plan, window: int) -> int:
    """Finished trials that may wait for judges: those whose judgements fill the window, and a few more."""
    columns = max((len(case.evaluators) for case in plan.cases), default=1)
    return -(-window // max(1, columns)) + min(7 * window, _MOST_WAITING)


def room_here(run_id: str) -> Room | None:
    """The room of a run that is open in this process."""
    return _ROOMS.get(run_id)


async def room_of(request: RunRequest, run_id: str) -> Room:
    """The room of a planned run in this process; opened anew in another worker."""
    known = _ROOMS.get(run_id)
    if known is not None and known.furniture.meter.home is asyncio.get_running_loop():
        return known
    resuming = RunRequest.of_parameters({**request.parameters(), "resume": run_id})
    return await open_room(resuming, joining=True)


async def work(room: Room, index: int) -> Receipt:
    """A shard that ends at once when the run is stopped by hand."""
    shard = asyncio.create_task(room.run_shard(index))
    stopped = asyncio.create_task(room.stop.wait_cancelled())
    try:
        await asyncio.wait({shard, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if shard.done():
            return shard.result()
        shard.cancel()
        await asyncio.wait({shard}, timeout=5.0)
        return Receipt(shard=index, trials=0, cells=0, stopped="cancelled", staged=None)
    finally:
        stopped.cancel()
        shard.cancel()


@contextlib.contextmanager
def stopping_on_signals(run_id: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the run in order: what is finished stays, the rest is marked."""
    room = _ROOMS.get(run_id)
    if room is None:
        yield
        return
    with on_signals(room.stop):
        yield


@contextlib.contextmanager
def cancellable() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C and SIGTERM set while the block runs, for a parent that only waits."""
    stopped = asyncio.Event()
    with on_signals(lambda _: stopped.set()):
        yield stopped


@contextlib.contextmanager
def on_signals(stop: Callable[[str], None]) -> Iterator[None]:
    """Call ``stop("cancelled")`` on Ctrl-C and SIGTERM while the block runs, in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in previous:
        loop.add_signal_handler(number, stop, "cancelled")
    try:
        yield
    finally:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
