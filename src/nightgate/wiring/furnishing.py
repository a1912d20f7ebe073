"""What a room is furnished with: models, evaluators, agents, a plan, a recorder.

Owns the order of the checks that come before the first call, and which adapter fills which port.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from nightgate.calls import Call, CallStart, Role
from nightgate.cases import Suite
from nightgate.cases.quarantines import faults as quarantine_faults
from nightgate.conversations.personas import PROMPT_VERSION
from nightgate.errors import InputError, UnpricedError
from nightgate.evaluators.registry import Registered
from nightgate.imports import load_object
from nightgate.panels import Jury
from nightgate.plans import CANARY, Plan, utc_date
from nightgate.ports import Store
from nightgate.prices import Budget, PriceTable
from nightgate.recorder import Recorder, bring_up, next_epoch, refuse_living
from nightgate.requests import RunRequest
from nightgate.runner import Done, size_executor
from nightgate.scores import Cell
from nightgate.steps import bases, planning, probing, reusing
from nightgate.steps.collecting import collect
from nightgate.steps.finishing import finish_run
from nightgate.steps.listing import resolve
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.trials import Trial
from nightgate.wiring.alerts import refuse_bad_channels
from nightgate.wiring.judges import advisory, refuse_related, seat_judges

LEAST_RETRIES = 200
RETRIES_A_TRIAL = 4
"""The run's budget of retries: a provider that is down must not be asked for ever."""

JUDGE_CALLS = 6
"""Answered calls of one judgement: a judge that keeps returning unusable output must end."""
AGENT_CALLS = 200
USER_CALLS = 200
"""Of one conversation, drafts that were asked for again included."""


class Relay:
    """The meter's journal: there before the recorder is, because planning makes no calls."""

    recorder: Recorder | None = None

    def __call__(self, record: CallStart | Call) -> None:
        """Hand a record on."""
        assert self.recorder is not None, "a model was called while the run was being planned"
        self.recorder.write(record)


@dataclass(slots=True, kw_only=True)
class Furniture:
    """All of a run that is there before its plan."""

    request: RunRequest
    suite: Suite
    """Resolved: filters, models and trials of this run in place."""
    store: Store
    live: bool
    prices: PriceTable
    budget: Budget
    relay: Relay
    meter: Any
    hub: Any
    evaluators: dict[str, Registered]
    factory: Any
    jury: Jury | None = None
    """The panel that judges; None where one judge does."""
    source: Any = None
    """In a sweep: the run whose trials are judged."""
    judged: Any = None
    """In a sweep: evaluators with their plans, by planned name."""
    shared: Any = None
    """In a part of a sweep over several runs: what the parts share (``benches.Shared``)."""
    warnings: list[str] = field(default_factory=list)
    """What probably was not meant; for people, before the first call."""
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)


def furnish(request: RunRequest, loaded: Suite, store: Store, stored: Plan | None) -> Furniture:
    """Build everything that can be built without a call.

    Args:
        request: What was asked for.
        loaded: The suite as its files have it.
        store: The store.
        stored: The plan that is gone on with, if any.

    Raises:
        InputError: If something cannot be built or must not run.
    """
    from nightgate.adapters.agents import StrandsFactory

    suite = planning.resolve(loaded, request)
    refuse_bad_channels(suite, request)
    folders = (suite.path, Path.cwd())
    prices = PriceTable.load(Path(request.prices) if request.prices else None)
    budget = Budget(request.budget_nanousd(suite.budget_usd))
    relay = Relay()
    size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    meter, hub = models_of(request, suite, budget, prices, relay)
    hub.build(suite.model, Role.AGENT)
    if suite.user is not None and talks(suite):
        hub.build(suite.user, Role.USER)
    live = stored.live if stored is not None else planning.with_live_evaluators(suite, request)
    evaluators, jury = seat_judges(suite, planning.planned_names(suite, live=live), hub, folders)
    judges = suite.judges if any(r.facts.kind == "judge" for r in evaluators.values()) else ()
    refuse_related(request, suite, suite.model, judges)
    if budget.cap_nanousd and not request.allow_unpriced:
        _refuse_unpriced(suite, hub, judges)
    built = load_object(suite.agent, folders, what=f"{suite.file}: agent")
    furniture = Furniture(
        request=request,
        suite=suite,
        store=store,
        live=live,
        prices=prices,
        budget=budget,
        relay=relay,
        meter=meter,
        hub=hub,
        evaluators=evaluators,
        jury=jury,
        factory=StrandsFactory(built, suite.agent),
    )
    furniture.stack.push_async_callback(hub.close)
    return furniture


