"""How JSON values are compared: ``12 == 12.0``, ``true != 1``, ``"5" != 5``, missing is not null.

Owns equality and the recursive subset of contract, section 1. Numbers are compared exactly; texts
and keys as they are, case and accents included, but for their Unicode form: a composed and a
decomposed ``ñ`` are one text. Knows nothing of tools or states.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

_MISSING = object()


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
        return bool(_exact(left) == _exact(right))
    if isinstance(left, str) and isinstance(right, str):
        return _composed(left) == _composed(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return _part(left, right, equal) and all(_at(left, key) is not _MISSING for key in right)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    return type(left) is type(right) and bool(left == right)


def subset(want: Any, have: Any) -> bool:
    """Whether ``want`` is part of ``have``: recursive for objects; lists compare whole.

    >>> subset({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}), subset({"a": None}, {})
    (True, False)
    """
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and _part(want, have, subset)
    return equal(want, have)


def _part(want: Mapping[Any, Any], have: Mapping[Any, Any], holds: Callable[[Any, Any], bool]) -> bool:
    """Whether every key of ``want`` is in ``have`` with a value that ``holds``."""
    found = ((value, _at(have, key)) for key, value in want.items())
    return all(there is not _MISSING and holds(value, there) for value, there in found)


def parsed(arguments: Any) -> Any:
    """Arguments as a value: JSON text is parsed first, other text stays text.

    Some gateways encode an object once more than they should; it is that object all the same.
    """
    value = _loaded(arguments)
    again = _loaded(value)
    return again if isinstance(again, Mapping) else value


def _loaded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


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
        there = _at(value, key) if isinstance(value, Mapping) else _MISSING
        if there is not _MISSING:
            found = _follow(there, steps[width:])
            if found is not _MISSING:
                return found
    if isinstance(value, list | tuple) and steps[0].isdecimal() and int(steps[0]) < len(value):
        return _follow(value[int(steps[0])], steps[1:])
    return _MISSING


def show(value: Any, limit: int = 160) -> str:
    """A JSON value in one line, cut to ``limit``."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        text = "(nested too deep to be shown)"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _at(mapping: Mapping[Any, Any], key: Any) -> Any:
    """What is under a key, whatever the Unicode form of either; ``_MISSING`` when nothing is."""
    if key in mapping:
        return mapping[key]
    if not isinstance(key, str) or key.isascii():
        return _MISSING
    wanted = _composed(key)
    return next((mapping[k] for k in mapping if isinstance(k, str) and _composed(k) == wanted), _MISSING)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _exact(number: float | Decimal) -> int | float | Decimal:
    """A float as it is written, beside decimals from a database: 0.1 is 0.1."""
    return Decimal(repr(number)) if isinstance(number, float) and math.isfinite(number) else number


def _number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
