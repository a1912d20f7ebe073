"""The last step of a run: tell people what changed, once.

Owns the order: causes, the book, delivery, the report of it. Never raises for a channel's sake and never
touches a verdict.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nightgate.errors import AlertError
from nightgate.messages import Kind, Root, Setting, neutral
from nightgate.plans import SWEEP
from nightgate.ports import AlertChannel, Clock, Store
from nightgate.reports.figures import more_money
from nightgate.requests import MANUAL
from nightgate.rows.keys import alert_report_key, report_index_key, summary_key
from nightgate.steps import alertbook, outbox
from nightgate.steps.addresses import served_at
from nightgate.steps.causes import Night, causes_of, read_night
from nightgate.steps.delivering import Patience, bounded, deliver

__all__ = ["Telling", "alert", "causes_of", "check_targets", "flagged", "send_taken", "utc_now"]

_TOLD_KINDS = ("run", SWEEP)
"""Reruns of suspects and canaries are evidence of another run, which is told of."""
_WHYS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How messages are worded and delivered."""

    report_url: str | None = None
    """Where the store is served; what lies in it is added. With ``{run_id}`` or ``{suite}`` in it: the whole
    address of a run's page, which is filled in. None: messages name the place in the store."""
    store_flag: str | None = None
    """The store as commands have to name it; None for the default one."""
    patience: Patience = field(default_factory=Patience)


def alert(
    store: Store,
    run_id: str,
    channels: Sequence[AlertChannel],
    clock: Clock,
    telling: Telling | None = None,
) -> dict[str, Any]:
    """Tell what a run changed, and what earlier runs could not deliver.

    A second call for the same outcome of a run tells nothing new.

    Args:
        store: Where the run lies.
        run_id: The run, complete or not.
        channels: All that are told.
        clock: For stamps and leases.
        telling: Links, commands, patience.

    Returns:
        The report, strict JSON, also kept as ``runs/<run_id>/alerts.json``: ``skipped`` (why nothing was
        looked at, or null), ``opened``, ``ended``, ``sent``, ``undelivered``, ``open``.

    Raises:
        MissingError: If there is no such run.
        StoreError: If the store is out of reach.
    """
    telling = telling or Telling()
    night = read_night(store, run_id)
    reason = _out_of_scope(night)
    if reason is not None:
        return _report(night, {"open": [], "outbox": []}, outbox.Step(book={}, skipped=reason), {})
    names = [channel.name for channel in channels]

    def words(root: Root | None) -> Setting:
        return _setting(store, night, root, telling)

    def look(book: outbox.Book) -> outbox.Step:
        now = utc_now(clock)
        return outbox.take(alertbook.advance(book, night, now, names, words), now)

    step = alertbook.change(store, night.plan.suite, look)
    book, results = send_taken(store, night.plan.suite, step, channels, clock, telling.patience)
    report = _report(night, book, step, results)
    if step.skipped is None or results:
        data = json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False).encode()
        store.replace(alert_report_key(run_id), data)
    return report


def check_targets(channels: Sequence[AlertChannel]) -> list[dict[str, Any]]:
    """Look at every target without sending: ``{"channel", "target", "ok", "text"}`` each."""
    found = []
    for channel in channels:
        try:
            text, ok = str(bounded(channel.check, channel.patience_s)), True
        except AlertError as error:
            text, ok = str(error), False
        found.append(
            {"channel": channel.name, "target": channel.target, "ok": ok, "text": neutral(text, 200)}
        )
    return found


def _out_of_scope(night: Night) -> str | None:
    if night.plan.run_kind not in _TOLD_KINDS:
        return f"a run of kind {night.plan.run_kind} is told of with its parent"
    if night.plan.filters and night.plan.trigger == MANUAL:
        return "a run of a part of the cases, started by hand: whoever started it reads it"
    if night.interrupted:
        return "it was interrupted: whoever stopped it knows"
    return None


def send_taken(
    store: Store,
    suite: str,
    step: outbox.Step,
    channels: Sequence[AlertChannel],
    clock: Clock,
    patience: Patience,
) -> tuple[outbox.Book, dict[str, dict[str, dict[str, Any]]]]:
    """Send what this process has taken up, and write down what came of it."""
    if not step.taken:
        return step.book, {}
    results = deliver(step.taken, {channel.name: channel for channel in channels}, patience)
    settled = alertbook.change(store, suite, lambda book: outbox.settle(book, results, utc_now(clock)))
    return settled.book, results


