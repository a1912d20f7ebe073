"""Any Python value as strict JSON text, and back.

Owns what becomes of values that JSON has no word for: bytes come back as bytes, NaN and the
infinities become text, objects become what they say of themselves. Nothing that an agent, a tool
or a judge leaves behind may keep a finished trial from being stored, so nothing here raises on
odd values. Imports the standard library only.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import numbers
import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from typing import Any

_DEPTH = 150
"""Deeper nesting is cut: the parser of the standard library recurses."""
_WIDE_INT_BITS = 14_000
"""Integers over about 4,200 digits are refused by Python's own conversion to text."""
_ESCAPABLE = re.compile(r"\$+bytes")
_ESCAPED = re.compile(r"\$\$+bytes")
_MARK = '"$'


def json_text(value: Any) -> str:
    r"""Strict JSON for ``value``; compact, keys in their own order.

    Bytes are written as ``{"$bytes": base64}``; a mapping that says ``$bytes`` itself gets one
    more ``$``. NaN and infinities become the texts ``NaN``, ``Infinity`` and ``-Infinity``, keys
    become text, other objects their ISO form, their fields or ``str``. A lone surrogate is
    written as a ``\ud800`` escape, so the text can always be encoded.
    """
    try:
        text = _dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = _dumps(_plain(value, _DEPTH))
    else:
        if _MARK in text:
            text = _dumps(_plain(value, _DEPTH))
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), separators=(",", ":"))
    return text


def json_value(text: str) -> Any:
    """The value behind ``json_text``.

    Raises:
        ValueError: If the text is no JSON.
    """
    return json.loads(text, object_pairs_hook=_restored if _MARK in text else None)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _dumps(value: Any) -> str:
    return _ENCODER.encode(value)


def _restored(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 1 and pairs[0][0] == "$bytes" and isinstance(pairs[0][1], str):
        try:
            return base64.b64decode(pairs[0][1], validate=True)
        except ValueError:
            # Redaction reached into it; what is left is shown as it is.
            return dict(pairs)
    return {key[1:] if _ESCAPED.fullmatch(key) else key: value for key, value in pairs}


def _plain(value: Any, depth: int) -> Any:
    """``value`` in words of JSON."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Number):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, date | time):
        return value.isoformat()
    return _plain_parts(value, depth)


def _plain_parts(value: Any, depth: int) -> Any:
    """The same for what has parts, and for what is nothing that JSON knows."""
    if isinstance(value, Enum):
        return _plain(value.value, depth - 1)
    if depth <= 0:
        return "(nested too deeply)"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((_plain(item, depth - 1) for item in value), key=_dumps)
    if isinstance(value, Collection):
        return [_plain(item, depth - 1) for item in value]
    return _said(value)


def _said(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _number(value: Any) -> Any:
    if isinstance(value, numbers.Integral):
        whole = int(value)
        return hex(whole) if whole.bit_length() > _WIDE_INT_BITS else whole
    if isinstance(value, numbers.Real):
        real = float(value)
        if math.isfinite(real):
            return real
        return "NaN" if math.isnan(real) else "Infinity" if real > 0 else "-Infinity"
    return str(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return f"${key}" if _ESCAPABLE.fullmatch(key) else key
    if key is None or isinstance(key, bool | int | float):
        return str(_number(key)) if isinstance(key, float) else json.dumps(key)
    return str(key)
