"""``watch/<suite>.json``, read and swapped: what the change watchers of a suite know together.

Owns what has to be in the document before anybody believes it, and that whoever writes it has seen what it
replaces. What is written into it is ``watching``'s.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from nightgate.errors import ConflictError, MissingError
from nightgate.ports import Store
from nightgate.rows.jsondocs import COUNT, TEXT, DocumentKind, Each, OrNull, Shape, one_of
from nightgate.rows.keys import watch_key

SCHEMA = 1
CLAIMED, STARTED, GIVEN_UP = "claimed", "started", "given up"
"""Stages of a start: somebody is about to, its run has a plan or was handed over, nobody tries any more."""
_TRIES = 50
"""Of a swap; each failure means that somebody else went on."""
_PARTS = Each(TEXT)
_START: dict[str, Shape] = {
    "number": COUNT,
    "trigger": TEXT,
    "parts": [TEXT],
    "reason": TEXT,
    "run_id": TEXT,
    "asked": OrNull(TEXT),
    "by": TEXT,
    "claimed_at": TEXT,
    "tries": COUNT,
    "stage": one_of((CLAIMED, STARTED, GIVEN_UP)),
}
_LINE: dict[str, Shape] = {
    "settled": OrNull({"parts": _PARTS, "guessed": [TEXT], "at": TEXT, "number": COUNT}),
    "pending": OrNull({"parts": _PARTS, "since": TEXT}),
    "unread": _PARTS,
    "starts": [_START],
    "events": [{"id": TEXT, "at": TEXT, "run_id": OrNull(TEXT)}],
}
_KIND = DocumentKind(
    name="state of the change watchers",
    schema=SCHEMA,
    shape={"suite": TEXT, "lines": Each(_LINE)},
    way_out=(
        "remove it: the next look begins anew from the last complete run, and a change whose run is not "
        "complete yet is started once more"
    ),
)

Line: TypeAlias = dict[str, Any]
"""What is known of a suite under one set of models: its own, or its live ones."""
T = TypeVar("T")


def an_empty_line() -> Line:
    """Nothing was seen yet."""
    return {"settled": None, "pending": None, "unread": {}, "starts": [], "events": []}


def line_of(store: Store, suite: str, name: str) -> Line:
    """What is known now, to look at. Errors as ``change``'s, but conflicts."""
    document, _ = _read(store, suite)
    line: Line = document["lines"].get(name) or an_empty_line()
    return line


def change(store: Store, suite: str, name: str, step: Callable[[Line], T]) -> T:
    """Read, change and swap until nobody came in between.

    Args:
        store: Where the state lies.
        suite: Whose.
        name: Of the line.
        step: Changes the line in place; called again with a fresh one after a conflict.

    Raises:
        DamagedError: If what is there is no such document, or a newer nightgate's; it is left as it is.
        ConflictError: If others kept coming in between.
        StoreError: If the store is out of reach.
    """
    for last in (*[False] * (_TRIES - 1), True):
        document, before = _read(store, suite)
        answer = step(document["lines"].setdefault(name, an_empty_line()))
        data = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode()
        if data == before:
            return answer
        try:
            store.swap(watch_key(suite), data, before)
        except ConflictError:
            if last:
                raise
            continue
        return answer
    raise AssertionError  # the loop returns or raises


def _read(store: Store, suite: str) -> tuple[dict[str, Any], bytes | None]:
    key = watch_key(suite)
    try:
        data = store.read(key)
    except MissingError:
        return {"schema": SCHEMA, "suite": suite, "lines": {}}, None
    found = _KIND.read(data, key)
    if found["suite"] != suite:
        raise _KIND.damaged(key, f"it is of suite {found['suite']!r}")
    return found, data
