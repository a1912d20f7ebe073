"""Drafts of the simulated user: what may go out, and what is mended first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.cases import Persona
from nightgate.conversations.speech import MOST_SENTENCES, Listener, sentences

PERSONA = Persona.model_validate(
    {
        "goal": "g",
        "success": {"state": {"a": 1}},
        "withheld": {"mail": {"value": "ana@example.org", "asked_by": "mail"}},
    }
)


@given(text=st.text(max_size=80))
def test_sentences_put_together_are_the_text(text: str) -> None:
    """Nothing is lost on the way to two sentences."""
    assert "".join(sentences(text)) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("¿Puede ser el jueves? Gracias.", 2),
        ("Sr. Gil, at 3.30 on the 4th. Ok?", 2),
        ("My DNI is 12345678-Z. Any slot will do.", 2),
        ("first line\nsecond line", 2),
        ("no end", 1),
    ],
)
def test_sentences_are_counted_as_people_count_them(text: str, count: int) -> None:
    """Abbreviations and numbers end none."""
    assert len(sentences(text)) == count


@pytest.mark.parametrize(
    ("raw", "text", "closing", "leaving"),
    [
        ("Yes, cancel it. [DONE]", "Yes, cancel it.", True, False),
        ("[DONE]Thanks.", "Thanks.", True, False),
        ("Ok[DONE]bye", "Ok bye", True, False),
        ("[LEAVE]", "", False, True),
        ("Nothing yet", "Nothing yet", False, False),
    ],
)
def test_what_is_glued_to_a_token_stays(raw: str, text: str, closing: bool, leaving: bool) -> None:
    """The text is the message; the token is for the harness."""
    draft = Listener(PERSONA).read(raw)

    assert (draft.text, draft.closing, draft.leaving) == (text, closing, leaving)


@given(count=st.integers(1, 6))
def test_a_draft_never_has_more_than_two_sentences(count: int) -> None:
    """And says when it was cut."""
    draft = Listener(PERSONA).read(" ".join(f"Sentence number {n} is here." for n in range(count)))

    assert len(sentences(draft.text)) == min(count, MOST_SENTENCES)
    assert draft.cut is (count > MOST_SENTENCES)


def test_a_fact_leaks_until_it_was_asked_for() -> None:
    """From then on it may be said."""
    listener = Listener(PERSONA)
    before = listener.read("ana@example.org").leaked
    listener.asked.add("mail")

    assert (before, listener.read("ana@example.org").leaked) == (("mail",), ())


def test_a_sentence_that_is_all_there_is_stays_although_it_repeats() -> None:
    """An empty message helps nobody; it is counted."""
    listener = Listener(PERSONA)
    listener.deliver("ana@example.org")

    assert listener.without_repeats("It is ana@example.org.", ()) == ("It is ana@example.org.", True)
