"""Withheld facts in texts: case, accents and marks inside do not hide one."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nightgate.conversations.facts import REDACTED, asks_for, holds, redact, same_words, spans

WORDS = st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=8)
MARKS = st.text(" -./,:;()", min_size=1, max_size=3)


@pytest.mark.parametrize(
    "text",
    ["It is 12345678-Z.", "12345678z", "12.345.678 - Z", "(12345678Z)", "dni:12345678-z!"],
)
def test_a_value_is_found_however_it_is_written(text: str) -> None:
    """A leak with other dashes is a leak."""
    assert holds(text, "12345678-Z")


@pytest.mark.parametrize("text", ["112345678Z", "12345678Za", "1234567-Z", "", "nothing"])
def test_part_of_a_longer_word_is_another_value(text: str) -> None:
    """A number inside a number gives nothing away."""
    assert not holds(text, "12345678-Z")


@pytest.mark.parametrize(
    ("text", "value"), [("soy josé", "Jose"), ("Jose\u0301 Gil", "José Gil"), ("JOSÉ", "josé")]
)
def test_accents_and_case_do_not_hide_a_name(text: str, value: str) -> None:
    """Composed or decomposed."""
    assert holds(text, value)


@given(before=MARKS, value=WORDS, after=MARKS)
def test_what_is_redacted_is_gone_and_the_rest_stays(before: str, value: str, after: str) -> None:
    """Whatever stands around it."""
    text = f"{before}{value}{after}"
    assume(spans(text, value))

    mended = redact(text, value)

    assert not holds(mended, value)
    assert mended == f"{before}{REDACTED}{after}"


@given(text=st.text(max_size=40), value=st.text(max_size=8))
def test_no_text_breaks_the_search(text: str, value: str) -> None:
    """Ranges lie in the text and hold the value's letters."""
    for first, past in spans(text, value):
        assert 0 <= first < past <= len(text)


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("¿Cuál es tu número de reserva?", True),
        ("CUAL ES SU NUMERO DE RESERVA", True),
        ("Ya está movida.", False),
    ],
)
def test_asking_ignores_case_and_accents(said: str, asks: bool) -> None:
    """In the pattern and in the message."""
    assert asks_for(said, "número de reserva") is asks


def test_the_same_words_are_the_same_message() -> None:
    """Another mark is no other argument."""
    assert same_words("Please, give me 30 %!") == same_words("please give me 30%")
    assert same_words("?!") != same_words("...")
