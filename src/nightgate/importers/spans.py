"""Spans as every format has them in common, and the decoding of OTLP's typed values.

Owns the shape between the formats (``otel``, ``adot``) and what is read from it (``messages``,
``turns``). Knows no file.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

EXECUTE_TOOL = "execute_tool"
_AGENTS = ("invoke_agent", "create_agent", "invoke_workflow", "invoke_swarm", "invoke_graph")
_FAILED = (2, "2", "ERROR", "STATUS_CODE_ERROR", "Error", "error")


@dataclass(slots=True, kw_only=True)
class Event:
    """An event of a span, or a log record that belongs to one."""

    name: str
    time: int
    """Nanoseconds since 1970; 0 when unknown."""
    data: Mapping[str, Any]
    """Its attributes."""
    body: Any = None
    """A log record's body."""


@dataclass(slots=True, kw_only=True)
class Span:
    """One span, with its events in the order of their times."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    start: int = 0
    """Nanoseconds since 1970; 0 when unknown."""
    end: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    error: str | None = None
    """What its status or ``error.type`` says; None when it did not fail."""
    scope: str = ""

    @property
    def operation(self) -> str:
        """``gen_ai.operation.name``, or what the span's name begins with."""
        told = self.attributes.get("gen_ai.operation.name")
        if isinstance(told, str) and told:
            return told
        first = self.name.split(" ", 1)[0]
        return first if first == EXECUTE_TOOL or first in _AGENTS else ""

    @property
    def is_tool(self) -> bool:
        """Whether a tool ran in it."""
        return self.operation == EXECUTE_TOOL

    @property
    def is_agent(self) -> bool:
        """Whether it is an agent's whole invocation."""
        return self.operation in _AGENTS

    @property
    def is_genai(self) -> bool:
        """Whether it says anything in the words of the GenAI conventions."""
        return any(key.startswith("gen_ai.") for key in self.attributes) or any(
            event.name.startswith("gen_ai.") or event.body is not None for event in self.events
        )

    @property
    def where(self) -> str:
        """What messages call it."""
        name = f" ({self.name})" if self.name else ""
        return f"span {self.span_id or 'without an id'}{name}"


def first(record: Mapping[str, Any], *names: str) -> Any:
    """The first of these keys that holds something."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def text(value: Any) -> str:
    """An id or a name as text; hex ids lose their ``0x``."""
    if value is None:
        return ""
    found = str(value)
    return found.removeprefix("0x")


def nanoseconds(value: Any) -> int:
    """A moment in nanoseconds: a number, its text, or ISO 8601; 0 when it is neither."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int):
        return value
    try:
        return int(str(value))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return 0
    return round(moment.timestamp() * 1_000_000) * 1000


def failure(status: Any, attributes: Mapping[str, Any]) -> str | None:
    """What a span's status says went wrong; None when nothing did."""
    told = attributes.get("error.type")
    if told:
        return str(told)
    state = status if isinstance(status, Mapping) else {"code": status}
    if first(state, "code", "status_code") in _FAILED:
        return str(first(state, "message", "description") or "ERROR")
    tool = attributes.get("gen_ai.tool.status")
    return str(tool) if tool not in (None, "", "success") else None


def mapping(value: Any) -> dict[str, Any]:
    """Attributes as a mapping, also where OTLP writes them as a list of key and value."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list):
        return {
            str(item["key"]): any_value(item.get("value"))
            for item in value
            if isinstance(item, Mapping) and "key" in item
        }
    return {}


_PLAIN = ("stringValue", "boolValue", "doubleValue")


def any_value(value: Any) -> Any:
    """An OTLP AnyValue as plain data; anything else as it is.

    >>> any_value({"arrayValue": {"values": [{"intValue": "7"}, {"stringValue": "a"}]}})
    [7, 'a']
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    if kind in _PLAIN:
        return inner
    if kind == "intValue":
        return _whole(inner)
    if kind == "arrayValue":
        items = inner.get("values") if isinstance(inner, Mapping) else None
        return [any_value(item) for item in items or ()]
    if kind == "kvlistValue":
        return mapping(inner.get("values") if isinstance(inner, Mapping) else None)
    if kind == "bytesValue":
        return _decoded(inner)
    return value


def _whole(value: Any) -> Any:
    try:
        return int(value)
    except (TypeError, ValueError):
        return value


def _decoded(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError, TypeError):
        return value
