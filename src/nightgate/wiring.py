"""Adapters and steps put together: the Python surface, and one room a run and process.

Owns which adapter fills which port. ``run_suite`` is the whole pipeline without a server; the
flows call the same pieces one by one. Knows no command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.cases import Suite, load_suite
from nightgate.errors import InputError, StoreError, UnpricedError
from nightgate.gates import Decision
from nightgate.plans import Plan, Shard, cut, new_run_id
from nightgate.ports import Clock, Store
from nightgate.recorder import Recorder, bring_up, next_epoch
from nightgate.requests import RunRequest
from nightgate.rows.keys import summary_key
from nightgate.runner import Done, Receipt, Stop, Workshop, run_shard, size_executor
from nightgate.scores import Cell
from nightgate.steps import planning, reporting, reusing
from nightgate.steps.collecting import Collected, collect
from nightgate.steps.finishing import Finished, finish_run
from nightgate.steps.gating import gate_run
from nightgate.steps.listing import latest
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.summaries import Summary
from nightgate.trials import Trial

SHARD_TRIALS = 250
"""Trials of one shard: a Prefect task run costs what several trials cost."""
MOST_SHARDS = 64

LEAST_RETRIES = 200
RETRIES_A_TRIAL = 4
"""The run's budget of retries: a provider that is down must not be asked for ever."""

_JUDGE_CALLS = 6
"""Answered calls of one judgement: a judge that keeps returning unusable output must end."""
_AGENT_CALLS = 200

__all__ = ["Room", "RunRequest", "gate", "open_room", "open_store", "room_of", "run_request", "run_suite"]


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """Now, in UTC with zone."""
        return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class Progress:
    """Callbacks while shards run; called on the loop, must not block."""

    on_plan: Callable[[Plan], None] = lambda _: None
    on_trial: Callable[[Trial], None] = lambda _: None
    on_cell: Callable[[Cell], None] = lambda _: None


@dataclass(slots=True, kw_only=True)
class Room:
    """All that this process needs to work on one run."""

    request: RunRequest
    plan: Plan
    store: Store
    shop: Workshop
    hub: Any
    meter: Any
    done: Done
    shards: tuple[Shard, ...]
    began: float
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    @property
    def stop(self) -> Stop:
        """Why nothing new may start."""
        return self.shop.stop

    async def run_shard(self, index: int) -> Receipt:
        """Play and judge a shard, then wait for calls whose trial was over before they answered."""
        receipt = await run_shard(self.shop, self.shards[index], self.done)
        await self.hub.settle()
        return receipt

    async def close(self) -> None:
        """Stage what is left, close clients. Safe to call twice."""
        _ROOMS.pop(self.plan.run_id, None)
        if self.stop.reason == "cancelled":
            await self.meter.abandon()
        await self.stack.aclose()

    async def finish(self) -> Finished:
        """Close, then commit what is complete."""
        await self.close()
        return await asyncio.to_thread(
            finish_run,
            self.store,
            self.plan.run_id,
            stopped=self.stop.reason,
            wall_s=time.monotonic() - self.began,
        )


_ROOMS: dict[str, Room] = {}
"""Rooms of this process: the tasks of one flow share budget, limits and recorder."""


