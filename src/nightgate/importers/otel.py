"""OTel spans as JSON -> ``Span``: span dictionaries, the console exporter's print, OTLP/JSON.

Owns where each of these forms keeps ids, times, attributes and events. What the events say is read
by ``messages``. Facts are those of OTLP 1.x and of the Python SDK's ``ReadableSpan.to_json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.importers.spans import Event, Span, any_value, failure, first, mapping, nanoseconds, text

_RESOURCES = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_SCOPES = (
    "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs",
)  # fmt: skip


def is_otlp(record: Mapping[str, Any]) -> bool:
    """Whether it is an export of OTLP: resources that hold scopes that hold spans or log records."""
    return any(key in record for key in _RESOURCES)


def is_span(record: Mapping[str, Any]) -> bool:
    """Whether it looks like one span."""
    if isinstance(record.get("context"), Mapping):
        return first(record["context"], "span_id", "spanId") is not None
    has_id = first(record, "span_id", "spanId") is not None
    return has_id and any(
        key in record
        for key in (
            "start_time",
            "startTimeUnixNano",
            "start_time_unix_nano",
            "span_events",
            "events",
            "name",
        )
    )


def otlp_records(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans and log records of an OTLP export, typed values made plain."""
    for resource in _lists(record, _RESOURCES):
        for scope in _lists(resource, _SCOPES):
            named = first(scope, "scope", "instrumentationLibrary") or {}
            for key in ("spans", "logRecords", "log_records"):
                for item in _lists(scope, (key,)):
                    found = {**item, "attributes": mapping(item.get("attributes")), "scope": named}
                    if "body" in item:
                        found["body"] = any_value(item["body"])
                    yield found


def _lists(record: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    for key in keys:
        items = record.get(key)
        if isinstance(items, list):
            yield from (item for item in items if isinstance(item, Mapping))


def span_of(record: Mapping[str, Any]) -> Span:
    """One span record of any of these forms."""
    context = record.get("context")
    ids = context if isinstance(context, Mapping) else record
    attributes = mapping(record.get("attributes"))
    scope = first(record, "scope", "instrumentation_scope", "instrumentationScope")
    return Span(
        trace_id=text(first(ids, "trace_id", "traceId")),
        span_id=text(first(ids, "span_id", "spanId")),
        parent_id=text(first(record, "parent_span_id", "parentSpanId", "parent_id")),
        name=str(record.get("name") or ""),
        start=nanoseconds(first(record, "start_time", "startTimeUnixNano", "start_time_unix_nano")),
        end=nanoseconds(first(record, "end_time", "endTimeUnixNano", "end_time_unix_nano")),
        attributes=attributes,
        events=[_event(event) for event in _events(record)],
        error=failure(record.get("status"), attributes),
        scope=str(scope.get("name") or "") if isinstance(scope, Mapping) else "",
    )


def _events(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for key in ("span_events", "events"):
        events = record.get(key)
        if isinstance(events, list) and events:
            return [event for event in events if isinstance(event, Mapping)]
    return []


def _event(record: Mapping[str, Any]) -> Event:
    attributes = mapping(record.get("attributes"))
    return Event(
        name=str(first(record, "event_name", "eventName", "name") or attributes.get("event.name") or ""),
        time=nanoseconds(first(record, "timestamp", "timeUnixNano", "time_unix_nano")),
        data=attributes,
        body=any_value(record.get("body")),
    )
