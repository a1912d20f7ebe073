"""AgentCore and CloudWatch records -> ``Span``: spans and log events apart, or events alone.

Owns how ADOT writes them: content leaves the spans and travels as log events of the same span id,
in another log group. Also owns the wrappings of CloudWatch Logs, whose messages are JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.importers.otel import is_span, span_of
from nightgate.importers.records import Unread
from nightgate.importers.spans import Event, Span, first, mapping, nanoseconds, text

_MESSAGE = ("@message", "message")


def is_event(record: Mapping[str, Any]) -> bool:
    """Whether it is a log event of a span."""
    if first(record, "span_id", "spanId") is None:
        return False
    attributes = mapping(record.get("attributes"))
    named = first(record, "eventName", "event_name", "EventName") or attributes.get("event.name")
    return bool(named) or isinstance(record.get("body"), Mapping)


def is_row(record: Any) -> bool:
    """Whether it is a row of CloudWatch Logs, whose message holds the record."""
    if isinstance(record, list):
        return bool(record) and all(isinstance(cell, Mapping) and "field" in cell for cell in record)
    return (
        isinstance(record, Mapping)
        and first(record, *_MESSAGE) is not None
        and first(record, "spanId", "span_id") is None
    )


def row_record(row: Any, where: str) -> tuple[dict[str, Any] | None, Unread | None]:
    """The record that a row of CloudWatch Logs carries, or why there is none.

    Args:
        row: ``{"@message": ...}``, or a list of ``{"field": ..., "value": ...}``.
        where: For the message.
    """
    cells = (
        {str(cell["field"]): cell.get("value") for cell in row}
        if isinstance(row, list)
        else {str(key): value for key, value in row.items()}
    )
    message = first(cells, *_MESSAGE)
    if message is None:
        return None, Unread(where=where, what="has no @message; add `fields @message` to the query")
    if isinstance(message, str):
        try:
            message = json.loads(message)
        except (ValueError, RecursionError):
            return None, Unread(where=where, what="the message is no JSON (cut, or a plain log line)")
    if not isinstance(message, Mapping):
        return None, Unread(where=where, what="the message is no record")
    return {str(key): value for key, value in message.items()}, None


def spans_of(records: list[Mapping[str, Any]]) -> Iterator[Span]:
    """Spans with their log events; where a span itself is not there, one made of its events."""
    spans: dict[tuple[str, str], Span] = {}
    events: dict[tuple[str, str], list[Event]] = {}
    scopes: dict[tuple[str, str], str] = {}
    shared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in records:
        key = (text(first(record, "traceId", "trace_id")), text(first(record, "spanId", "span_id")))
        if is_event(record):
            event, known = _event(record), events.setdefault(key, [])
            if event not in known:  # a query that was run twice
                known.append(event)
            scope = record.get("scope")
            if isinstance(scope, Mapping):
                scopes.setdefault(key, str(scope.get("name") or ""))
            shared.setdefault(key, mapping(record.get("attributes")))
        elif is_span(record):
            spans.setdefault(key, span_of(record))
    for key, found in events.items():
        found.sort(key=lambda event: event.time)
        if key not in spans:
            attributes = {name: value for name, value in shared[key].items() if name != "event.name"}
            spans[key] = Span(
                trace_id=key[0],
                span_id=key[1],
                start=found[0].time,
                end=found[-1].time,
                attributes=attributes,
                scope=scopes.get(key, ""),
            )
        spans[key].events += found
    yield from spans.values()


def _event(record: Mapping[str, Any]) -> Event:
    attributes = mapping(record.get("attributes"))
    body = record.get("body")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            body = None
    return Event(
        name=str(first(record, "eventName", "event_name", "EventName") or attributes.get("event.name") or ""),
        time=nanoseconds(first(record, "timeUnixNano", "time_unix_nano"))
        or nanoseconds(first(record, "observedTimeUnixNano", "observed_time_unix_nano")),
        data=attributes,
        body=body,
    )
