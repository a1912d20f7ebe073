"""Messages that wait in a suite's book until every channel has them.

Owns the outbox. Messages stand in it before they are sent, so that a process that dies in between loses
none; a lease keeps two processes from sending the same one.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nightgate.messages import Message

LEASE_S = 900.0
"""How long a message belongs to the process that took it up; longer than that process may try."""
KEPT_DAYS = 14
"""A message that nobody took for so long is given up."""
_KEPT = 200
"""Messages that are kept once they are done with."""
Book = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Step:
    """What one look at the book changed."""

    book: Book
    skipped: str | None = None
    """Why nothing was to be told; None: it was looked at."""
    opened: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    taken: list[Book] = field(default_factory=list)
    """Messages that this process has to send."""


def post(book: Book, message: Message, run_id: str, now: datetime, channels: Sequence[str]) -> None:
    """Put a message into the outbox, for every channel."""
    told = {
        "kind": message.kind,
        "title": message.title,
        "body": message.body,
        "facts": dict(message.facts),
    }
    to = {name: {"delivered": False, "attempts": 0, "error": None} for name in channels}
    book["outbox"].append(
        {
            "id": message.id,
            "run_id": run_id,
            "created_at": now.isoformat(),
            "message": told,
            "to": to,
            "owner": None,
            "lease_until": "",
        }
    )


def take(step: Step, now: datetime, owner: str | None = None) -> Step:
    """Lease every waiting message that nobody else is sending, and give up those that are too old."""
    owner = owner or secrets.token_hex(8)
    oldest = (now - timedelta(days=KEPT_DAYS)).isoformat()
    kept = []
    for item in step.book["outbox"]:
        if item["created_at"] < oldest and item["lease_until"] < now.isoformat():
            step.book["sent"] = [*step.book["sent"], _record(item, "given up", now)][-_KEPT:]
            continue
        if item["lease_until"] < now.isoformat():
            item |= {"owner": owner, "lease_until": (now + timedelta(seconds=LEASE_S)).isoformat()}
            step.taken.append(item)
        kept.append(item)
    step.book["outbox"] = kept
    return step


def settle(book: Book, results: Mapping[str, Mapping[str, Any]], now: datetime) -> Step:
    """Write down what came of the messages that this process has tried to send.

    Args:
        book: Changed in place.
        results: Message id -> channel -> ``{"error": text or None, "attempts": n}``.
        now: Aware.
    """
    kept = []
    for item in book["outbox"]:
        told = results.get(item["id"])
        if told is not None:
            for channel, result in told.items():
                before = item["to"].get(channel, {"attempts": 0})
                item["to"][channel] = {
                    "delivered": result["error"] is None,
                    "attempts": before["attempts"] + result["attempts"],
                    "error": result["error"],
                }
            item |= {"owner": None, "lease_until": ""}
        if told is not None and all(to["delivered"] for to in item["to"].values()):
            book["sent"] = [*book["sent"], _record(item, "delivered", now)][-_KEPT:]
        else:
            kept.append(item)
    book["outbox"] = kept
    return Step(book=book)


def overtake(book: Book, ended: set[str]) -> None:
    """Drop openings that nobody got and whose causes have all ended: the closing tells it."""
    book["outbox"] = [
        item
        for item in book["outbox"]
        if item["message"]["kind"] != "opening"
        or item["owner"] is not None
        or item["message"]["facts"]["more_causes"]
        or any(to["delivered"] for to in item["to"].values())
        or not {cause["id"] for cause in item["message"]["facts"]["causes"]} <= ended
    ]


def _record(item: Mapping[str, Any], how: str, now: datetime) -> Book:
    message = item["message"]
    return {
        "id": item["id"],
        "run_id": item["run_id"],
        "kind": message["kind"],
        "title": message["title"],
        "channels": list(item["to"]),
        "how": how,
        "at": now.isoformat(),
    }
