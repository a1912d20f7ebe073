"""What follows a run's gate: flaky or broken, the canaries, the pages, the alerts, in this order.

Owns the order, and that none of it changes or hides the verdict: what could not be done is said in its
own document or line. Each part is safe to call again, so a committed run whose process died in between is
taken up here. Knows no command line and no Prefect.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.cases import Suite, load_suite
from nightgate.errors import DamagedError, InputError, MissingError, NightgateError, StoreError
from nightgate.plans import Plan
from nightgate.ports import Clock, Store
from nightgate.recorder import refuse_living
from nightgate.reports.night import night_lines
from nightgate.requests import RunRequest
from nightgate.rows import keys
from nightgate.steps import canaryrefs, flaky, nightdocs, nights
from nightgate.steps.canaryplans import canary_run_id
from nightgate.steps.finishing import finish_run
from nightgate.steps.flakyplan import rerun_id
from nightgate.steps.listing import resolve
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.steps.runpages import has_pages
from nightgate.wiring.alerts import alerts_line, send_alerts
from nightgate.wiring.canaries import judge_canaries
from nightgate.wiring.pages import keep_report
from nightgate.wiring.reruns import find_flaky as rerun_and_settle
from nightgate.wiring.rooms import Progress

Document = dict[str, Any]
FLAKY, CANARIES, REPORT, ALERTS = "flaky or broken", "canaries", "report", "alerts"
"""The steps after the gate, as they are called where one is left."""


async def afterwards(
    request: RunRequest,
    run_id: str,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> list[str]:
    """All that follows the gate of a run, and the lines about it for people.

    Args:
        request: The run's own; ``night`` says whether suspects are rerun and canaries judged.
        run_id: The run, complete or not.
        progress: Callbacks of reruns and canaries.
        suite: Where it is loaded already, whole.
        store: Where it is open already.
        clock: Instead of the machine's.

    Raises:
        MissingError: If there is no such run.
    """
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    found = await find_flaky(request, run_id, progress, suite=suite, store=store, clock=clock)
    canary = await canaries(request, run_id, progress, suite=suite, store=store)
    pages = await keep_report(request, run_id, store=store)  # alerts link there
    told = await send_alerts(request, run_id, store=store, clock=clock)
    return [*([pages] if pages is not None else []), *_lines(found, canary, told)]


async def find_flaky(
    request: RunRequest,
    run_id: str,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Document:
    """Which cases broke, recovered or waver; by night the suspects are rerun first.

    Arguments as for ``afterwards``.

    Returns:
        ``runs/<run_id>/flakiness.json``; one with ``night: false`` and a ``reason`` where the run is none, or
        an ``error`` where it could not be told.
    """
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    try:
        if await asyncio.to_thread(_by_night, request, store, run_id):
            return await rerun_and_settle(request, run_id, progress, suite=suite, store=store, clock=clock)
        return await asyncio.to_thread(flaky.settle, store, run_id)
    except MissingError:
        raise
    except Exception as error:  # a damaged document must not hide the verdict
        return {"schema": 1, "run_id": run_id, "night": False, "error": _why(error)}


async def canaries(
    request: RunRequest,
    run_id: str,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
) -> Document | None:
    """The judges of a night over its canaries; None by day, and for a suite without.

    Arguments as for ``afterwards``.
    """
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    if not await asyncio.to_thread(_by_night, request, store, run_id):
        return None
    again = await asyncio.to_thread(_reruns, store, run_id)
    try:
        return await judge_canaries(request, run_id, progress, suite=suite, store=store, beside=again)
    except Exception as error:  # as above
        return {"run_id": run_id, "error": _why(error)}


def _by_night(request: RunRequest, store: Store, run_id: str) -> bool:
    """Whether it is a night's run. One that is taken up is what its first start was."""
    if request.night or request.resume is None:
        return request.night
    plan = load_plan(store, run_id)
    return plan.night and plan.run_kind == "run"


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, NightgateError) else f"{type(error).__name__}: {error}"


async def reruns_beside(request: RunRequest, run_id: str) -> list[str]:
    """Runs whose money counts under the same cap as a run's canaries."""
    store = await asyncio.to_thread(open_store, request.store)
    return await asyncio.to_thread(_reruns, store, run_id)


def _reruns(store: Store, run_id: str) -> list[str]:
    """The reruns of a night, whose money counts under the same cap."""
    try:
        load_plan(store, rerun_id(run_id))
    except MissingError:
        return []
    return [rerun_id(run_id)]


async def alert(request: RunRequest, run_id: str) -> list[str]:
    """Tell a run's channels what changed; lines for a log, none where there is nothing to say."""
    line = alerts_line(await send_alerts(request, run_id))
    return [] if line is None else [line]


