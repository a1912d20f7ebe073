"""What a run would do and cost, before it is started: a room furnished to be looked at, never opened.

Owns the order: the suite and its agents as a run's planning sees them, then the stored run that would be
taken from, then the history of calls. No recorder, no plan in the store, no call.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightgate.adapters.store import open_store
from nightgate.calls import Role
from nightgate.cases import Case, Suite, load_suite
from nightgate.errors import InputError, MissingError
from nightgate.estimates import agent_calls, judge_call, user_calls
from nightgate.histories import Prices, Task, expect
from nightgate.plans import Plan
from nightgate.ports import Clock, Store
from nightgate.prices import Price
from nightgate.requests import RunRequest
from nightgate.rows import keys
from nightgate.steps import forecasting, reusing
from nightgate.steps.forecasting import Before, Forecast
from nightgate.steps.listing import resolve
from nightgate.steps.reading import rows_of
from nightgate.steps.recalling import recall
from nightgate.trials import Usage
from nightgate.wiring.furnishing import Furniture, draw_up, furnish, talks
from nightgate.wiring.rooms import SystemClock


async def forecast(
    request: RunRequest,
    against: str | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Forecast:
    """Count and price what a run with ``--reuse`` would do; nothing is called and nothing written.

    Args:
        request: As for a run.
        against: The run to take from; None: the latest of the suite, or none where none is stored.
        suite: Where it is loaded already.
        store: Where it is open already.
        clock: Gives the time.

    Raises:
        InputError: As the run would; and if ``against`` cannot be taken from.
        StoreError: If the store cannot be read.
    """
    loaded = suite if suite is not None else await asyncio.to_thread(load_suite, request.suite)
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    # An unknown price is what a plan is asked about: the run itself may refuse it.
    furniture = furnish(replace(request, allow_unpriced=True), loaded, store, None)
    try:
        plan = await draw_up(furniture, (clock or SystemClock()).now())
        prices = _prices(furniture, plan)
    finally:
        await furniture.stack.aclose()
    return await asyncio.to_thread(
        _forecast, furniture, plan, prices, against, refusing=not request.allow_unpriced
    )


def _prices(furniture: Furniture, plan: Plan) -> dict[str, Price | None]:
    """List price of each role's model, and of each member of a panel; roles without a model are left out."""
    suite, hub = furniture.suite, furniture.hub
    specs = {
        Role.AGENT: suite.model,
        Role.JUDGE: suite.judge,
        Role.USER: suite.user if talks(suite) else None,
    }
    seats = {e.name: e.judge_model for e in plan.evaluators if e.panel is not None}
    members = {
        name: hub.build(spec, Role.JUDGE).wire.price for name, spec in seats.items() if spec is not None
    }
    roles: dict[str, Price | None] = {
        role: hub.build(spec, role).wire.price for role, spec in specs.items() if spec is not None
    }
    return {**roles, **members}


def _forecast(
    furniture: Furniture,
    plan: Plan,
    prices: Prices,
    against: str | None,
    *,
    refusing: bool,
) -> Forecast:
    store, suite = furniture.store, furniture.suite
    before = _before(store, plan, against)
    cases = {case.id: case for case in suite.cases}
    talking = {case.id for case in suite.cases if case.persona is not None}
    needed = forecasting.compare(plan, before, talking)
    history = recall(store, plan, needed.work, prices)

    def guess(task: Task) -> tuple[Usage, ...]:
        return _guess(task, cases[task.case_id])

    bill = expect(needed.work, history, guess, prices)
    return Forecast(
        plan=plan,
        against=None if before is None else before.plan.run_id,
        needed=needed,
        bill=bill,
        history=history,
        warnings=(*plan.warnings, *forecasting.money_warnings(plan, bill, refusing=refusing)),
    )


def _guess(task: Task, case: Case) -> tuple[Usage, ...]:
    if task.role is Role.JUDGE:
        return (judge_call(case),)
    return agent_calls(case) if task.role is Role.AGENT else user_calls(case)


def _before(store: Store, plan: Plan, against: str | None) -> Before | None:
    """The run that is taken from; None where none was named and none is stored.

    Raises:
        InputError: If there is none of that name, or it cannot be taken from.
    """
    try:
        source = resolve(store, against or "latest", plan.suite)
        old, manifest = reusing.committed(store, source, plan.suite, asked="--against")
    except MissingError as error:
        if against is None or against == "latest":
            return None
        raise InputError(str(error)) from error
    return Before.of_rows(
        old,
        rows_of(store, manifest, keys.TRIALS, forecasting.TRIAL_COLUMNS),
        rows_of(store, manifest, keys.SCORES, forecasting.SCORE_COLUMNS),
    )
