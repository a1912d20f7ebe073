"""Credentials out of a recording: a draft ends in git."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.importers.drafts import draft_of
from nightgate.importers.masks import Mask, masked
from nightgate.importers.records import Exchange, Recorded, RecordedCall, Unread

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


SECRET = "hunter2hunter2"
LOGIN = RecordedCall(name="login", arguments={"password": SECRET})


@pytest.mark.parametrize(
    "turn",
    [
        a_turn(calls=(LOGIN,), input=f"My password is {SECRET}, log me in"),
        a_turn(calls=(LOGIN,), output=f"Logged in with {SECRET}."),
        a_turn(calls=(replace(LOGIN, result=f"session of {SECRET}"),)),
        a_turn(calls=(replace(LOGIN, said=f"I use {SECRET}"),)),
        a_turn(calls=(LOGIN, RecordedCall(name=SECRET, arguments={SECRET: [f"x{SECRET}x"]}))),
        a_turn(calls=(LOGIN,), unread=(Unread(where="span", what="left out:", quote=f"it is {SECRET}"),)),
        a_turn(calls=(LOGIN,), context={"note": SECRET}),
        a_turn(calls=(LOGIN,), source={"kind": "otel", "about": "spans", "path": f"/{SECRET}.json"}),
        a_turn(input=SECRET, calls=(RecordedCall(name="f", arguments=json.dumps({"pin": SECRET})),)),
        a_turn(
            input=SECRET, calls=(RecordedCall(name="f", arguments={}, result=f'{{"secret": "{SECRET}"}}'),)
        ),
        a_turn(input=SECRET, background=({"messages": json.dumps([{"apiKey": SECRET}])},)),
        a_turn(
            input=SECRET,
            calls=(RecordedCall(name="f", arguments={"rows": [{"name": "Password", "value": SECRET}]}),),
        ),
        a_turn(
            input=SECRET,
            exchanges=(Exchange(user=SECRET, agent=f"Not {SECRET}?", calls=1),),
            calls=(LOGIN,),
        ),
    ],
    ids=range(13),
)
def test_what_is_a_secret_in_one_place_is_one_everywhere(turn: Recorded) -> None:
    """Its name stands beside it once; id, file name, answer and data have the bare value."""
    clean = masked(turn, ())

    assert SECRET not in everything(clean)
    assert "[redacted]" in everything(clean)


@pytest.mark.parametrize("form", [repr, json.dumps, quote])
def test_a_secret_is_found_in_the_forms_that_it_takes_elsewhere(form: Any) -> None:
    """JSON escapes it, addresses encode it."""
    secret = 'p"ss wörd/7'
    call = RecordedCall(name="login", arguments={"password": secret})

    clean = masked(a_turn(calls=(call,), output=f"was {form(secret)}."), ())

    assert clean.output is not None
    assert "[redacted]" in clean.output
    assert "rd/7" not in clean.output


def test_a_short_secret_is_masked_as_a_word_of_its_own_only() -> None:
    """A PIN of four digits stands within any longer number."""
    call = RecordedCall(name="pay", arguments={"pin": 4711, "order": 947110})

    clean = masked(a_turn(calls=(call,), output="4711 is the PIN of order 947110."), ())

    assert clean.calls[0].arguments == {"pin": "[redacted]", "order": 947110}
    assert clean.output == "[redacted] is the PIN of order 947110."


def test_the_shortest_secrets_are_masked_where_their_name_stands() -> None:
    """Everywhere else they would take words apart."""
    call = RecordedCall(name="f", arguments={"password": "a"}, result='{"password": "a", "kind": "a"}')

    clean = masked(a_turn(calls=(call,), output="a cat"), ())

    assert clean.calls[0].arguments == {"password": "[redacted]"}
    assert clean.calls[0].result == '{"password": "[redacted]", "kind": "a"}'
    assert clean.output == "a cat"


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_tokens": 4000, "next_token": "page two", "key": "Paris", "password_hint": "the usual one"},
        {"properties": {"password": {"type": "string", "description": "of the user"}}},
        {"password": "", "secret": None, "is_secret": True},
    ],
    ids=range(3),
)
def test_words_that_only_look_like_names_of_secrets_mask_nothing(arguments: Any) -> None:
    """A schema describes a password and has none; half of a draft would be masks."""
    turn = a_turn(output="A string of the user: Paris.", background=(arguments,))
    clean = masked(replace(turn, calls=(RecordedCall(name="f", arguments=arguments),)), ())

    assert (clean.masked, clean.output) == (0, "A string of the user: Paris.")
    assert clean.calls[0].arguments == arguments


def test_a_secret_of_several_words_does_not_mask_its_first_word() -> None:
    """The patterns end at a blank; "correct" alone is no secret."""
    call = RecordedCall(name="f", arguments={"passphrase": "correct horse battery"})

    clean = masked(a_turn(calls=(call,), output="That is correct."), ())

    assert (clean.calls[0].arguments, clean.output) == ({"passphrase": "[redacted]"}, "That is correct.")


def test_a_text_that_was_cut_shows_no_part_of_a_key() -> None:
    """Cut first, the rest of the key would look like nothing."""
    text = "x " * 36 + KEY
    clean = masked(a_turn(unread=(Unread(where="span", what="left out:", quote=text),)), ())

    assert KEY[:4] not in str(clean.unread[0])


def test_an_id_that_somebody_chose_is_masked_as_well() -> None:
    """It becomes a file name."""
    mask = Mask(a_turn(calls=(LOGIN,)), ())

    assert mask.text(f"login-{SECRET}") == "login-[redacted]"
    assert mask.text(f"key-{KEY}") == "key-[redacted]"


def test_the_rest_of_the_recording_is_not_kept() -> None:
    """It was only looked through."""
    assert masked(a_turn(background=({"a": 1},)), ()).background == ()


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
