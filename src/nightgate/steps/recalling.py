"""What earlier runs of a suite took in calls and tokens: the history behind an estimate.

Owns which runs are asked, and in which order: complete ones, those with the same model first, the
newest first, until every task that is going to be done was seen. Reads plans, manifests and three
tables; decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from nightgate.calls import Role
from nightgate.histories import (
    CALL_COLUMNS,
    SCORE_COLUMNS,
    TRIAL_COLUMNS,
    History,
    Prices,
    Task,
    Took,
    tasks_of_run,
)
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.steps.listing import runs_of
from nightgate.steps.reading import load_plan, manifest_of, rows_of

_LOOKED_AT = 10
"""Complete runs whose plans are read."""
_READ = 3
"""Runs whose rows are read for one role, at most: the newest nearly always tells all."""


def recall(store: Store, plan: Plan, tasks: Collection[Task], prices: Prices) -> History:
    """The history of a suite, as far as a plan needs it.

    Args:
        store: Where the runs lie.
        plan: What would run.
        tasks: What calls would be made for.
        prices: Today's list prices.

    Raises:
        DamagedError: If a run's rows are not those that were committed.
    """
    history = History()
    if not tasks:
        return history
    entries = [e for e in runs_of(store, plan.suite) if e["run_kind"] == "run" and e["complete"]]
    plans = [load_plan(store, entry["run_id"]) for entry in entries[:_LOOKED_AT]]

    @cache
    def took_of(number: int) -> dict[Task, Took]:
        return _tasks(store, plans[number], prices)

    for role in Role:
        wanted = [task for task in tasks if task.role is role]
        for number in _order(plan, plans, role)[:_READ]:
            if history.covers(wanted):
                break
            history.add(plans[number].run_id, role, _model(plans[number], role), took_of(number))
    return history


def _order(plan: Plan, plans: list[Plan], role: Role) -> list[int]:
    """Runs that tell something of a role's model, the best first.

    A script's token counts are made up, so they say nothing of a real model, nor those of it.
    """
    model = _model(plan, role)
    fitting = [number for number, old in enumerate(plans) if _scripted(_model(old, role)) == _scripted(model)]
    return sorted(fitting, key=lambda number: _model(plans[number], role) != model)


def _model(plan: Plan, role: Role) -> str | None:
    return {Role.AGENT: plan.model, Role.JUDGE: plan.judge, Role.USER: plan.user}[role]


def _scripted(model: str | None) -> bool:
    """Whether it is a script; a panel of scripts is one too."""
    return "scripted:" in (model or "").partition(",")[0]


def _tasks(store: Store, plan: Plan, prices: Prices) -> dict[Task, Took]:
    manifest = manifest_of(store, plan)
    if manifest is None:
        return {}
    return tasks_of_run(
        rows_of(store, manifest, keys.TRIALS, TRIAL_COLUMNS),
        rows_of(store, manifest, keys.SCORES, SCORE_COLUMNS),
        rows_of(store, manifest, keys.CALLS, CALL_COLUMNS),
        prices,
    )