def models_of(
    request: RunRequest,
    suite: Suite,
    budget: Budget,
    prices: PriceTable,
    journal: Callable[[CallStart | Call], None],
    meter: Any = None,
) -> tuple[Any, Any]:
    """The meter of a run, unless it shares one, and the hub that builds its models, none built yet."""
    from nightgate.adapters.hub import ModelHub
    from nightgate.adapters.metering import Meter

    caps = {Role.JUDGE: JUDGE_CALLS, Role.AGENT: AGENT_CALLS, Role.USER: USER_CALLS}
    meter = meter or Meter(budget=budget, journal=journal, call_caps=caps)
    hub = ModelHub(
        meter,
        prices,
        (suite.path / "scripts",),
        in_flight=max(request.concurrency, request.judge_concurrency),
        now=time.monotonic,
        workers=max(1, request.drainers),
        leasable=bool(os.environ.get("PREFECT_API_URL")),
    )
    return meter, hub


async def draw_up(furniture: Furniture, now: datetime, sources: Mapping[str, str] | None = None) -> Plan:
    """The plan that this request would make today; nothing is stored.

    Args:
        furniture: Of this process.
        now: The run's scheduled start.
        sources: Digests of what ``fingerprint:`` names, where they were read already.

    Raises:
        InputError: If the agent cannot be built as the contract wants it.
    """
    from nightgate.adapters.hub import model_identity
    from nightgate.adapters.refusing import RefusingModel
    from nightgate.adapters.sources import digests

    suite = furniture.suite
    if sources is None:
        sources = await asyncio.to_thread(digests, suite.fingerprint, suite.path)
    identity = model_identity(suite.model, (suite.path / "scripts",))
    agents, tools = await probing.fingerprints(
        suite, furniture.factory, RefusingModel(), identity, sources, _users(suite)
    )
    furniture.warnings += probing.warnings(suite, tools, live=furniture.live)
    furniture.warnings += quarantine_faults(suite.cases, utc_date(now))
    return planning.make_plan(
        suite,
        furniture.request,
        agents=agents,
        evaluators=furniture.evaluators,
        jury=furniture.jury,
        price_table=furniture.prices.version,
        live=furniture.live,
        now=now,
        warnings=furniture.warnings,
        advisory=await asyncio.to_thread(
            advisory, suite, furniture.store, furniture.evaluators, live=furniture.live
        ),
    )


def _users(suite: Suite) -> dict[str, str]:
    """What defines the simulated user: its model, and our prompt for it."""
    from nightgate.adapters.hub import model_identity

    if suite.user is None or not talks(suite):
        return {}
    identity = model_identity(suite.user, (suite.path / "scripts",))
    return {"simulated user": f"{identity}/{PROMPT_VERSION}"}


async def start_anew(furniture: Furniture, fresh: Plan) -> tuple[Plan, Done]:
    """Freeze the plan, open the recorder, take over what ``--reuse`` names.

    Raises:
        InputError: If the run id is taken, or the run to reuse cannot be.
    """
    store, request = furniture.store, furniture.request
    suite = furniture.suite.suite
    source = await asyncio.to_thread(resolve, store, request.reuse, suite) if request.reuse else None
    asked = await asyncio.to_thread(resolve, store, request.baseline, suite) if request.baseline else None
    chosen = await asyncio.to_thread(bases.choose, store, fresh, asked)
    furniture.warnings += chosen.warnings
    plan = chosen.freeze(replace(fresh, parent=source or fresh.parent))
    taken = [] if source is None else await asyncio.to_thread(_list, store, source, plan)
    await asyncio.to_thread(planning.store_plan, store, plan)
    recorder = await open_recorder(furniture, plan, epoch=1)
    return plan, _take_over(taken, recorder, plan.panel_members)


