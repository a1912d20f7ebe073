"""Ids, times, states and typed values, in the spellings of the formats."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.importers.otel import span_of
from nightgate.importers.spans import any_value, failure, mapping, nanoseconds


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"stringValue": "x"}, "x"),
        ({"intValue": "12"}, 12),
        ({"intValue": 12}, 12),
        ({"doubleValue": 12.0}, 12.0),
        ({"boolValue": False}, False),
        ({"arrayValue": {}}, []),
        ({"arrayValue": {"values": [{"boolValue": True}, {}]}}, [True, {}]),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}]}}, {"a": 1}),
        ({"bytesValue": "aGk="}, "hi"),
        ({"bytesValue": "?"}, "?"),
        ({"other": 1}, {"other": 1}),
        ({"intValue": "x"}, "x"),
        ("plain", "plain"),
        (None, None),
    ],
)
def test_typed_values_become_plain(value: Any, plain: Any) -> None:
    """OTLP/JSON writes 64-bit integers as text; a type must not change on the way."""
    found = any_value(value)

    assert (found, type(found)) == (plain, type(plain))


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (1700000000000000001, 1700000000000000001),
        ("1700000000000000001", 1700000000000000001),
        ("2023-11-14T22:13:20.000001Z", 1700000000000001000),
        ("yesterday", 0),
        (None, 0),
        (True, 0),
    ],
)
def test_moments_are_nanoseconds(value: Any, moment: int) -> None:
    """Order is all they are used for; what cannot be read sorts by the file."""
    assert nanoseconds(value) == moment


@pytest.mark.parametrize(
    ("status", "attributes", "told"),
    [
        ({"code": "OK"}, {}, None),
        ({"code": 2, "message": "boom"}, {}, "boom"),
        ({"code": "STATUS_CODE_ERROR"}, {}, "ERROR"),
        ({"status_code": "ERROR", "description": "boom"}, {}, "boom"),
        ("ERROR", {}, "ERROR"),
        (None, {"error.type": "TimeoutError"}, "TimeoutError"),
        ({}, {"gen_ai.tool.status": "error"}, "error"),
        ({}, {"gen_ai.tool.status": "success"}, None),
    ],
)
def test_failures_are_told_in_every_spelling(
    status: Any, attributes: dict[str, Any], told: str | None
) -> None:
    """A failed tool that reads as a success would make a wrong case."""
    assert failure(status, attributes) == told


def test_the_console_exporters_print_is_a_span() -> None:
    """Its ids lie in a context of their own, with 0x before them."""
    span = span_of(
        {
            "name": "chat",
            "context": {"trace_id": "0xab", "span_id": "0x1", "trace_state": "[]"},
            "parent_id": "0x2",
            "start_time": "2023-11-14T22:13:20.000000Z",
            "status": {"status_code": "UNSET"},
            "attributes": {"gen_ai.operation.name": "chat"},
            "events": [{"name": "gen_ai.choice", "timestamp": "x", "attributes": {"message": "m"}}],
        }
    )

    assert (span.trace_id, span.span_id, span.parent_id, span.start) == ("ab", "1", "2", 1700000000000000000)
    assert (span.operation, span.events[0].name, span.events[0].data) == (
        "chat",
        "gen_ai.choice",
        {"message": "m"},
    )


def test_attributes_are_read_as_mapping_and_as_list() -> None:
    """Whatever else stands in the list is no attribute."""
    assert mapping([{"key": "a", "value": {"stringValue": "x"}}, 5, {}]) == mapping({"a": "x"})
    assert mapping("x") == {}
