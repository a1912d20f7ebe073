"""One look at a suite: its parts are read, held against the last complete run, and a due change is started.

Owns the order: read, decide and claim in the store, start, note that it was started. How a run is started is
the caller's: in this process, or through Prefect. The rules are ``steps.watching``'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from nightgate.adapters.store import open_store
from nightgate.cases import Suite, load_suite
from nightgate.errors import ExitCode, InputError, NightgateError, StoreError
from nightgate.plans import new_run_id
from nightgate.ports import Clock, Store
from nightgate.reports.text import plain
from nightgate.requests import RunRequest
from nightgate.rows.keys import plan_key
from nightgate.rows.redaction import redact_text
from nightgate.steps import watchdocs, watching
from nightgate.steps.watching import Event, Seen, Start, Step, Terms
from nightgate.steps.watchparts import (
    checked_trigger,
    is_source,
    last_complete,
    lifecycle_part,
    parts_of,
    source_part,
)
from nightgate.wiring.furnishing import draw_up, furnish, talks
from nightgate.wiring.rooms import SystemClock

Starter: TypeAlias = Callable[[RunRequest], Awaitable[int | None]]
"""Starts a run; its exit code, or None where it was handed over and goes on elsewhere."""
_EVENT = re.compile(r"nightgate\.([a-z]+)\.changed")
_TEXT_CHARS = 300
_SECONDS = re.compile(r"(\d{1,7}(?:\.\d{1,3})?)(s|m|h|d)?")
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look at one suite came to."""

    suite: str
    """Its id, or its path where it could not be read."""
    code: int
    """0: nothing changed, or what was started passed; 3: something could not be read; else the run's."""
    said: tuple[str, ...]
    waits_s: float | None = None
    """Seconds until a change that is seen has been the same for long enough."""
    run_id: str | None = None
    """Of the run that was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How looks are made."""

    start: Starter
    told: Callable[[str], None] = lambda _: None
    """Takes a line when a run is about to start."""
    quiet_s: float = watching.QUIET_S
    patience_s: float = watching.PATIENCE_S