async def go_on(furniture: Furniture, fresh: Plan, stored: Plan, *, joining: bool) -> tuple[Plan, Done]:
    """Take up an open run: what is finished stays, what is spent counts, unknown costs by ``recall``.

    Args:
        furniture: Of this process.
        fresh: The plan that the request would make today.
        stored: The run's plan.
        joining: Whether others may be at work on it; a person who resumes wants it alone.

    Raises:
        InputError: If the configuration has changed since, or another process here still works on it.
    """
    store, request = furniture.store, furniture.request
    planning.refuse_mixing(stored, fresh)
    if not joining:
        refuse_living(stored.run_id, request.spool_folder)
    await asyncio.to_thread(bring_up, store, stored.run_id, request.spool_folder)
    found = await asyncio.to_thread(collect, store, stored.run_id)
    furniture.meter.recall(await asyncio.to_thread(found.calls))
    epoch = await asyncio.to_thread(next_epoch, store, stored.run_id)
    await open_recorder(furniture, stored, epoch=epoch)

    def reader(case_id: str, number: int) -> Callable[[], Trial]:
        return lambda: found.trial(case_id, number)

    done = Done(
        trials={key: reader(*key) for key in found.trials},
        cells=frozenset(found.cells),
        cell=found.cell,
        plays=dict(found.plays),
    )
    return stored, done


async def open_recorder(furniture: Furniture, plan: Plan, *, epoch: int) -> Recorder:
    """Open the journal of this process, and give the run its budget of retries."""
    name = f"w{secrets.token_hex(4)}"
    spool = furniture.request.spool_folder
    recorder = Recorder(furniture.store, plan.run_id, name, epoch, spool, plan=plan.to_json())
    furniture.relay.recorder = await furniture.stack.enter_async_context(recorder)
    furniture.meter.retries_left = max(LEAST_RETRIES, RETRIES_A_TRIAL * plan.trial_count)
    return recorder


def _list(store: Store, source: str, plan: Plan) -> list[reusing.Taken]:
    return list(reusing.take(store, source, plan))


def _take_over(taken: list[reusing.Taken], recorder: Recorder, members: frozenset[str]) -> Done:
    """Record the trials that another run paid for; they are this run's from here on.

    Args:
        taken: What holds of the other run.
        recorder: Of this one.
        members: Columns of a panel's members: their findings are kept at hand for its verdict.
    """
    trials: dict[tuple[str, int], Callable[[], Trial]] = {}
    cells: set[tuple[str, int, str]] = set()
    votes: dict[tuple[str, int, str], Cell] = {}
    for one in taken:
        recorder.write(one.trial, *one.cells)
        key = (one.trial.key.case_id, one.trial.key.trial)
        trials[key] = _held(one.trial)
        cells.update((*key, cell.score.evaluator) for cell in one.cells)
        votes |= {(*key, c.score.evaluator): c for c in one.cells if c.score.evaluator in members}
    return Done(trials=trials, cells=frozenset(cells), cell=lambda *key: votes.get(key))


def _held(trial: Trial) -> Callable[[], Trial]:
    return lambda: trial


def stored_plan(store: Store, request: RunRequest, suite: Suite) -> Plan | None:
    """The plan to go on with, for ``--resume``.

    Raises:
        InputError: If that run is complete.
    """
    if request.resume is None:
        return None
    plan = load_plan(store, resolve(store, request.resume, suite.suite))
    if plan.suite != suite.suite:
        msg = f"--resume {request.resume}: run {plan.run_id} is of suite {plan.suite!r}, not {suite.suite!r}"
        raise InputError(msg)
    if plan.run_kind == CANARY:
        msg = f"run {plan.run_id} holds the canaries of {plan.source}: `nightgate canary {plan.source}`"
        raise InputError(msg)
    if manifest_of(store, plan) is not None:
        finish_run(store, plan.run_id)  # its summary may be older than its commit
        msg = f"run {plan.run_id} is complete: there is nothing to resume"
        raise InputError(msg)
    return plan


def talks(suite: Suite) -> bool:
    """Whether any case is a conversation."""
    return any(case.persona is not None for case in suite.cases)


def _refuse_unpriced(suite: Suite, hub: Any, judges: Collection[str]) -> None:
    """A cap over a model whose price is unknown could never bind."""
    roles = [(suite.model, Role.AGENT)]
    roles += [(judge, Role.JUDGE) for judge in judges]
    roles += [(suite.user, Role.USER)] if suite.user is not None and talks(suite) else []
    for spec, role in roles:
        if not hub.priced(spec, role):
            msg = (
                f"{suite.file}: the price of {role.value} model {spec!r} is unknown, no budget can hold: "
                "add it with --prices FILE, drop the budget, or pass --allow-unpriced"
            )
            raise UnpricedError(msg)
