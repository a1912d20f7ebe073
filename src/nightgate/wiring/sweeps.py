"""A judge sweep's room: judges and stored trials instead of an agent.

Owns which judge and evaluator become which planned column of a sweep. Everything else of its life is
that of any run: one recorder, one budget, one ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.batch.records import awaits_batch
from nightgate.adapters.store import open_store
from nightgate.calls import Role
from nightgate.cases import Suite, load_suite, select
from nightgate.cases.kinship import kinship
from nightgate.errors import InputError, UnpricedError
from nightgate.evaluators import registry
from nightgate.evaluators.registry import Registered
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.prices import Budget, PriceTable
from nightgate.recorder import bring_up, next_epoch, refuse_living
from nightgate.requests import RunRequest, default_store
from nightgate.runner import Done, size_executor
from nightgate.steps import planning, sweepcosts, sweeping
from nightgate.steps.collecting import collect
from nightgate.steps.listing import resolve
from nightgate.steps.reading import load_plan
from nightgate.steps.sweeping import Source
from nightgate.steps.trials import StoredTrials
from nightgate.trials import Trial
from nightgate.wiring.batches import queue_up, widened, with_batch_prices
from nightgate.wiring.furnishing import Furniture, Relay, models_of, open_recorder

Judged = dict[str, tuple[Registered, PlannedEvaluator]]


def swept(store: Store, request: RunRequest, suite: Suite) -> Source:
    """The run whose trials are meant.

    Raises:
        InputError: If it cannot be swept.
    """
    source = sweeping.source_of(store, resolve(store, request.sweep or "", suite.suite))
    if source.plan.suite != suite.suite:
        msg = f"run {source.plan.run_id} is of suite {source.plan.suite!r}, and {suite.file} is another"
        raise InputError(msg)
    return source


def furnish_sweep(request: RunRequest, loaded: Suite, store: Store, source: Source) -> Furniture:
    """Build the judges of a sweep.

    Raises:
        InputError: If something cannot be built or must not run; nothing is spent.
    """
    suite = select(
        loaded, case_globs=request.case, tags=request.tag, layers=request.layer, stages=request.stage
    )
    if not request.evaluators:
        known = ", ".join(planning.planned_names(suite, live=True))
        msg = f"a sweep needs --evaluator; suite {suite.suite!r} plans {known}"
        raise InputError(msg)
    names = sweeping.wanted_evaluators(suite, request.evaluators)
    prices = PriceTable.load(Path(request.prices) if request.prices else None)
    budget, relay = Budget(request.budget_nanousd(None)), Relay()
    size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    meter, hub = models_of(request, suite, budget, prices, relay)
    if request.batch:
        queue_up(hub, store)
    judged = _judged(request, suite, names, hub)
    if request.batch:
        request = widened(request, (registered for registered, _ in judged.values()))
        size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    if budget.cap_nanousd and not request.allow_unpriced:
        _refuse_unpriced(judged, hub)
    furniture = Furniture(
        request=request,
        suite=suite,
        store=store,
        live=True,
        prices=prices,
        budget=budget,
        relay=relay,
        meter=meter,
        hub=hub,
        evaluators={name: registered for name, (registered, _) in judged.items()},
        factory=None,
        source=source,
        judged=judged,
    )
    furniture.stack.push_async_callback(hub.close)
    return furniture


def _judged(request: RunRequest, suite: Suite, names: tuple[str, ...], hub: object) -> Judged:
    """Every planned column: evaluator x judge x repeat; code evaluators once, they need no judge."""
    specs = request.judges or ((suite.judge,) if suite.judge else ())
    folders = (suite.path, Path.cwd())
    found: Judged = {}
    for spec in specs or (None,):
        judge = hub.judge(spec) if spec is not None else None  # type: ignore[attr-defined]
        for name, registered in registry.build(suite, names, judge, folders).items():
            is_judge = registered.facts.kind == "judge"
            repeats = request.repeat if is_judge else 1
            for repeat in range(repeats):
                shown = judge.spec if judge is not None and is_judge else ""
                planned_name = sweeping.label(
                    name, shown, repeat, judges=len(specs) if is_judge else 1, repeats=repeats
                )
                planned = sweeping.planned_evaluator(suite, name, registered, shown, repeat, planned_name)
                found.setdefault(planned_name, (registered, planned))
    return found


def _refuse_unpriced(judged: Judged, hub: object) -> None:
    for _, planned in judged.values():
        if planned.judge_model and not hub.priced(planned.judge_model, Role.JUDGE):  # type: ignore[attr-defined]
            msg = (
                f"the price of judge {planned.judge_model!r} is unknown, no budget can hold: add it with "
                "--prices FILE, drop the budget, or pass --allow-unpriced"
            )
            raise UnpricedError(msg)


def draw_up_sweep(furniture: Furniture, now: datetime) -> Plan:
    """The plan that this sweep would make today; nothing is stored.

    Raises:
        InputError: If there is no trial to judge.
    """
    chosen = sweeping.choose(furniture.suite, furniture.source)
    furniture.warnings += sweeping.named(chosen.left_out)
    judges = dict.fromkeys(
        planned.judge_model for _, planned in furniture.judged.values() if planned.judge_model
    )
    related = (kinship(furniture.source.plan.model, judge) for judge in judges)
    furniture.warnings += [f"{found}. Pin another judge, or calibrate this one" for found in related if found]
    return sweeping.sweep_plan(
        furniture.suite,
        furniture.request,
        furniture.source,
        chosen,
        furniture.judged,
        price_table=furniture.prices.version,
        now=now,
    )


async def start_sweep(furniture: Furniture, plan: Plan) -> tuple[Plan, Done]:
    """Freeze the plan, open the recorder, take over what was paid for before."""
    known = await asyncio.to_thread(sweeping.known_findings, furniture.store, plan, furniture.source)
    await asyncio.to_thread(planning.store_plan, furniture.store, plan)
    recorder = await open_recorder(furniture, plan, epoch=1)
    for cell in known:
        recorder.write(cell)
    return plan, _done(furniture, plan, {(c.case_id, c.trial, c.score.evaluator) for c in known})


async def go_on_with_sweep(
    furniture: Furniture, fresh: Plan, stored: Plan, *, joining: bool
) -> tuple[Plan, Done]:
    """Take up an open sweep: findings stay, and what is spent counts.

    Raises:
        InputError: If its configuration has changed since, or another process here still works on it.
    """
    store, request = furniture.store, furniture.request
    planning.refuse_mixing(stored, fresh)
    if not joining:
        refuse_living(stored.run_id, request.spool_folder)
    await asyncio.to_thread(bring_up, store, stored.run_id, request.spool_folder)
    found = await asyncio.to_thread(collect, store, stored.run_id, sweep=True)
    calls = await asyncio.to_thread(found.calls)
    furniture.meter.recall(call for call in calls if not awaits_batch(call))
    epoch = await asyncio.to_thread(next_epoch, store, stored.run_id)
    await open_recorder(furniture, stored, epoch=epoch)
    return stored, _done(furniture, stored, set(found.cells))


async def sweep_forecast(request: RunRequest) -> dict[str, Any]:
    """What a sweep would judge and what it would cost; makes no call and stores nothing.

    Raises:
        InputError: As the sweep would.
    """
    suite = await asyncio.to_thread(load_suite, request.suite)
    store = await asyncio.to_thread(open_store, request.store)
    source = await asyncio.to_thread(swept, store, request, suite)
    furniture = furnish_sweep(request, suite, store, source)
    async with furniture.stack:
        plan = draw_up_sweep(furniture, datetime.now(UTC))
        known = await asyncio.to_thread(sweeping.known_findings, store, plan, source)
        spent = await asyncio.to_thread(sweepcosts.spent_on_judging, store, source)
    forecast = sweepcosts.forecast(plan, suite, known, furniture.prices, spent)
    return with_batch_prices(forecast, plan, furniture.prices)


def suite_of(store_uri: str | None, run: str, given: str | None) -> str:
    """The suite's folder of a stored run: the one given, else where it lay when the run was planned.

    Raises:
        InputError: If it is not there any more.
    """
    if given is not None:
        return given
    store = open_store(store_uri or default_store())
    plan = load_plan(store, resolve(store, run))
    if plan.suite_path is None or not (Path(plan.suite_path) / "suite.yaml").is_file():
        msg = (
            f"run {plan.run_id}: the suite {plan.suite!r} is not at {plan.suite_path!r} here: "
            "name its folder with --suite PATH"
        )
        raise InputError(msg)
    return plan.suite_path


def _done(furniture: Furniture, plan: Plan, cells: set[tuple[str, int, str]]) -> Done:
    """All trials are there; they are read when a judge is free."""
    trials: StoredTrials = furniture.source.trials

    def reader(case_id: str, number: int) -> Callable[[], Trial]:
        # As a record of this sweep: its scopes and ledger rows carry the sweep's id.
        def read() -> Trial:
            trial = trials.read(case_id, number)
            return replace(trial, key=replace(trial.key, run_id=plan.run_id))

        return read

    return Done(
        trials={(case.case_id, number): reader(case.case_id, number) for case, number in plan.trials()},
        cells=frozenset(cells),
    )