def _report(
    night: Night,
    book: Mapping[str, Any],
    step: outbox.Step,
    results: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, Any]:
    titles = {item["id"]: item["message"]["title"] for item in step.taken}
    sent = [
        {"id": message_id, "title": titles[message_id], "channel": channel}
        for message_id, told in results.items()
        for channel, result in told.items()
        if result["error"] is None and result["attempts"]
    ]
    undelivered = [
        {
            "id": item["id"],
            "run_id": item["run_id"],
            "title": item["message"]["title"],
            "channel": channel,
            "attempts": to["attempts"],
            "error": to["error"],
        }
        for item in book["outbox"]
        for channel, to in item["to"].items()
        if not to["delivered"]
    ]
    kept = ("id", "kind", "subject", "since", "first_run", "nights")
    looked_at = {"summary": night.summary, "flakiness": night.flakiness, "canary": night.canary}
    return {
        "schema": alertbook.SCHEMA,
        "run_id": night.plan.run_id,
        "suite": night.plan.suite,
        "outcome": night.outcome,
        "skipped": step.skipped,
        "missing": [name for name, document in looked_at.items() if document is None],
        "opened": step.opened,
        "ended": step.ended,
        "sent": sent,
        "undelivered": undelivered,
        "open": [{name: entry[name] for name in kept} for entry in book["open"]],
    }


def _setting(store: Store, night: Night, root: Root | None, telling: Telling) -> Setting:
    summary = night.summary or {}
    comparison = summary.get("comparison") or {}
    return Setting(
        suite=night.plan.suite,
        run_id=night.plan.run_id,
        date=night.plan.date,
        owner=night.plan.owner,
        changed=(*_variant(night), *(str(factor["text"]) for factor in comparison.get("factors", ()))),
        why=tuple(_whys(night)) if root is Root.REGRESSION else (),
        cost=_cost(summary.get("cost_usd")),
        link=_link(store, night, telling.report_url),
        command=flagged(_command(night, root), telling),
    )


def _variant(night: Night) -> tuple[str, ...]:
    """The model, where it is not the suite's own: its failures are no failures of that one."""
    usual = night.plan.usual_model
    return () if usual is None else (f"model {night.plan.model}, the suite's own is {usual}",)


def _whys(night: Night) -> list[str]:
    """Reasons of the first failures, those of newly broken cases before others."""
    broken = {cause.subject[:2] for cause in night.causes if cause.kind is Kind.NEWLY_BROKEN}
    failed = [f for f in (night.summary or {}).get("failures", ()) if f["status"] == "fail"]
    failed.sort(key=lambda f: (f["case"], f["evaluator"]) not in broken)
    return [f"{neutral(f['case'], 40)} {f['evaluator']}: {neutral(f['reason'])}" for f in failed[:_WHYS]]


def _cost(cost: Mapping[str, Any] | None) -> str:
    if cost is None:
        return "unknown"
    if cost["total"] is None:
        return f"unknown (at least ${cost['at_least']['total']:.4f})"
    return f"${cost['total']:.4f}"


def _link(store: Store, night: Night, base: str | None) -> str:
    """The run's first page; its summary where it has none: a sweep, ``--no-report``, a disk that was full."""
    run_id = night.plan.run_id
    page = report_index_key(run_id)
    key = page if store.find(page) else summary_key(run_id)
    return served_at(base, run_id, night.plan.suite, key) if base else f"{store.uri}/{key}"


def _command(night: Night, root: Root | None) -> str:
    """What to type next; ids of ours and the suite's path, never a text of a case."""
    summary, run_id = night.summary or {}, night.plan.run_id
    path = shlex.quote(night.plan.suite_path or night.plan.suite)
    if root is None:
        return f"nightgate history {night.plan.suite}"
    if root is Root.JUDGE:
        return f"nightgate calibrate {path}"
    if root is Root.CARE:
        return f"nightgate flaky {night.plan.suite}"
    if not night.complete:
        again = "sweep" if night.plan.is_sweep else "run"
        subject = night.plan.source or "latest" if night.plan.is_sweep else path
        money = more_money(summary) if night.summary is not None else ""
        return f"nightgate {again} {subject} --resume {run_id}{money}"
    if root is Root.REGRESSION and summary.get("baseline"):
        return f"nightgate compare {summary['baseline']} {run_id}"
    if root is Root.MEASUREMENT and summary["cells"]["error"] and not night.plan.is_sweep:
        return f"nightgate run {path} --rerun {run_id} --only errors"
    return f"nightgate gate {run_id}"


def flagged(command: str, telling: Telling) -> str:
    """A command with the store that it is about."""
    return command + (f" --store {shlex.quote(telling.store_flag)}" if telling.store_flag else "")


def utc_now(clock: Clock) -> datetime:
    """Now, in UTC."""
    return clock.now().astimezone(UTC)
