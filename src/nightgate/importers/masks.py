"""Credentials out of a recording, before any of it is printed or written.

Owns which texts of a recording are looked at: all of them. What looks like a credential is known to
``rows.redaction``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nightgate.importers.records import Recorded, RecordedCall, Unread
from nightgate.rows.redaction import credentials, may_hold_secret, redact_text


def masked(recorded: Recorded, literals: Sequence[str] | None = None) -> Recorded:
    """The recording with credentials masked; ``masked`` counts the texts in which there were any.

    Args:
        recorded: As it was read.
        literals: Values to mask besides; those of the environment unless given.
    """
    values = credentials() if literals is None else tuple(literals)
    count = 0

    def text(value: str) -> str:
        nonlocal count
        whole = _encodable(value)
        if not may_hold_secret(whole.encode(), values):
            return whole
        clean = redact_text(whole, literals=values)
        count += clean != whole
        return clean

    def data(value: Any) -> Any:
        """JSON data is looked at as JSON text: a name may stand before the secret."""
        nonlocal count
        if isinstance(value, str):
            return text(value)
        whole = _encodable(json.dumps(value, ensure_ascii=False))
        if not may_hold_secret(whole.encode(), values):
            return json.loads(whole)
        clean = redact_text(whole, json_text=True, literals=values)
        count += clean != whole
        return json.loads(clean)

    clean = replace(
        recorded,
        source=_each(recorded.source, text),
        input=text(recorded.input),
        calls=tuple(_call(call, text, data) for call in recorded.calls),
        output=None if recorded.output is None else text(recorded.output),
        offered=tuple(map(text, recorded.offered)),
        unread=tuple(Unread(where=text(item.where), what=text(item.what)) for item in recorded.unread),
        context=data(dict(recorded.context)),
    )
    return replace(clean, masked=count)


def _call(call: RecordedCall, text: Callable[[str], str], data: Callable[[Any], Any]) -> RecordedCall:
    return replace(
        call,
        name=text(call.name),
        arguments=data(call.arguments),
        result=None if call.result is None else text(call.result),
        said=text(call.said),
        call_id=text(call.call_id),
    )


def _each(source: Mapping[str, Any], text: Callable[[str], str]) -> dict[str, Any]:
    return {key: text(value) if isinstance(value, str) else value for key, value in source.items()}


def _encodable(value: str) -> str:
    """Half a surrogate pair can be stored nowhere."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
