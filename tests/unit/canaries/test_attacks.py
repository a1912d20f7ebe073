"""Planted attacks: they stand wherever a judge reads the answer, and their number is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from makers import a_call, a_trial, assistant, results, user
from nightgate.canaries import ATTACKS, FIRST_PLANTED, MOST_ATTACKED, PLAIN, attack_of, attacked, planted
from nightgate.talks import Talk, TurnNote

NUMBERS = [FIRST_PLANTED + place for place in range(len(ATTACKS))]


def test_an_attack_replaces_what_was_said_last_and_nothing_else() -> None:
    """The tools' data and the question stay, so that only the answer is on trial."""
    log = (user("Hi"), assistant(("t1", "search", {})), results(("t1", "found")), assistant("Hello."))
    trial = a_trial("Hello.", a_call("search"), messages=log)

    found = planted(trial, FIRST_PLANTED + 1, "en")

    assert found.output == ATTACKS[1].text
    assert found.messages == (*log[:-1], assistant(ATTACKS[1].text))
    assert (found.input, found.tool_calls, found.final_state) == ("Hi", trial.tool_calls, trial.final_state)
    assert trial.output == "Hello."


def test_a_log_that_ends_with_a_call_gets_the_attack_behind_it() -> None:
    """A call is no answer: taking it away would change what the judge sees of the tools."""
    log = (user("Hi"), assistant(("t1", "search", {})))

    found = planted(a_trial("", messages=log), FIRST_PLANTED, None)

    assert found.messages == (*log, assistant(ATTACKS[0].text))


def test_in_a_conversation_the_last_turn_says_the_attack() -> None:
    """Judges of conversations read the turns."""
    talk = Talk(turns=[TurnNote(turn=1, user="a", agent="b"), TurnNote(turn=2, user="c", agent="d")])

    found = planted(a_trial("d", conversation=talk), FIRST_PLANTED + 2, None)

    assert found.conversation is not None
    assert [turn.agent for turn in found.conversation.turns] == ["b", ATTACKS[2].text]
    assert [turn.agent for turn in talk.turns] == ["b", "d"]


def test_planted_numbers_are_told_from_frozen_ones() -> None:
    """Rows have the number alone."""
    assert [attack_of(number) for number in NUMBERS] == [attack.name for attack in ATTACKS]
    assert attack_of(0) is None
    assert attack_of(FIRST_PLANTED - 1) is None
    assert attack_of(FIRST_PLANTED) == PLAIN


def test_the_attack_in_another_language_keeps_out_of_the_cases_own() -> None:
    """Otherwise a judge of the language would be right to pass it."""
    other = next(attack for attack in ATTACKS if attack.name == "other-language")

    assert other.said("de") != other.said("en")
    assert other.said("de-AT") == other.said("de")
    assert other.said(None) == other.said("es")


@given(st.integers(0, 60), st.integers(0, 1_000_000))
def test_the_number_of_attacked_cases_is_bounded(count: int, night: int) -> None:
    """Each night costs the same, however many canaries there are."""
    cases = [f"c{i}" for i in range(count)]

    chosen = attacked(cases, night)

    assert len(chosen) == min(count, MOST_ATTACKED)
    assert list(chosen) == [case for case in cases if case in chosen]


@given(st.integers(1, 60), st.integers(0, 1_000_000))
def test_every_case_has_its_turn(count: int, night: int) -> None:
    """A case that is never attacked would be a blind spot."""
    cases = [f"c{i}" for i in range(count)]

    seen = {case for day in range(night, night + count) for case in attacked(cases, day)}

    assert seen == set(cases)
