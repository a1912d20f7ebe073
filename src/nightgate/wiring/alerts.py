"""Alerts of a run: which channels a suite names, the call that tells them, and the line about it.

Owns that alerting never raises into a run: what goes wrong becomes a part of its report. Knows no command
line; the environment says which channels there are and where reports are served.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nightgate.adapters.alerts import VARIABLE, build_channel, definitions, named
from nightgate.adapters.store import open_store
from nightgate.cases import Suite, canonical_json, load_suite
from nightgate.errors import AlertError, InputError, NightgateError
from nightgate.messages import Cause, neutral
from nightgate.ports import AlertChannel, Clock, Store
from nightgate.requests import DEFAULT_STORE, RunRequest
from nightgate.rows.keys import alert_report_key
from nightgate.steps.alerting import Telling, alert, check_targets
from nightgate.steps.overdue import alert_overdue, overdue
from nightgate.steps.reading import load_plan
from nightgate.wiring.telling import tell_alerts

REPORT_URL = "NIGHTGATE_REPORT_URL"
Channels = Mapping[str, AlertChannel]


class _Unusable:
    """A channel that cannot be built here; its messages wait for a process that can."""

    patience_s = 1.0

    def __init__(self, name: str, why: str) -> None:
        self.name, self.target, self._why = name, "nowhere", why

    def send(self, *_: Any) -> None:
        """Refuse."""
        raise AlertError(self._why, again=False)

    def check(self) -> str:
        """Refuse."""
        raise AlertError(self._why, again=False)


def channels_of(names: Iterable[str], where: str, given: Channels | None = None) -> list[AlertChannel]:
    """The channels behind names; nothing is reached for.

    Args:
        names: As suite.yaml has them.
        where: Where they stand, for the message.
        given: Channels that go before the configured ones, by name.

    Raises:
        InputError: For an unknown name, or a channel that cannot be built.
    """
    given, wanted = given or {}, list(dict.fromkeys(names))
    configured = [name for name in wanted if name not in given]
    found = named(configured, definitions(), where) if configured else []
    built = {definition.name: build_channel(definition) for definition in found}
    return [given[name] if name in given else built[name] for name in wanted]


def refuse_bad_channels(suite: Suite, request: RunRequest) -> None:
    """Check names and definitions before anything is spent.

    Raises:
        InputError: As ``channels_of``.
    """
    if request.alerts and suite.alerts:
        channels_of(suite.alerts, str(suite.file))


async def check_channels(request: RunRequest, given: Channels | None = None) -> list[str]:
    """Look at the targets of a suite before a night depends on them; no message is sent.

    Returns:
        A warning for each target that is out of reach: its messages will be kept and sent later.

    Raises:
        InputError: If a name or a definition is wrong.
    """
    if not request.alerts:
        return []
    suite = await asyncio.to_thread(load_suite, request.suite)
    channels = channels_of(suite.alerts, str(suite.file), given)
    found = await asyncio.to_thread(check_targets, channels)
    return [
        f"alerts: channel {row['channel']} ({row['target']}) is out of reach: {row['text']}"
        for row in found
        if not row["ok"]
    ]


def looked_at(names: Iterable[str] | None, where: str) -> list[dict[str, Any]]:
    """For ``doctor``: a row a channel with ``channel``, ``target``, ``ok``, ``text``.

    Args:
        names: Those of a suite; None for all that are configured.
        where: Where they stand, for messages.
    """
    try:
        known = definitions()
        if names is None:
            chosen = [d for d in known.values() if d.kind != "log"]
        else:
            chosen = named(names, known, where)
    except InputError as error:
        text = str(error).removeprefix(f"{VARIABLE}: ")
        return [{"channel": "(names)", "target": VARIABLE, "ok": False, "text": text}]
    rows: list[dict[str, Any]] = []
    for definition in chosen:
        try:
            rows += check_targets([build_channel(definition)])
        except InputError as error:
            row = {"channel": definition.name, "target": definition.kind, "ok": False, "text": str(error)}
            rows.append(row)
    return rows


async def send_alerts(
    request: RunRequest,
    run_id: str,
    *,
    channels: Channels | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> dict[str, Any] | None:
    """Tell a suite's channels what a run changed. Never raises for alerting's sake.

    Call it last, when the run's summary, flakiness and canary are written, and before the exit.

    Args:
        request: Says where the store is, and whether alerts are wanted.
        run_id: The run, complete or not.
        channels: Channels that go before the configured ones, by name.
        store: Used instead of the request's.
        clock: Instead of the machine's.

    Returns:
        The report of ``steps.alerting.alert`` with ``channels`` (name -> where it leads) and ``error``; None
        where nobody is to be told (``--no-alerts``, a suite without ``alerts:``).
    """
    if not request.alerts:
        return None
    opened = store
    try:
        opened = opened if opened is not None else await asyncio.to_thread(open_store, request.store)
        plan = await asyncio.to_thread(load_plan, opened, run_id)
        if not plan.alerts:
            return None
        built = [_channel(name, channels) for name in plan.alerts]
        told = await asyncio.to_thread(alert, opened, run_id, built, clock or _clock(), _telling(request))
        unset = [name for name in plan.alerts if name not in (channels or {}) and _is_unset(name)]
        report = {**told, "error": None, "channels": {c.name: c.target for c in built}, "unset": unset}
    except Exception as error:  # whatever it is, the run has its verdict
        text = str(error) if isinstance(error, NightgateError) else type(error).__name__
        report = {"schema": 1, "run_id": run_id, "error": neutral(text, 200), "channels": {}}
    tell_alerts(run_id, alerts_line(report), report)
    if opened is not None:
        # Whoever prints the end of the run may be another process than the one that told.
        with contextlib.suppress(NightgateError):
            await asyncio.to_thread(opened.replace, alert_report_key(run_id), canonical_json(report))
    return report


async def tell_overdue(
    request: RunRequest,
    hours: float,
    *,
    channels: Channels | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
    tell: bool = True,
) -> Cause | None:
    """Find out whether a suite has had no complete run for so long, and tell its channels once.

    Args:
        request: Names suite and store.
        hours: Since the scheduled start of the newest complete run.
        channels: As for ``send_alerts``.
        store: Used instead of the request's.
        clock: Instead of the machine's.
        tell: False only looks.

    Returns:
        The cause; None where a complete run is young enough.

    Raises:
        InputError: If the suite or its channels are wrong.
        StoreError: If the store is out of reach.
    """
    suite = await asyncio.to_thread(load_suite, request.suite)
    opened = store if store is not None else await asyncio.to_thread(open_store, request.store)
    now = clock or _clock()
    built = channels_of(suite.alerts, str(suite.file), channels) if tell and request.alerts else []
    if not built:
        return await asyncio.to_thread(overdue, opened, suite.suite, now.now(), hours)
    return await asyncio.to_thread(
        alert_overdue,
        opened,
        suite.suite,
        hours,
        built,
        now,
        owner=suite.owner or None,
        path=request.suite,
        telling=_telling(request),
    )


def alerts_line(report: Mapping[str, Any] | None) -> str | None:
    """What a terminal or a log says of the alerts; None where there is nothing to say."""
    if report is None:
        return None
    if report["error"] is not None:
        return f"alerts: NOT sent: {report['error']}"
    parts = _sent_parts(report) + _lost_parts(report["undelivered"])
    if report["skipped"] is not None and not parts:
        return f"alerts: none sent: {report['skipped']}"
    if not parts:
        known = len(report["open"])
        return f"alerts: nothing new, {known} known before" if known else None
    return f"alerts: {'; '.join(parts)}"


def _sent_parts(report: Mapping[str, Any]) -> list[str]:
    parts = []
    for name, target in report["channels"].items():
        count = sum(sent["channel"] == name for sent in report["sent"])
        if count:
            unset = f"; {VARIABLE} defines no {name}" if name in report["unset"] else ""
            parts.append(f"{count} sent to {name} ({target}{unset})")
    return parts


def _lost_parts(undelivered: Sequence[Mapping[str, Any]]) -> list[str]:
    by_channel: dict[str, list[Mapping[str, Any]]] = {}
    for row in undelivered:
        by_channel.setdefault(row["channel"], []).append(row)
    return [
        f"{len(rows)} NOT delivered to {name}: {rows[0]['error'] or 'another process is at it'} "
        f"(tried {rows[0]['attempts']} times, kept for the next run)"
        for name, rows in by_channel.items()
    ]


def _channel(name: str, given: Channels | None) -> AlertChannel:
    try:
        return channels_of([name], "the run's plan", given)[0]
    except InputError as error:
        return _Unusable(name, str(error))


def _is_unset(name: str) -> bool:
    try:
        return name == "default" and definitions()[name].kind == "log"
    except InputError:
        return False


def _telling(request: RunRequest) -> Telling:
    flag = request.store if request.store != DEFAULT_STORE else None
    return Telling(report_url=os.environ.get(REPORT_URL) or None, store_flag=flag)


def _clock() -> Clock:
    from nightgate.wiring.rooms import SystemClock

    return SystemClock()