async def told(request: RunRequest, run_id: str, *, store: Store | None = None) -> list[str]:
    """The lines of ``afterwards`` from what another process left in the store."""
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    found = await asyncio.to_thread(_read, store, keys.flakiness_report_key(run_id))
    canary = await asyncio.to_thread(_read, store, keys.canary_report_key(run_id))
    alerts = await asyncio.to_thread(_alert_report, store, run_id)
    return _lines(found, canary, alerts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenUp:
    """A committed run that ``--resume`` named."""

    summary: Document
    """As it is stored."""
    left: tuple[str, ...]
    """The steps after its gate that were not done; none: nothing was done now either."""
    lines: list[str]
    """About all of them, for people."""


async def committed(
    request: RunRequest, *, suite: Suite | None = None, store: Store | None = None
) -> Plan | None:
    """The plan of the run that ``--resume`` names, where nothing of it is left to play.

    None where something is, and where the run cannot be taken up at all: whoever opens it says why.

    Raises:
        InputError: If the suite cannot be read.
        MissingError: If there is no such run.
    """
    if request.resume is None:
        return None
    loaded = suite if suite is not None else await asyncio.to_thread(load_suite, request.suite)
    return await asyncio.to_thread(_committed, request, loaded.suite, store)


def _committed(request: RunRequest, suite: str, store: Store | None) -> Plan | None:
    assert request.resume is not None
    try:
        store = store if store is not None else open_store(request.store)
        plan = load_plan(store, resolve(store, request.resume, suite))
        whole = plan.suite == suite and not plan.is_sweep and manifest_of(store, plan) is not None
    except MissingError:
        raise
    except StoreError:
        return None
    return plan if whole else None


async def take_up(
    request: RunRequest,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> TakenUp | None:
    """Do what is left of the steps after a committed run's gate; None where the run is not committed.

    Nothing of the run itself is played, judged or written again. Arguments as for ``afterwards``.

    Raises:
        InputError: If other models are named than the run was made with, or another process here is still
            at its steps.
        MissingError: If there is no such run.
        DamagedError: If what is stored of it is not what was committed.
    """
    plan = await committed(request, suite=suite, store=store)
    if plan is None:
        return None
    suite = suite if suite is not None else await asyncio.to_thread(load_suite, request.suite)
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    request = _as_it_was(request, plan)
    for run_id in (plan.run_id, rerun_id(plan.run_id), canary_run_id(plan.run_id)):
        refuse_living(run_id, request.spool_folder)
    await asyncio.to_thread(_complete, store, plan.run_id)
    left = await asyncio.to_thread(_left, store, request, plan, suite)
    if left:
        lines = await afterwards(request, plan.run_id, progress, suite=suite, store=store, clock=clock)
    else:
        lines = await told(request, plan.run_id, store=store)
    summary = json.loads(await asyncio.to_thread(store.read, keys.summary_key(plan.run_id)))
    return TakenUp(summary=summary, left=left, lines=lines)


def _as_it_was(request: RunRequest, plan: Plan) -> RunRequest:
    """The request without models: reruns and canaries take those of the run."""
    for name in ("model", "judge", "user"):
        given, was = getattr(request, name), getattr(plan, name)
        if given not in (None, was):
            msg = (
                f"run {plan.run_id} is committed, with {name} {was or 'none'}, not {given}: what follows its "
                f"gate goes on with that one; leave out --{name} (NIGHTGATE_{name.upper()})"
            )
            raise InputError(msg)
    return replace(request, model=None, judge=None, judges=(), panel=None, user=None)


def _complete(store: Store, run_id: str) -> None:
    """What a process that died right behind the manifest could not do: the summary, an empty staging."""
    finish_run(store, run_id)
    store.delete(store.find(keys.staging_prefix(run_id)))


def _left(store: Store, request: RunRequest, plan: Plan, suite: Suite) -> tuple[str, ...]:
    """The steps of which no document says that they were done."""
    run_id, manifest = plan.run_id, manifest_of(store, plan)
    found = []
    if (
        manifest is not None
        and nights.is_night(manifest)
        and _believed(nightdocs.flakiness_of, store, run_id) is None
    ):
        found.append(FLAKY)
    if _by_night(request, store, run_id):
        canary = _believed(nightdocs.canary_of, store, run_id)
        has_some = any(case.canary for case in suite.cases) or canaryrefs.reference_of(store, plan.suite)
        # Stopped by the budget is done: `nightgate canary` goes on with those.
        if has_some and (canary is None or canary["stopped"] == "cancelled"):
            found.append(CANARIES)
    if request.report and not has_pages(store, run_id):
        found.append(REPORT)
    if request.alerts and plan.alerts:
        report = _alert_report(store, run_id)
        if report is None or report["error"] is not None or report["undelivered"]:
            found.append(ALERTS)
    return tuple(found)


def _believed(read: Callable[[Store, str], Document | None], store: Store, run_id: str) -> Document | None:
    """A document, unless it is damaged: the step that makes it says so, or makes it again."""
    try:
        return read(store, run_id)
    except DamagedError:
        return None


def _alert_report(store: Store, run_id: str) -> Document | None:
    """What was told; None also where a process died before it had written down all of it."""
    report = _read(store, keys.alert_report_key(run_id))
    return report if report is not None and "error" in report else None


def _read(store: Store, key: str) -> Document | None:
    try:
        document: Document = json.loads(store.read(key))
    except (MissingError, ValueError):
        return None
    return document


def _lines(found: Mapping[str, Any] | None, canary: Document | None, alerts: Document | None) -> list[str]:
    line = alerts_line(alerts)
    return [*night_lines(found, canary), *([line] if line is not None else [])]
