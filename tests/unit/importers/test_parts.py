"""Content blocks in all the vocabularies that traces use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.importers.parts import Call, Result, content_of, result_text

CALL = Call("c1", "find", {"n": 1})
CALLS = [
    {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"n": 1}},
    {"type": "tool_call", "id": "c1", "name": "find", "arguments": '{"n": 1}'},
    {"toolUse": {"toolUseId": "c1", "name": "find", "input": {"n": 1}}},
    {"type": "tool_use", "id": "c1", "name": "find", "input": {"n": 1}},
    {"type": "function", "id": "c1", "function": {"name": "find", "arguments": '{"n": 1}'}},
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"n": 1}'},
    {"type": "tool_call", "id": "c1", "name": "find", "args": {"n": 1}},
]
RESULTS = [
    {"type": "tool_call_response", "id": "c1", "response": "ok"},
    {"type": "tool_call_response", "id": "c1", "result": [{"text": "ok"}]},
    {"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}], "status": "success"}},
    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
]


@pytest.mark.parametrize("block", CALLS, ids=json.dumps)
def test_a_call_in_every_spelling(block: dict[str, Any]) -> None:
    """Alone, in a list, and in a list that was written as JSON text."""
    for value in (block, [block], json.dumps([block])):
        assert content_of(value).calls == [CALL]


@pytest.mark.parametrize("block", RESULTS, ids=json.dumps)
def test_a_result_in_every_spelling(block: dict[str, Any]) -> None:
    """What came back is text to the case."""
    assert content_of([block]).results == [Result("c1", "ok", "success")]


@pytest.mark.parametrize(
    "block",
    [
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "x"}], "status": "error"}},
        {"type": "tool_result", "tool_use_id": "c1", "content": "x", "is_error": True},
    ],
)
def test_a_failed_result_is_an_error(block: dict[str, Any]) -> None:
    """Each vocabulary has its own word for it."""
    assert content_of(block).results == [Result("c1", "x", "error")]


@pytest.mark.parametrize(
    "value",
    [
        "hi",
        {"text": "hi"},
        [{"text": "hi"}],
        '[{"text": "hi"}]',
        {"type": "text", "content": "hi"},
        {"type": "text", "text": "hi"},
        {"type": "output_text", "text": "hi"},
        {"content": "hi"},
        {"message": "hi", "finish_reason": "end_turn"},
        {"content": '[{"text": "hi"}]'},
    ],
    ids=json.dumps,
)
def test_text_in_every_spelling(value: Any) -> None:
    """Bare, in blocks, in an envelope."""
    assert content_of(value).texts == ["hi"]


@given(st.text())
def test_text_of_a_text_part_is_never_interpreted(text: str) -> None:
    """A user may send JSON that looks like our own blocks."""
    wanted = [text] if text and text not in ("[REDACTED]", "<REDACTED>", "REDACTED") else []

    assert content_of([{"type": "text", "content": text}]).texts == wanted


@pytest.mark.parametrize(
    "text", ['{"a": 1}', "[1, 2]", '[{"a": 1}]', "[", "{broken", "[]", '[{"type": "x"}]']
)
def test_json_that_is_no_content_stays_text(text: str) -> None:
    """Only what can be nothing but blocks is read as such."""
    assert content_of(text).texts == [text]


def test_what_is_no_text_is_told() -> None:
    """An image cannot stand in a case's input."""
    found = content_of(
        [{"type": "image", "content": "..."}, {"image": {}}, 5, {"type": "tool_call", "id": "c"}]
    )

    assert found.odd == [
        "a part of type 'image', which is no text",
        "a part with image",
        "content of type int",
        "a tool call c without a name",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        ('[{"text": "a"}, {"text": "b"}]', "a\nb"),
        ([{"json": {"n": 1}}], '{"n": 1}'),
        ({"n": 1}, '{"n": 1}'),
        ('{"n": 1}', '{"n": 1}'),
        ([1], "[1]"),
        ([], ""),
        ("", ""),
        (None, None),
        ("[REDACTED]", None),
        ({"content": [{"text": "a"}]}, "a"),
    ],
)
def test_results_are_text(value: Any, text: str | None) -> None:
    """Blocks a line each, other JSON as JSON."""
    assert result_text(value) == text
