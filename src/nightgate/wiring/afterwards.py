"""What follows a run's gate: flaky or broken, the canaries, the alerts, in this order.

Owns the order, and that none of it changes or hides the verdict: what could not be done is said in its
own document or line. Each part is safe to call again. Knows no command line and no Prefect.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.cases import Suite
from nightgate.errors import MissingError, NightgateError
from nightgate.ports import Clock, Store
from nightgate.reports.night import night_lines
from nightgate.requests import RunRequest
from nightgate.rows import keys
from nightgate.steps import flaky
from nightgate.steps.flakyplan import rerun_id
from nightgate.steps.reading import load_plan
from nightgate.wiring.alerts import alerts_line, send_alerts
from nightgate.wiring.canaries import judge_canaries
from nightgate.wiring.reruns import find_flaky as rerun_and_settle
from nightgate.wiring.rooms import Progress

Document = dict[str, Any]


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
    told = await send_alerts(request, run_id, store=store, clock=clock)
    return _lines(found, canary, told)


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
        if request.night:
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
    if not request.night:
        return None
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    again = await asyncio.to_thread(_reruns, store, run_id)
    try:
        return await judge_canaries(request, run_id, progress, suite=suite, store=store, beside=again)
    except Exception as error:  # as above
        return {"run_id": run_id, "error": _why(error)}


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
    alerts = await asyncio.to_thread(_read, store, keys.alert_report_key(run_id))
    return _lines(found, canary, alerts)


def _read(store: Store, key: str) -> Document | None:
    try:
        document: Document = json.loads(store.read(key))
    except (MissingError, ValueError):
        return None
    return document


def _lines(found: Mapping[str, Any] | None, canary: Document | None, alerts: Document | None) -> list[str]:
    line = alerts_line(alerts)
    return [*night_lines(found, canary), *([line] if line is not None else [])]
