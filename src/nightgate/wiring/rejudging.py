"""``sweep baseline``: the baseline's stored trials judged again by today's judges.

Owns which evaluators have to be: those whose version or judge is another than the one whose findings stand.
Everything else is a sweep like any other, noted in the baseline's document once it is complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.cases import Suite, load_suite
from nightgate.comparisons import judged_differently
from nightgate.errors import InputError
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.requests import RunRequest, default_store
from nightgate.steps import planning
from nightgate.steps.bases import load_baseline
from nightgate.steps.promoting import note_rejudged
from nightgate.steps.reading import load_plan
from nightgate.wiring.sweeps import furnish_sweep, swept

WORD = "baseline"
_NARROWING = ("case", "tag", "layer", "stage", "status")


def baseline_word(word: str, suite_path: str | None) -> str | None:
    """The RUN word with its suite, where it means a baseline; None for any other run.

    Args:
        word: As it was written.
        suite_path: The suite's folder where it was given: a bare ``baseline`` is that suite's.

    Raises:
        InputError: If the folder holds no suite.
    """
    kind, _, named = word.partition(":")
    if kind != WORD:
        return None
    return f"{WORD}:{load_suite(suite_path).suite}" if not named and suite_path is not None else word


async def judged_today(request: RunRequest) -> RunRequest | None:
    """The sweep of a baseline by the judges that the suite has now.

    Args:
        request: Of the sweep, without evaluators; judges that are named stay.

    Returns:
        The same with judges and the evaluators that have to judge again; None where the findings of all of
        them stand. Nothing is called.

    Raises:
        InputError: If no evaluator is left to ask, or something cannot be built.
    """
    suite = await asyncio.to_thread(load_suite, request.suite)
    store = await asyncio.to_thread(open_store, request.store)
    source = await asyncio.to_thread(swept, store, request, suite)
    asked = _with_judges(request, suite, source.plan)
    known = planning.planned_names(suite, live=True)
    names = tuple(e.name for e in _told(source.plan) if e.name in known)
    if not names:
        msg = (
            f"run {source.plan.run_id}: the suite plans none of its evaluators any more; promote a newer run"
        )
        raise InputError(msg)
    furniture = furnish_sweep(replace(asked, evaluators=names), suite, store, source)
    async with furniture.stack:
        now = [planned for _, planned in furniture.judged.values() if not planned.repeat]
    standing = await asyncio.to_thread(_standing, store, source.plan)
    again = dict.fromkeys(
        planned.evaluator
        for planned in now
        if planned.panel is None
        and all(judged_differently(known, planned) for known in standing[planned.evaluator])
    )
    return replace(asked, evaluators=tuple(again)) if again else None


def note(request: RunRequest, summary: Mapping[str, Any]) -> str | None:
    """Write a complete sweep of a baseline down in its document.

    Args:
        request: The sweep's.
        summary: Its document.

    Returns:
        A line for people; None where the sweep is open or was of a part only.

    Raises:
        PromotionRefusedError: If another run became the baseline meanwhile.
    """
    if not summary["complete"] or any(getattr(request, name) for name in _NARROWING):
        return None
    store = open_store(request.store or default_store())
    plan = load_plan(store, summary["run_id"])
    assert plan.source is not None
    judged = tuple(planned for planned in plan.evaluators if not planned.repeat and planned.panel is None)
    note_rejudged(store, plan.suite, plan.source, plan.run_id, judged)
    return f"noted with the baseline of {plan.suite}: comparisons take these findings from now on"


def _with_judges(request: RunRequest, suite: Suite, plan: Plan) -> RunRequest:
    """Today's judges: those named, else the live ones where the baseline was live, else the suite's."""
    if request.judges:
        return request
    judged = suite.live if plan.as_live and suite.live.judges else suite
    rule = judged.panel.rule if judged.panel is not None else None
    return replace(request, judges=tuple(judged.judges), panel=rule)


def _told(plan: Plan) -> tuple[PlannedEvaluator, ...]:
    return tuple(planned for planned in plan.evaluators if planned.name not in plan.panel_members)


def _standing(store: Store, plan: Plan) -> dict[str, list[PlannedEvaluator]]:
    """By whom each evaluator's findings of a run are: its own judges, and those of noted sweeps."""
    found = {planned.name: [planned] for planned in _told(plan)}
    baseline = load_baseline(store, plan.suite)
    if baseline is not None and baseline.run_id == plan.run_id:
        for sweep in baseline.sweeps:
            for planned in load_plan(store, sweep).evaluators:
                if planned.evaluator in found and not planned.repeat:
                    found[planned.evaluator].append(planned)
    return found