async def open_room(
    request: RunRequest,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Room:
    """Check everything that can be checked, plan the run (or take up a planned one), open its room.

    Args:
        request: What was asked for.
        progress: Callbacks.
        suite: Where it is loaded already.
        store: Where it is open already.
        clock: Gives the scheduled start.

    Raises:
        InputError: Before anything was spent.
    """
    began = time.monotonic()
    loaded = suite if suite is not None else await asyncio.to_thread(load_suite, request.suite)
    if store is None:
        store = await asyncio.to_thread(open_store, request.store)
    stored = await asyncio.to_thread(_stored_plan, store, request)
    if stored is not None:
        request = planning.resumed(stored, request)
    now = (clock or SystemClock()).now()
    room = await _furnish(request, loaded, store, stored, progress or Progress(), began, now)
    _ROOMS[room.plan.run_id] = room
    return room


async def room_of(request: RunRequest, run_id: str) -> Room:
    """The room of a planned run in this process; opened anew in another worker."""
    known = _ROOMS.get(run_id)
    if known is not None and known.meter.home is asyncio.get_running_loop():
        return known
    return await open_room(_resuming(request, run_id))


def _resuming(request: RunRequest, run_id: str) -> RunRequest:
    return RunRequest.of_parameters({**request.parameters(), "resume": run_id})


def _stored_plan(store: Store, request: RunRequest) -> Plan | None:
    """The plan to go on with: ``--resume``, or a run id that is planned and open already."""
    if request.resume is None:
        return None
    plan = load_plan(store, request.resume)
    if manifest_of(store, plan) is not None:
        finish_run(store, plan.run_id)  # its summary may be older than its commit
        msg = f"run {plan.run_id} is complete: there is nothing to resume"
        raise InputError(msg)
    return plan


async def _furnish(
    request: RunRequest,
    loaded: Suite,
    store: Store,
    stored: Plan | None,
    progress: Progress,
    began: float,
    now: datetime,
) -> Room:
    from nightgate.adapters.agents import StrandsFactory
    from nightgate.adapters.hub import ModelHub, model_identity
    from nightgate.adapters.metering import Meter
    from nightgate.adapters.refusing import RefusingModel
    from nightgate.adapters.sources import digests
    from nightgate.calls import Role
    from nightgate.evaluators import registry
    from nightgate.imports import load_object
    from nightgate.prices import Budget, PriceTable

    suite = planning.resolve(loaded, request)
    _refuse_personas(suite)
    folders = (suite.path, Path.cwd())
    scripts = (suite.path / "scripts",)
    prices = PriceTable.load(Path(request.prices) if request.prices else None)
    budget = Budget(request.budget_nanousd(suite.budget_usd))
    size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    relay = _Relay()
    meter = Meter(
        budget=budget,
        journal=relay,
        call_caps={Role.JUDGE: _JUDGE_CALLS, Role.AGENT: _AGENT_CALLS},
    )
    hub = ModelHub(
        meter,
        prices,
        scripts,
        in_flight=max(request.concurrency, request.judge_concurrency),
        now=time.monotonic,
    )
    stack = contextlib.AsyncExitStack()
    stack.push_async_callback(hub.close)
    hub.build(suite.model, Role.AGENT)
    judge = hub.judge(suite.judge) if suite.judge is not None else None
    live = stored.live if stored is not None else planning.with_live_evaluators(suite, request)
    evaluators = registry.build(suite, planning.planned_names(suite, live=live), judge, folders)
    if budget.cap_nanousd and not request.allow_unpriced:
        _refuse_unpriced(suite, hub, needs_judge=any(r.facts.kind == "judge" for r in evaluators.values()))
    factory = StrandsFactory(load_object(suite.agent, folders, what=f"{suite.file}: agent"), suite.agent)
    identity = model_identity(suite.model, scripts)
    sources = await asyncio.to_thread(digests, suite.fingerprint, suite.path)
    agents = await planning.fingerprints(suite, factory, RefusingModel(), identity, sources)
    fresh = planning.make_plan(
        suite,
        request,
        agents=agents,
        evaluators=evaluators,
        price_table=prices.version,
        live=live,
        now=now,
    )
    done = Done()
    epoch = 1
    source = await asyncio.to_thread(_source, store, request, suite) if stored is None else None
    if stored is None:
        plan = replace(fresh, parent=source)
        await asyncio.to_thread(planning.store_plan, store, plan)
    else:
        plan = stored
        planning.refuse_mixing(stored, fresh)
        await asyncio.to_thread(bring_up, store, plan.run_id, request.spool_folder)
        found = await asyncio.to_thread(collect, store, plan.run_id)
        done = _done(found)
        budget.add_spent(found.spent_nanousd)
        epoch = await asyncio.to_thread(next_epoch, store, plan.run_id)
    recorder = Recorder(store, plan.run_id, f"w{secrets.token_hex(4)}", epoch, request.spool_folder)
    relay.recorder = await stack.enter_async_context(recorder)
    meter.retries_left = max(LEAST_RETRIES, RETRIES_A_TRIAL * plan.trial_count)
    progress.on_plan(plan)
    if source is not None:
        done = await asyncio.to_thread(_take_over, store, source, plan, recorder)
    shop = Workshop(
        plan=plan,
        suite=suite,
        factory=factory,
        models=hub,
        evaluators=evaluators,
        recorder=recorder,
        slots=asyncio.Semaphore(request.concurrency),
        judge_slots=asyncio.Semaphore(request.judge_concurrency),
        concurrency=request.concurrency,
        judge_concurrency=request.judge_concurrency,
        on_trial=progress.on_trial,
        on_cell=progress.on_cell,
    )
    count = min(MOST_SHARDS, -(-plan.trial_count // SHARD_TRIALS))
    return Room(
        request=request,
        plan=plan,
        store=store,
        shop=shop,
        hub=hub,
        meter=meter,
        done=done,
        shards=cut(plan, count) if plan.trial_count else (),
        began=began,
        stack=stack,
    )


class _Relay:
    """The meter's journal before and after the recorder is there: planning makes no calls."""

    recorder: Recorder | None = None

    def __call__(self, record: Any) -> None:
        assert self.recorder is not None, "a model was called while the run was being planned"
        self.recorder.write(record)


def _done(found: Collected) -> Done:
    """What a resumed run need not do again."""

    def reader(case_id: str, number: int) -> Callable[[], Trial]:
        return lambda: found.trial(case_id, number)

    return Done(
        trials={key: reader(*key) for key in found.trials},
        cells=frozenset(found.cells),
        plays=dict(found.plays),
    )


def _source(store: Store, request: RunRequest, suite: Suite) -> str | None:
    """The run that ``--reuse`` means; ``latest`` is this suite's."""
    if request.reuse is None or request.reuse != "latest":
        return request.reuse
    return latest(store, suite.suite)


def _take_over(store: Store, source: str, plan: Plan, recorder: Recorder) -> Done:
    """Record the trials that another run paid for; they are this run's from here on."""
    trials: dict[tuple[str, int], Callable[[], Trial]] = {}
    cells: set[tuple[str, int, str]] = set()
    for taken in reusing.take(store, source, plan):
        recorder.write(taken.trial, *taken.cells)
        key = (taken.trial.key.case_id, taken.trial.key.trial)
        trials[key] = _held(taken.trial)
        cells.update((*key, cell.score.evaluator) for cell in taken.cells)
    return Done(trials=trials, cells=frozenset(cells))


def _held(trial: Trial) -> Callable[[], Trial]:
    return lambda: trial


def _refuse_personas(suite: Suite) -> None:
    talking = [case.id for case in suite.cases if case.persona is not None]
    if talking:
        msg = (
            f"{suite.file}: case {talking[0]!r} has a persona, and this version plays no conversations yet: "
            "narrow the run with --case, --tag or --layer"
        )
        raise InputError(msg)


def _refuse_unpriced(suite: Suite, hub: Any, *, needs_judge: bool) -> None:
    """A cap over a model whose price is unknown could never bind."""
    from nightgate.calls import Role

    roles = [(suite.model, Role.AGENT)] + ([(suite.judge, Role.JUDGE)] if needs_judge and suite.judge else [])
    for spec, role in roles:
        if not hub.priced(spec, role):
            msg = (
                f"{suite.file}: the price of {role.value} model {spec!r} is unknown, no budget can hold: "
                "add it with --prices FILE, drop the budget, or pass --allow-unpriced"
            )
            raise UnpricedError(msg)


async def run_request(
    request: RunRequest,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Finished:
    """The whole pipeline in this process: plan, shards, finish, gate. Arguments as ``open_room``'s."""
    room = await open_room(request, progress, suite=suite, store=store, clock=clock)
    with stopping_on_signals(room.plan.run_id):
        try:
            await asyncio.gather(*(work(room, index) for index in range(len(room.shards))))
        except BaseException:
            await room.close()
            raise
        return await room.finish()


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


async def finish(request: RunRequest, run_id: str) -> Finished:
    """Finish a run from its room in this process, or from the store alone."""
    room = _ROOMS.get(run_id)
    if room is not None:
        return await room.finish()
    store = await asyncio.to_thread(open_store, request.store)
    return await asyncio.to_thread(finish_run, store, run_id)


@contextlib.contextmanager
def stopping_on_signals(run_id: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the run in order: what is finished stays, the rest is marked."""
    room = _ROOMS.get(run_id)
    if room is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in previous:
        loop.add_signal_handler(number, room.stop, "cancelled")
    try:
        yield
    finally:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def named(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Flow parameters with their run id fixed, so that the run can be found whatever happens to it."""
    request = RunRequest.of_parameters(parameters)
    if request.run_id is None and request.resume is None:
        suite = Path(request.suite).resolve().name.lower()
        slug = (
            "".join(char if char.isascii() and char.isalnum() else "-" for char in suite).strip("-")
            or "suite"
        )
        request = request.named(new_run_id(slug, datetime.now(UTC), secrets.token_hex(3)))
    return request.parameters()


async def headline(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The headline of a run from its stored summary; inconclusive when it has none."""
    document = await stored_summary(parameters)
    return reporting.headline(Summary(document)) if "evaluators" in document else document


async def stored_summary(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The whole summary document of a run; a headline where it left none."""
    request = RunRequest.of_parameters(parameters)
    run_id = request.resume or request.run_id
    store = await asyncio.to_thread(open_store, request.store)
    try:
        document: dict[str, Any] = json.loads(await asyncio.to_thread(store.read, summary_key(run_id or "")))
    except StoreError as error:
        return reporting.broken(request.suite, run_id, str(error))
    return document


async def preflight(request: RunRequest) -> None:
    """Check all that a run checks before it spends anything, and leave nothing behind.

    Raises:
        InputError: As the run would.
    """
    with tempfile.TemporaryDirectory() as spool:
        room = await open_room(replace(request, store=spool, spool=spool, run_id=None, resume=None))
        await room.close()
    store = await asyncio.to_thread(open_store, request.store)
    await asyncio.to_thread(store.find, "manifests/")


async def run_suite(suite: str | Path | Suite, *, store: str | Store, **options: Any) -> Summary:
    """Run a suite in this process; no Prefect, the same results.

    Args:
        suite: Its folder, or a loaded suite.
        store: A folder or ``s3://bucket/prefix``.
        **options: As the command line's: ``model``, ``judge``, ``trials``, ``case``, ``run_id``,
            ``concurrency``, ``budget_usd`` and so on; ``clock`` fixes the scheduled start.

    Returns:
        The summary; ``.as_dict()`` is the JSON document.

    Raises:
        InputError: Before anything was spent.
    """
    loaded = suite if isinstance(suite, Suite) else None
    path = suite.path if isinstance(suite, Suite) else Path(suite)
    uri = store if isinstance(store, str) else store.uri
    clock: Clock | None = options.pop("clock", None)
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    request = RunRequest.make(path, {"store": uri, **_texts(values)})
    opened = None if isinstance(store, str) else store
    finished = await run_request(request, suite=loaded, store=opened, clock=clock)
    return finished.summary


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: str(v) if k == "budget_usd" and v is not None else v for k, v in values.items()}


def gate(store: str | Store, run_id: str) -> Decision:
    """Decide on a stored run again."""
    return gate_run(open_store(store) if isinstance(store, str) else store, run_id)
