"""Credentials out of a recording: a draft ends in git."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.importers.drafts import draft_of
from nightgate.importers.masks import masked
from nightgate.importers.records import Recorded, RecordedCall, Unread

KEY = "sk-" + "aB3" * 10
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def a_turn(**more: Any) -> Recorded:
    return Recorded(**{"source": {"kind": "otel", "about": "spans"}, "input": "Hi", "output": "Ho"} | more)


def everything(recorded: Recorded) -> str:
    draft = draft_of(recorded)
    return draft.whole + draft.script + draft.name + json.dumps(recorded.document(draft.whole))


@pytest.mark.parametrize(
    "turn",
    [
        a_turn(input=f"my key is {KEY}"),
        a_turn(output=f"use {KEY}"),
        a_turn(calls=(RecordedCall(name="f", arguments={"a": [{"b": KEY}]}),)),
        a_turn(calls=(RecordedCall(name="f", arguments={KEY: 1}),)),
        a_turn(calls=(RecordedCall(name="f", arguments=f"{{broken {KEY}"),)),
        a_turn(calls=(RecordedCall(name="f", arguments={}, result=f'{{"key": "{KEY}"}}'),)),
        a_turn(calls=(RecordedCall(name="f", arguments={}, said=f"I try {KEY}"),)),
        a_turn(unread=(Unread(where="span", what=f"text left out: {KEY}"),)),
        a_turn(context={"token": KEY}),
        a_turn(offered=(KEY,)),
    ],
    ids=range(10),
)
def test_a_key_is_in_nothing_that_is_written(turn: Recorded) -> None:
    """Wherever it stood: draft, script, file name and JSON."""
    clean = masked(turn, ())

    assert KEY not in everything(clean)
    assert "[redacted]" in everything(clean)
    assert clean.masked >= 1
    assert "## Masked:" in draft_of(clean).case


def test_a_password_in_arguments_is_known_by_its_name() -> None:
    """Its value alone looks like any word."""
    call = RecordedCall(name="login", arguments={"user": "ann", "password": "correct-horse-7"})

    (clean,) = masked(a_turn(calls=(call,)), ()).calls

    assert clean.arguments == {"user": "ann", "password": "[redacted]"}


def test_values_of_the_environment_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the shell holds as a key is one, whatever it looks like."""
    monkeypatch.setenv("LIBRARY_API_KEY", "quite plain words")

    assert masked(a_turn(output="it said quite plain words")).output == "it said [redacted]"


@given(JSON.filter(lambda value: "secret" not in json.dumps(value)))
def test_arguments_without_a_key_are_untouched(value: Any) -> None:
    """Types and all: they must equal the trace's."""
    call = RecordedCall(name="f", arguments={"x": value})

    clean = masked(a_turn(calls=(call,)), ())

    assert json.dumps(clean.calls[0].arguments) == json.dumps({"x": value})
    assert clean.masked == 0


def test_half_a_surrogate_pair_is_replaced() -> None:
    """No file can hold it."""
    assert masked(a_turn(input="a\ud83d"), ()).input == "a\ufffd"