async def look_at(
    request: RunRequest,
    manner: Manner,
    event: Event | None = None,
    *,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Looked:
    """Look at one suite, and start its run where a change is due or an event says so.

    What went wrong is in the answer: other suites are looked at all the same.

    Args:
        request: Suite, store and ``live``; what is left of it goes into the run.
        manner: How.
        event: What somebody says has changed; None only looks.
        store: Where it is open already.
        clock: Instead of the machine's.
    """
    # A change is measured by a whole run of its own.
    request = replace(request, run_id=None, resume=None, reuse=None, case=(), tag=(), layer=(), stage=())
    name = request.suite
    try:
        suite = await asyncio.to_thread(load_suite, request.suite)
        name = suite.suite
        opened = store if store is not None else await asyncio.to_thread(open_store, request.store)
        now = (clock or SystemClock()).now()
        seen = await _seen(request, suite, opened, now)
        terms = _terms(suite, opened, now, manner)
        step = await asyncio.to_thread(_decided, opened, suite, request, seen, terms, event)
        unread = [f"{why} (no change)" for why in seen.unread.values()]
        code = ExitCode.INCONCLUSIVE if any(is_source(part) for part in seen.unread) else ExitCode.OK
        if step.start is None:
            return Looked(suite=name, code=code, said=(*unread, *step.said), waits_s=step.waits_s)
        for line in (*unread, *step.said):
            manner.told(f"{name}: {plain(line)}")
        started, told = await _started(request, step.start, opened, name, manner)
        return Looked(suite=name, code=started or code, said=told, run_id=step.start.run_id)
    except NightgateError as error:
        return Looked(suite=name, code=int(error.exit_code), said=(f"could not be looked at: {error}",))


async def _seen(request: RunRequest, suite: Suite, store: Store, now: datetime) -> Seen:
    """The suite's parts as they are: built and read, without a call."""
    from nightgate.adapters.sources import lifecycles, readings

    sources, unread = await asyncio.to_thread(readings, suite.fingerprint, suite.path)
    furniture = furnish(request, suite, store, None)
    try:
        plan = await draw_up(furniture, now, sources)
    finally:
        await furniture.stack.aclose()
    resolved = furniture.suite
    models = [resolved.model, *resolved.judges]
    models += [resolved.user] if resolved.user is not None and talks(resolved) else []
    lives, unknown = await asyncio.to_thread(lifecycles, models)
    return Seen(
        parts={**parts_of(plan), **{lifecycle_part(model): stage for model, stage in lives.items()}},
        unread={
            **{source_part(source): why for source, why in unread.items()},
            **{lifecycle_part(model): why for model, why in unknown.items()},
        },
    )


def _terms(suite: Suite, store: Store, now: datetime, manner: Manner) -> Terms:
    return Terms(
        by=f"{socket.gethostname()}-{os.getpid()}",
        run_id=new_run_id(suite.suite, now, secrets.token_hex(3)),
        now=now,
        planned=lambda run_id: _planned(store, run_id),
        quiet_s=manner.quiet_s,
        patience_s=manner.patience_s,
    )


def _planned(store: Store, run_id: str) -> bool:
    return bool(store.find(plan_key(run_id)))


def _decided(
    store: Store, suite: Suite, request: RunRequest, seen: Seen, terms: Terms, event: Event | None
) -> Step:
    """Take the look into the store; the claim of a run is in the same swap."""
    base = last_complete(store, suite.suite, live=bool(request.live))
    measured = parts_of(base) if base is not None else None

    def step(line: watchdocs.Line) -> Step:
        if event is not None:
            return watching.hear(line, seen, measured, terms, event)
        return watching.look(line, seen, measured, terms)

    return watchdocs.change(store, suite.suite, _line(request), step)


def _line(request: RunRequest) -> str:
    """A suite's live models and its own are two things under test."""
    return "live" if request.live else "suite"


async def _started(
    request: RunRequest, start: Start, store: Store, suite: str, manner: Manner
) -> tuple[int, tuple[str, ...]]:
    """Start a claimed run: its exit code, and lines about it."""
    run = replace(request, run_id=start.run_id, trigger=start.trigger, reason=start.reason)
    try:
        code = await manner.start(run)
    except InputError as error:
        if not await asyncio.to_thread(_planned, store, start.run_id):
            # The claim stays, so that the start is tried again when it has grown old.
            return int(error.exit_code), (f"run {start.run_id} was refused: {error}",)
        code = None  # whoever took the claim over was first
    handed = code is None
    if handed or await asyncio.to_thread(_planned, store, start.run_id):
        # Where the store is away now, the next look finds the run by its plan.
        with contextlib.suppress(StoreError):
            await asyncio.to_thread(
                watchdocs.change,
                store,
                suite,
                _line(request),
                lambda line: watching.begun(line, start.run_id),
            )
    said = "goes on elsewhere" if handed else f"ended with exit code {code}"
    return int(code or 0), (f"run {start.run_id} {said}",)


def event_of(kind: str, resource: str = "", reason: str = "", event_id: str = "") -> Event:
    """An event from texts that may come from anywhere.

    Args:
        kind: A trigger (``retrieval``), or the event's name (``nightgate.retrieval.changed``).
        resource: What changed.
        reason: In words.
        event_id: The same for the same event.

    Raises:
        InputError: If it is no kind of change.
    """
    named = _EVENT.fullmatch(kind.strip())
    texts = (plain(redact_text(text), _TEXT_CHARS) for text in (resource, reason, event_id))
    resource, reason, event_id = texts
    return Event(
        trigger=checked_trigger(named[1] if named else kind.strip()),
        resource=resource,
        reason=reason,
        id=event_id,
    )


def seconds(text: str, what: str) -> float:
    """A time as people write it: ``60s``, ``5m``, ``1h``; a bare number is seconds.

    Raises:
        InputError: If it is none.
    """
    found = _SECONDS.fullmatch(text.strip())
    if found is None:
        msg = f"{what} {text!r}: write a time, as in 60s, 5m or 1h"
        raise InputError(msg)
    return float(found[1]) * _UNIT_S[found[2] or "s"]


def switch(text: str, what: str) -> bool:
    """A yes or no that travels as text.

    Raises:
        InputError: If it is neither.
    """
    word = str(text).strip().lower()
    if word not in ("true", "false"):
        msg = f"{what} {text!r}: write true or false"
        raise InputError(msg)
    return word == "true"


def requests_of(
    folders: Sequence[Path], suite: str, *, live: str, store: str = "", event: Event | None = None
) -> list[RunRequest]:
    """What is looked at: all suites, or the one that is meant.

    Args:
        folders: Of the suites.
        suite: Only this one, by id; empty: all.
        live: true or false.
        store: Empty leaves it to the settings.
        event: It names one suite.

    Raises:
        InputError: If there is no such suite, or a text says nothing that can be meant.
    """
    if event is not None and not suite:
        msg = "an event is about one suite: name its id"
        raise InputError(msg)
    values = {"live": switch(live, "live"), "store": store or None}
    chosen = {_id_of(folder): folder for folder in folders} if suite else {}
    if suite and suite not in chosen:
        msg = f"no suite {suite!r} here; there are {', '.join(sorted(chosen)) or 'none'}"
        raise InputError(msg)
    return [RunRequest.make(folder, values) for folder in ([chosen[suite]] if suite else folders)]


def _id_of(folder: Path) -> str:
    try:
        return load_suite(folder).suite
    except InputError:
        return folder.name  # another suite that is broken is told where it is looked at


def as_dict(looked: Looked) -> dict[str, Any]:
    """A look as plain JSON."""
    return {
        "suite": looked.suite,
        "code": looked.code,
        "said": [plain(line) for line in looked.said],
        "waits_s": looked.waits_s,
        "run_id": looked.run_id,
    }
