"""The plans of a sweep over several runs, before anything is stored or spent.

Owns which runs, suites and evaluators of a selection go together, and which runs are left out because
they have nothing to judge. Stores nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from nightgate.cases import Suite, load_suite
from nightgate.errors import InputError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.steps import selections, sweepcosts, sweeping
from nightgate.steps.choosing import NothingToJudgeError
from nightgate.steps.selections import Part, Picked
from nightgate.wiring.benches import filtered
from nightgate.wiring.sweeps import draw_up_sweep, furnish_sweep, suite_folder, swept

_MOST_TOLD = 5


@dataclass(slots=True, kw_only=True)
class Drawn:
    """What a selection comes to."""

    runs: list[tuple[Picked, str]] = field(default_factory=list)
    """Runs with something to judge, and their suites' folders."""
    plans: list[Plan] = field(default_factory=list)
    """Of each of them; under the whole's id."""
    left_out: list[dict[str, str]] = field(default_factory=list)
    """The others: ``run_id`` and ``reason``."""
    forecasts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Suite and forecast of each of ``runs``, where prices were asked for."""
    warnings: list[str] = field(default_factory=list)


async def draw_up_selection(
    request: RunRequest, store: Store, suites: dict[str, Suite], *, priced: bool = False
) -> Drawn:
    """Plan the sweep of every run that is meant.

    Args:
        request: Of the whole, with its id.
        store: Where the runs lie.
        suites: Loaded ones by folder; those that are loaded here are added.
        priced: Whether forecasts are made.

    Raises:
        InputError: If one of them cannot be swept, or none has a trial to judge.
    """
    drawn, now = Drawn(), datetime.now(UTC)
    runs = await asyncio.to_thread(
        selections.picked, store, request.selection, since=request.since, until=request.until
    )
    folders = [(run, suite_folder(run, request.suite or None)) for run in runs]
    for folder in dict.fromkeys(folder for _, folder in folders):
        if folder not in suites:
            suites[folder] = await asyncio.to_thread(load_suite, folder)
    wanted = _wanted(request, [suites[folder] for _, folder in folders])
    earlier = {
        suite: await asyncio.to_thread(sweeping.sweeps_by_source, store, suite)
        for suite in dict.fromkeys(run.suite for run in runs)
    }
    for run, folder in folders:
        suite = suites[folder]
        names, reason = wanted[str(suite.path)]
        asked = replace(request, suite=folder, sweep=run.run_id, evaluators=names)
        source = await asyncio.to_thread(swept, store, asked, suite)
        source = replace(source, sweeps=earlier[run.suite].get(run.run_id, []))
        if reason is not None:
            drawn.left_out.append({"run_id": run.run_id, "reason": f"run {run.run_id}: {reason}"})
            continue
        try:
            furniture = furnish_sweep(asked, suite, store, source)
            plan = draw_up_sweep(furniture, now)
        except NothingToJudgeError as nothing:
            drawn.left_out.append({"run_id": run.run_id, "reason": str(nothing)})
            continue
        drawn.runs.append((run, folder))
        drawn.plans.append(plan)
        # What is left out is counted over all runs in the summary: a line a run would be a page.
        counted = set(sweeping.named(plan.sweep["left_out"]))
        drawn.warnings += [
            line for line in furniture.warnings if line not in counted and line not in drawn.warnings
        ]
        if priced:
            known = await asyncio.to_thread(sweeping.known_findings, store, plan, source)
            spent = await asyncio.to_thread(sweepcosts.spent_on_judging, store, source)
            told = sweepcosts.forecast(plan, suite, known, furniture.prices, spent, furniture.hub.foresee)
            drawn.forecasts.append((run.suite, told))
    if not drawn.plans:
        raise _nothing(drawn.left_out)
    return drawn


async def draw_up_part(request: RunRequest, store: Store, suite: Suite, part: Part) -> Plan:
    """The plan of one part, made again as the first start meant it.

    Raises:
        InputError: If it cannot be swept any more.
    """
    names, reason = _wanted(request, [suite])[str(suite.path)]
    if reason is not None:
        raise InputError(reason)
    asked = replace(request, suite=part.suite_path, sweep=part.source, run_id=part.run_id, evaluators=names)
    source = await asyncio.to_thread(swept, store, asked, suite)
    return draw_up_sweep(furnish_sweep(asked, suite, store, source), datetime.now(UTC))


def _wanted(request: RunRequest, suites: Sequence[Suite]) -> dict[str, tuple[tuple[str, ...], str | None]]:
    """Which of the evaluators each suite plans, and why none of its runs has anything to judge.

    Of several suites each has its own cases, tags and evaluators: one that a filter misses is left out.

    Raises:
        InputError: If no suite is left, as the first one says.
    """
    found: dict[str, tuple[tuple[str, ...], str | None]] = {}
    refused: list[InputError] = []
    by_path = {str(suite.path): suite for suite in suites}
    planned = set()
    for path, suite in by_path.items():
        try:
            known = sweeping.known_evaluators(filtered(request, suite))
            names = tuple(name for name in request.evaluators if name in known)
            if not names:
                sweeping.wanted_evaluators(filtered(request, suite), request.evaluators)
            planned |= set(names)
            found[path] = (names, None)
        except InputError as error:
            refused.append(error)
            found[path] = ((), str(error))
    if len(refused) == len(found) and refused:
        raise refused[0]
    if missing := [name for name in request.evaluators if name not in planned]:
        first = next(suite for path, suite in by_path.items() if found[path][1] is None)
        sweeping.wanted_evaluators(filtered(request, first), missing)
    return found


def _nothing(left_out: Sequence[dict[str, str]]) -> InputError:
    told = [one["reason"] for one in left_out[:_MOST_TOLD]]
    more = [f"and {len(left_out) - len(told)} more"] if len(left_out) > len(told) else []
    lines = "\n  ".join([*told, *more])
    return InputError(f"nothing to judge in {len(left_out)} runs:\n  {lines}")
