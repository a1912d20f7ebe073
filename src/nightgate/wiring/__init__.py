"""Adapters and steps put together: the Python surface, and what flows and commands call.

Owns the whole pipeline without a server (``run_suite``); the flows call the same pieces one by one.
Knows no command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightgate import logs
from nightgate.adapters.store import open_store
from nightgate.cases import Suite, suites_under
from nightgate.errors import InputError, StoreError
from nightgate.gates import Decision
from nightgate.journals import JournalError
from nightgate.ports import Clock, Store
from nightgate.requests import RunRequest
from nightgate.rows.keys import summary_key
from nightgate.steps import reporting
from nightgate.steps.finishing import Finished, finish_run
from nightgate.steps.gating import gate_run
from nightgate.summaries import Summary
from nightgate.wiring.afterwards import (
    TakenUp,
    afterwards,
    alert,
    canaries,
    committed,
    find_flaky,
    reruns_beside,
    take_up,
)
from nightgate.wiring.afterwards import told as told_afterwards
from nightgate.wiring.alerts import check_channels
from nightgate.wiring.counting import as_planned, cells_done, counting
from nightgate.wiring.drains import drain
from nightgate.wiring.fleets import finish_fleet, plan_fleet, roster, stop_fleet
from nightgate.wiring.groups import open_group, run_selection, selection_forecast
from nightgate.wiring.home import at_home
from nightgate.wiring.metrics import measured
from nightgate.wiring.nights import Due, nights_of, with_run_id
from nightgate.wiring.pages import keep_report
from nightgate.wiring.readiness import ready
from nightgate.wiring.rejudging import baseline_word, judged_today
from nightgate.wiring.rejudging import note as note_with_baseline
from nightgate.wiring.rooms import (
    Progress,
    Room,
    cancellable,
    open_room,
    room_here,
    room_of,
    stopping_on_signals,
    work,
)
from nightgate.wiring.showing import shown
from nightgate.wiring.sweeps import suite_folder, suite_of, sweep_forecast

__all__ = [
    "Due",
    "Progress",
    "Room",
    "RunRequest",
    "TakenUp",
    "afterwards",
    "alert",
    "as_planned",
    "baseline_word",
    "canaries",
    "cancellable",
    "cells_done",
    "check_channels",
    "committed",
    "counting",
    "drain",
    "every_suite",
    "find_flaky",
    "finish",
    "gate",
    "headline",
    "judged_today",
    "keep_report",
    "named",
    "nights_of",
    "note_with_baseline",
    "open_group",
    "open_room",
    "open_store",
    "plan_fleet",
    "preflight",
    "ready",
    "reruns_beside",
    "room_of",
    "roster",
    "run_request",
    "run_selection",
    "run_suite",
    "selection_forecast",
    "shown",
    "stop_fleet",
    "stopping_on_signals",
    "stored_summary",
    "suite_folder",
    "suite_of",
    "sweep_forecast",
    "take_up",
    "told_afterwards",
    "whole",
    "work",
]


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
            await _play(room, (progress or Progress()).on_warning)
        except BaseException:
            await room.close()
            raise
        return await measured(await room.finish())


async def _play(room: Room, warn: Callable[[str], None]) -> None:
    """All shards. A journal that cannot be written ends them, and what is finished stays."""
    shards = [asyncio.create_task(work(room, index)) for index in range(len(room.shards))]
    try:
        await asyncio.gather(*shards)
    except JournalError as full:
        warn(full.strerror or str(full))
    finally:
        for shard in shards:
            shard.cancel()
        await asyncio.gather(*shards, return_exceptions=True)


async def finish(request: RunRequest, run_id: str) -> Finished:
    """Finish a run from its room in this process, or from the store alone."""
    if request.drainers:
        return await measured(await finish_fleet(request, run_id))
    room = room_here(run_id)
    if room is not None:
        return await measured(await room.finish())
    store = await asyncio.to_thread(open_store, request.store)
    return await measured(await asyncio.to_thread(finish_run, store, run_id))


def named(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Flow parameters with their run id fixed, so that the run can be found whatever happens to it."""
    return with_run_id(RunRequest.of_parameters(parameters)).parameters()


def whole(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Flow parameters with every field, as somebody gave them or as the defaults have it.

    Raises:
        InputError: If one is unknown or of the wrong kind.
    """
    return RunRequest.of_parameters(parameters).parameters()


def every_suite(asked: Sequence[Mapping[str, Any]]) -> list[RunRequest]:
    """The requests of a night; one with ``folder`` stands for all suites under that folder.

    Raises:
        InputError: If a folder holds no suite, or a parameter cannot be.
    """
    found = []
    for parameters in asked:
        rest = dict(parameters)
        folder = rest.pop("folder", None)
        if folder is None:
            found.append(RunRequest.of_parameters(rest))
        else:
            suites = suites_under(Path(folder))
            found += [RunRequest.of_parameters({**rest, "suite": str(suite)}) for suite in suites]
    return found


async def headline(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The headline of a run from its stored summary; inconclusive when it has none."""
    return reporting.headline(Summary(await stored_summary(parameters)))


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
    await ready(request)
    with _aside() as spool, logs.silent():
        # Nothing to take over lies in a folder of its own; the run itself looks for that.
        alone = replace(
            request,
            store=spool,
            spool=spool,
            run_id=None,
            resume=None,
            reuse=None,
            rerun=None,
            only=None,
            baseline=None,
        )
        room = await open_room(alone)
        await room.close()


@contextlib.contextmanager
def _aside() -> Iterator[str]:
    """A folder for what is only tried out."""
    try:
        made = tempfile.TemporaryDirectory()
    except OSError as error:
        msg = f"no room for temporary files ({error}): free some space, or name a folder with TMPDIR"
        raise InputError(msg) from error
    with made as folder:
        yield folder


async def run_suite(suite: str | Path | Suite, *, store: str | Path | Store, **options: Any) -> Summary:
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
    opened = None if isinstance(store, str | Path) else store
    uri = str(store) if opened is None else opened.uri
    clock: Clock | None = options.pop("clock", None)
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    request = RunRequest.make(path, {"store": uri, **_texts(values)})

    async def whole() -> Summary:
        taken = await take_up(request, suite=loaded, store=opened, clock=clock)
        if taken is not None:
            return Summary(taken.summary)
        finished = await run_request(request, suite=loaded, store=opened, clock=clock)
        await afterwards(request, finished.summary.run_id, suite=loaded, store=opened, clock=clock)
        return finished.summary

    return await at_home(whole())


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: str(v) if k == "budget_usd" and v is not None else v for k, v in values.items()}


def gate(store: str | Path | Store, run_id: str) -> Decision:
    """Decide on a stored run again."""
    return gate_run(open_store(store) if isinstance(store, str | Path) else store, run_id)
