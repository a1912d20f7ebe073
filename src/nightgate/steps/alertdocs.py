"""``alerts/<suite>.json``, read again.

Owns what has to be in a suite's book of alerts before anybody believes it, and that a damaged one silences no
night: it is kept aside and begun anew. What is written into a book is ``alertbook``'s and ``outbox``'s.
"""

from __future__ import annotations

import hashlib
import logging

from nightgate.errors import DamagedError, MissingError
from nightgate.messages import Kind
from nightgate.ports import Store
from nightgate.rows.jsondocs import (
    ANYTHING,
    COUNT,
    FLAG,
    TEXT,
    DocumentKind,
    Each,
    NewerDocumentError,
    OrMissing,
    OrNull,
    Shape,
    one_of,
)
from nightgate.rows.keys import alerts_key
from nightgate.rows.redaction import redact_text
from nightgate.steps.outbox import Book

SCHEMA = 1
_LOG = logging.getLogger("nightgate.alerts")
_CAUSE: dict[str, Shape] = {
    "id": TEXT,
    "kind": one_of(Kind),
    "subject": [TEXT],
    "since": TEXT,
    "nights": COUNT,
}
_SEEN: dict[str, Shape] = {
    "line": TEXT,
    "filters": Each(ANYTHING),
    "trigger": TEXT,
    "first_run": OrNull(TEXT),
    "last_run": OrNull(TEXT),
    "last_started_at": TEXT,
}
_FACTS: dict[str, Shape] = {"causes": [{"id": TEXT}], "more_causes": COUNT}
_WAITING: dict[str, Shape] = {
    "id": TEXT,
    "run_id": TEXT,
    "created_at": TEXT,
    "message": {"kind": TEXT, "title": TEXT, "body": TEXT, "facts": _FACTS},
    "to": Each({"delivered": FLAG, "attempts": COUNT, "error": OrNull(TEXT)}),
    "owner": OrNull(TEXT),
    "lease_until": TEXT,
}
_KIND = DocumentKind(
    name="book of alerts",
    schema=SCHEMA,
    shape={
        "suite": TEXT,
        "open": [{**_CAUSE, **_SEEN}],
        "ended": [{**_CAUSE, "first_run": OrNull(TEXT), "ended_by": TEXT}],
        "outbox": [_WAITING],
        "sent": [ANYTHING],
        "runs": [{"run_id": TEXT, "outcome": TEXT}],
        "last": Each(TEXT),
        "damaged": OrMissing(TEXT),
    },
    way_out=(
        "it is begun anew: causes that were open are told once more, those that ended are not closed, and "
        "messages that waited in it are lost"
    ),
)


def usable_book(store: Store, suite: str) -> tuple[Book, bytes | None]:
    """The suite's book and the bytes it was read from; an empty one where there is none.

    A damaged one is kept under another key, and an empty book, in which ``damaged`` names that key, takes its
    place: silence would say that all is well, so better a message twice than none.

    Raises:
        NewerDocumentError: If a newer nightgate wrote it.
        StoreError: If the store is out of reach.
    """
    key = alerts_key(suite)
    try:
        data = store.read(key)
    except MissingError:
        return _empty(suite), None
    try:
        return _book(data, key, suite), data
    except NewerDocumentError:
        raise
    except DamagedError as error:
        aside = f"{key}.damaged-{hashlib.sha256(data).hexdigest()[:16]}"
        store.create(aside, data)
        _LOG.warning("alerts: %s. What was there is kept as %s", redact_text(str(error)), aside)
        return {**_empty(suite), "damaged": aside}, data


def _book(data: bytes, key: str, suite: str) -> Book:
    book: Book = _KIND.read(data, key)
    if book["suite"] != suite:
        raise _KIND.damaged(key, f"it is of suite {book['suite']!r}")
    return book


def _empty(suite: str) -> Book:
    return {
        "schema": SCHEMA,
        "suite": suite,
        "open": [],
        "ended": [],
        "outbox": [],
        "sent": [],
        "runs": [],
        "last": {},
    }
