"""What a suite's people were told: open causes, ended ones, and the runs they came from.

Owns ``alerts/<suite>.json`` and its rules: a cause is told when it opens and when it ends, never in
between; an older run changes nothing that a newer one has settled; of two finishers one tells. The
document is swapped, so whoever writes it has seen what it replaces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from nightgate.errors import ConflictError
from nightgate.messages import Cause, End, Kind, Root, Setting, closing, in_order, opening
from nightgate.messages.causes import LINE_KINDS
from nightgate.ports import Store
from nightgate.requests import MANUAL
from nightgate.rows.keys import alerts_key
from nightgate.steps import alertdocs
from nightgate.steps.causes import SWEEP_LINE, Night
from nightgate.steps.nights import series_of
from nightgate.steps.outbox import Book, Step, overtake, post
from nightgate.steps.recoveries import fixed, over

SCHEMA = alertdocs.SCHEMA
_KEPT = 200
"""Ended causes, told runs and sent messages that are kept."""
_NO_RUN = "(none)"
_TRIES = 50
"""Of a swap; each failure means that somebody else went on."""


def change(store: Store, suite: str, step: Callable[[Book], Step]) -> Step:
    """Read, change and swap until nobody came in between.

    Args:
        store: Where the book lies.
        suite: Whose.
        step: Makes the change on a book of its own; called again after a conflict.

    Raises:
        NewerDocumentError: If a newer nightgate wrote the book; it is left as it is.
        ConflictError: If others kept coming in between.
        StoreError: If the store is out of reach.
    """
    for last in (*[False] * (_TRIES - 1), True):
        book, before = alertdocs.usable_book(store, suite)
        done = step(book)
        data = json.dumps(done.book, ensure_ascii=False, indent=1, allow_nan=False).encode()
        if data == before:
            return done
        try:
            store.swap(alerts_key(suite), data, before)
        except ConflictError:
            if last:
                raise
            continue
        return done
    raise AssertionError  # the loop returns or raises


def advance(
    book: Book, night: Night, now: datetime, channels: Sequence[str], words: Callable[[Root | None], Setting]
) -> Step:
    """Take a run into the book: open, end, and put messages into the outbox.

    Args:
        book: Changed in place.
        night: The run.
        now: Aware.
        channels: Names of those that are told.
        words: What messages say of the run, by root; None for a closing.
    """
    step = Step(book=book)
    step.skipped = _nothing_to_tell(book, night)
    if step.skipped is not None:
        return step
    words = _noting(book.pop("damaged", None), words)
    fresh = [cause for cause in night.causes if _is_news(book, cause, night)]
    fresh += [cause for cause in night.unexplained(fresh) if _is_news(book, cause, night)]
    fresh = in_order(fresh)
    goes_on = {cause.id for cause in (*night.causes, *fresh)}
    ends = {e["id"]: _end(e, night) for e in book["open"] if e["id"] not in goes_on}
    ended = [entry for entry in book["open"] if ends.get(entry["id"]) is not None]
    ended_ids = {entry["id"] for entry in ended}
    for entry in book["open"]:
        newer = entry["last_started_at"] <= night.plan.started_at and entry["last_run"] != night.plan.run_id
        if entry["id"] in goes_on and newer:
            seen = {"last_run": night.plan.run_id, "last_started_at": night.plan.started_at}
            entry |= {"nights": entry["nights"] + 1, **seen}
    known = [_cause(entry) for entry in book["open"] if entry["id"] not in ended_ids]
    loud = [
        replace(_cause(entry), end=ends[entry["id"]] or End.MENDED)
        for entry in ended
        if not _is_quiet(entry, ends[entry["id"]], night)
    ]
    loud += _good_news(book, night)
    book["open"] = [entry for entry in book["open"] if entry["id"] not in ended_ids]
    book["ended"] = [*book["ended"], *(_ended_entry(entry, night, now) for entry in ended)][-_KEPT:]
    book["open"] += [_entry(cause, night, now) for cause in fresh]
    for root in dict.fromkeys(cause.root for cause in fresh):
        of_root = [cause for cause in fresh if cause.root is root]
        message = opening(_message_id(night, root.value), of_root, words(root), known=known)
        post(book, message, night.plan.run_id, now, channels)
    if loud:
        overtake(book, ended_ids)
        still = [*known, *fresh]
        post(
            book,
            closing(_message_id(night, "closing"), loud, words(None), known=still),
            night.plan.run_id,
            now,
            channels,
        )
    book["runs"] = [*book["runs"], _told(night, now)][-_KEPT:]
    book["last"][night.line] = max(book["last"].get(night.line, ""), night.plan.started_at)
    step.opened, step.ended = [cause.id for cause in fresh], [cause.id for cause in loud]
    return step


def post_alone(book: Book, cause: Cause, setting: Setting, now: datetime, channels: Sequence[str]) -> Step:
    """Open a cause that no run stands behind; nothing where it is open already."""
    step = Step(book=book)
    if any(entry["id"] == cause.id for entry in book["open"]):
        step.skipped = "it is open already"
        return step
    at = now.isoformat()
    entry = {
        **_plain(cause),
        "opened_at": at,
        "first_run": None,
        "last_run": None,
        "last_started_at": "",
        "trigger": "",
        "nights": 1,
    }
    book["open"].append({**entry, "since": cause.since or setting.date})
    message_id = hashlib.sha256(f"{cause.id} {at}".encode()).hexdigest()[:24]
    post(book, opening(message_id, [cause], setting), setting.run_id or _NO_RUN, now, channels)
    step.opened = [cause.id]
    return step


def _noting(aside: str | None, words: Callable[[Root | None], Setting]) -> Callable[[Root | None], Setting]:
    """The words with a line for those who may read a thing twice because the book was lost."""
    if aside is None:
        return words
    note = "the record of alerts was damaged: known causes are told again"

    def noted(root: Root | None) -> Setting:
        setting = words(root)
        return replace(setting, changed=(note, *setting.changed))

    return noted


def _nothing_to_tell(book: Book, night: Night) -> str | None:
    run_id, started = night.plan.run_id, night.plan.started_at
    if any(told["run_id"] == run_id and told["outcome"] == night.outcome for told in book["runs"]):
        return "this outcome of the run was told before"
    if started < book["last"].get(night.line, ""):
        return "a newer run has been told of"
    return None


def _is_news(book: Book, cause: Cause, night: Night) -> bool:
    """Whether it is not open, and was not ended by a run that is newer."""
    if any(entry["id"] == cause.id for entry in book["open"]):
        return False
    return not any(e["id"] == cause.id and e["ended_by"] > night.plan.started_at for e in book["ended"])


def _end(entry: Mapping[str, Any], night: Night) -> End | None:
    """How an open cause has ended; None where it goes on."""
    if entry["last_started_at"] > night.plan.started_at:
        return None
    kind = Kind(entry["kind"])
    if entry["line"] != night.line_of(kind):
        return End.MENDED if kind in LINE_KINDS and _superseded(entry, night) else None
    return over(night, kind, entry["subject"])


def _superseded(entry: Mapping[str, Any], night: Night) -> bool:
    """Whether nobody will run the former model again.

    The schedule itself went on with another one, or somebody tried one by hand and the suite's own is back.
    """
    if entry["filters"] != dict(night.plan.filters) or night.plan.is_sweep or entry["line"] == SWEEP_LINE:
        return False
    if entry["trigger"] == MANUAL:
        return night.plan.usual_model is None and series_of(entry["line"]) == series_of(night.plan.model)
    return bool(entry["trigger"] == night.plan.trigger)


def _is_quiet(entry: Mapping[str, Any], end: End | None, night: Night) -> bool:
    """Ends that are no news: a quarantine that was seen to, a model that is no longer run, a flaky gate.

    One that fails by nothing but flaky cases by now still fails, and the board says of which.
    """
    kind = Kind(entry["kind"])
    if end is End.KNOWN:
        return True
    return kind is Kind.QUARANTINE_EXPIRING or (kind in LINE_KINDS and entry["line"] != night.line)


def _good_news(book: Book, night: Night) -> list[Cause]:
    """What the history calls fixed and no open cause stood for."""
    if night.flakiness is None:
        return []
    told = {tuple(e["subject"]) for e in book["open"] if e["kind"] == Kind.NEWLY_BROKEN.value}
    return [
        Cause(kind=Kind.NEWLY_FIXED, subject=pair, text=f"newly fixed: {pair[0]} ({pair[1]})")
        for pair in sorted(fixed(night) - told)
    ]


def _plain(cause: Cause) -> dict[str, Any]:
    return {
        "id": cause.id,
        "kind": cause.kind.value,
        "subject": list(cause.subject),
        "figures": cause.figures,
        "line": cause.line,
        "filters": {},
    }


def _entry(cause: Cause, night: Night, now: datetime) -> Book:
    plan = night.plan
    return {
        **_plain(cause),
        "filters": dict(plan.filters),
        "since": cause.since or plan.date,
        "opened_at": now.isoformat(),
        "first_run": plan.run_id,
        "last_run": plan.run_id,
        "last_started_at": plan.started_at,
        "trigger": plan.trigger,
        "nights": 1,
    }


def _cause(entry: Mapping[str, Any]) -> Cause:
    return Cause(
        kind=Kind(entry["kind"]), subject=tuple(entry["subject"]), since=entry["since"], line=entry["line"]
    )


def _ended_entry(entry: Book, night: Night, now: datetime) -> Book:
    kept = {name: entry[name] for name in ("id", "kind", "subject", "since", "first_run", "nights")}
    return {
        **kept,
        "ended_at": now.isoformat(),
        "ended_run": night.plan.run_id,
        "ended_by": night.plan.started_at,
    }


def _told(night: Night, now: datetime) -> Book:
    return {"run_id": night.plan.run_id, "outcome": night.outcome, "at": now.isoformat()}


def _message_id(night: Night, what: str) -> str:
    told = f"{night.plan.run_id} {night.outcome} {what}"
    return hashlib.sha256(told.encode()).hexdigest()[:24]
