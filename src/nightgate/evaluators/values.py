"""How JSON values are compared: ``12 == 12.0``, ``true != 1``, ``"5" != 5``, missing is not null.

Owns equality and the recursive subset of contract, section 1. Knows nothing of tools or states.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same value.

    >>> equal({"n": 12, "flag": True}, {"flag": True, "n": 12.0})
    True
    >>> equal(True, 1), equal("5", 5), equal(None, 0)
    (False, False, False)
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if _number(left) and _number(right):
        return bool(left == right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    return type(left) is type(right) and bool(left == right)


def subset(want: Any, have: Any) -> bool:
    """Whether ``want`` is part of ``have``: recursive for objects; lists compare whole.

    >>> subset({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}), subset({"a": None}, {})
    (True, False)
    """
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(
            key in have and subset(value, have[key]) for key, value in want.items()
        )
    return equal(want, have)


def parsed(arguments: Any) -> Any:
    """Arguments as a value: JSON text is parsed first, other text stays text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


_MISSING = object()


def lookup(state: Any, path: str) -> tuple[bool, Any]:
    """Follow a dotted path through objects and lists.

    Keys that hold dots themselves are found too: at each step the longest key that fits wins.

    Returns:
        Whether the path exists, and what is there.
    """
    found = _follow(state, path.split("."))
    return (False, None) if found is _MISSING else (True, found)


def _follow(value: Any, steps: list[str]) -> Any:
    if not steps:
        return value
    for width in range(len(steps), 0, -1):
        key = ".".join(steps[:width])
        if isinstance(value, Mapping) and key in value:
            found = _follow(value[key], steps[width:])
            if found is not _MISSING:
                return found
    if isinstance(value, list | tuple) and steps[0].isdecimal() and int(steps[0]) < len(value):
        return _follow(value[int(steps[0])], steps[1:])
    return _MISSING


def show(value: Any, limit: int = 160) -> str:
    """A JSON value in one line, cut to ``limit``."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
