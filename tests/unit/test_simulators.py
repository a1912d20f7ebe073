"""Simulated beside real conversations: one ruler for both, and every trial that is not compared is said."""

from __future__ import annotations

import doctest
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers import a_trial
from nightgate import simulators
from nightgate.cases import Case, Persona, case_hash
from nightgate.errors import ExitCode
from nightgate.simulators import Conversation, Simulated, Validation, facts_in, simulated_of, validated
from nightgate.stats import two_samples
from nightgate.talks import EndReason, Talk, TurnNote
from nightgate.trials import Ending, Trial, TrialKey

CODE = {"code": {"value": "BK-2041", "asked_by": "code"}}


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_samples, "DRAWS", 999)
    monkeypatch.setattr(two_samples, "RESAMPLES", 300)


def a_talk_case(case_id: str = "a", **persona: Any) -> Case:
    values: dict[str, Any] = {"goal": "Move it.", "success": {"state": {"slot": "thu"}}, "withheld": CODE}
    return Case(id=case_id, input="Hello.", persona=Persona.model_validate(values | persona))


def a_talk_trial(
    case: Case,
    *said: str,
    trial: int = 0,
    ending: Ending = Ending.COMPLETED,
    answer: str = "Well.",
    **more: Any,
) -> Trial:
    """A trial in which the user said so; it ended as the user's abandonment."""
    turns = [TurnNote(turn=n, user=text, agent=answer) for n, text in enumerate(said, start=1)]
    talk = Talk(end_reason=more.pop("end_reason", EndReason.USER_ABANDONED), turns=turns)
    key = TrialKey(run_id="r", suite="demo", case_id=case.id, trial=trial)
    return a_trial(key=key, ending=ending, conversation=talk, case_hash=case_hash(case), **more)


def real(number: int, *said: str, **more: Any) -> Conversation:
    return Conversation(name=f"chat-{number}", said=said, turns=more.pop("turns", len(said)), **more)


def gathered(*trials: Trial, cases: Sequence[Case]) -> Simulated:
    return simulated_of(trials, {case.id: case for case in cases})


def alike(size: int = 120, **more: Any) -> Validation:
    """Both sides from one pattern of lengths, words and ends."""

    def lines(n: int) -> list[str]:
        return [f"{'so ' * (1 + (n + k) % 5)}and so on" for k in range(1 + n % 4)]

    case = a_talk_case()
    reasons = [EndReason.GOAL_MET, EndReason.GOAL_MET, EndReason.USER_ABANDONED]
    trials = [
        a_talk_trial(case, *lines(n), trial=n, answer=f"answer {n}", end_reason=reasons[n % 3])
        for n in range(size)
    ]
    chats = [real(n, *lines(n), end_reason=reasons[n % 3], facts={}) for n in range(size)]
    return validated("demo", "r", chats, gathered(*trials, cases=[case]), **more)


def feature(found: Validation, name: str) -> dict[str, Any]:
    return next(entry for entry in found.as_dict()["features"] if entry["name"] == name)


# --- facts and words ---


def test_docstring_examples_hold() -> None:
    assert doctest.testmod(simulators).failed == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mine is 12345678-Z.", 1),
        ("Call 612 345 678, please.", 1),
        ("On the 5th at 9, 30% off", 0),
        ("At 16:30", 1),
        ("ana@example.com and ANA@example.com", 1),
        ("ana99123@example.com", 1),
        ("BK-2041 and BK-2042", 2),
        ("", 0),
    ],
)
def test_without_values_facts_are_told_by_their_shape(text: str, wanted: int) -> None:
    """E-mail addresses, and numbers or codes with at least three digits; each counts once a message."""
    assert facts_in(text, None) == wanted


def test_with_values_only_those_count() -> None:
    assert facts_in("BK 2041, 16:30", {"code": "bk-2041"}) == 1


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_can_be_measured(text: str) -> None:
    assert facts_in(text, None) >= 0
    assert 0 <= simulators.words_in(text) <= len(text)


# --- which trials count ---


def test_a_conversation_that_broke_off_is_left_out_and_said() -> None:
    """Its figures are those of the break, not of the user."""
    case = a_talk_case()
    found = gathered(
        a_talk_trial(case, "Hello.", "Well?"),
        a_talk_trial(case, "Hello.", ending=Ending.SIMULATOR_ERROR, trial=1),
        a_talk_trial(case, "Hello.", ending=Ending.AGENT_TIMEOUT, trial=2, end_reason=None),
        cases=[case],
    )
    assert [talk.turns for talk in found.conversations] == [2]
    assert found.left_out == {"agent_timeout": 1, "simulator_error": 1}


def test_single_turn_trials_are_no_conversations() -> None:
    found = gathered(a_trial("Hi"), cases=[])
    assert (found.conversations, found.left_out) == ((), {})


def test_trials_that_repeat_word_for_word_count_once() -> None:
    """Forty trials of a scripted user are one conversation: no sample of forty."""
    case = a_talk_case()
    same = [a_talk_trial(case, "Hello.", "Well?", trial=n) for n in range(40)]
    other = a_talk_trial(case, "Hello.", "Well?", trial=40, answer="Oh.")
    found = gathered(*same, other, cases=[case])
    assert (len(found.conversations), found.copies) == (2, 39)


def test_two_cases_with_the_same_words_are_two_conversations() -> None:
    one, other = a_talk_case("a"), a_talk_case("b")
    found = gathered(a_talk_trial(one, "Hi"), a_talk_trial(other, "Hi"), cases=[one, other])
    assert (len(found.conversations), found.copies) == (2, 0)


# --- one ruler ---


def test_facts_are_told_by_value_where_everybody_names_them() -> None:
    case = a_talk_case()
    found = validated(
        "demo",
        "r",
        [real(1, "It is x77, at 16:30", facts={"code": "X-77"})],
        gathered(a_talk_trial(case, "BK-2041, at 16:30"), cases=[case]),
    )
    assert found.unnamed is None
    assert [feature(found, "facts")[side]["mean"] for side in ("real", "simulated")] == [1, 1]


def test_one_transcript_without_facts_makes_both_sides_go_by_shape() -> None:
    """Two rulers would find a difference of their own."""
    case = a_talk_case()
    found = validated(
        "demo",
        "r",
        [real(1, "It is x77, at 16:30", facts={"code": "X-77"}), real(2, "Hi there")],
        gathered(a_talk_trial(case, "BK-2041, at 16:30"), cases=[case]),
    )
    assert found.unnamed == "1 of 2 transcripts name neither their facts nor a case with a persona"
    assert feature(found, "facts")["simulated"]["mean"] == 2
    assert found.as_dict()["facts_by"] == "shape"


def test_a_case_that_changed_since_the_run_names_no_facts() -> None:
    """Its values are not those that were played."""
    played, today = a_talk_case(goal="Cancel it."), a_talk_case()
    found = validated(
        "demo", "r", [real(1, "Hi", facts={})], gathered(a_talk_trial(played, "Hi"), cases=[today])
    )
    assert found.unnamed == "cases changed since the run: a"


def test_facts_that_nobody_gives_are_not_compared() -> None:
    """And they keep nobody from being representative."""
    found = alike()
    assert feature(found, "facts")["word"] is None
    assert found.word == "representative"
    assert found.exit_code == ExitCode.OK


# --- the document ---


def test_a_message_weighs_as_much_as_another() -> None:
    """Words a message: all words over all messages, not the mean of means."""
    case = a_talk_case()
    found = validated(
        "demo",
        "r",
        [real(1, "one two three four", facts={}), real(2, "one", "one", "two", facts={})],
        gathered(a_talk_trial(case, "Hi"), cases=[case]),
    )
    assert feature(found, "words")["real"]["mean"] == 7 / 4


def test_an_unknown_end_is_no_reason_of_its_own() -> None:
    case = a_talk_case()
    found = validated(
        "demo",
        "r",
        [real(1, "Hi", end_reason=EndReason.STALLED, facts={}), real(2, "Ho", facts={})],
        gathered(a_talk_trial(case, "Hi"), cases=[case]),
    )
    ends = feature(found, "end_reasons")
    assert ends["real"]["conversations"] == 1
    assert ends["real"]["counts"]["stalled"] == 1


def test_shorter_conversations_are_not_representative_and_named() -> None:
    case = a_talk_case()
    trials = [a_talk_trial(case, *["no"] * (1 + n % 2), trial=n, answer=f"{n}") for n in range(60)]
    chats = [real(n, *["no"] * (4 + n % 3), facts={}) for n in range(60)]
    found = validated("demo", "r", chats, gathered(*trials, cases=[case]))
    assert (found.word, found.exit_code) == ("not representative", ExitCode.FAILED)
    assert feature(found, "turns")["off"] != []
    assert feature(found, "turns")["ratio"] == pytest.approx(0.3)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 25), st.integers(1, 25), st.booleans())
def test_the_document_is_strict_json_whatever_was_found(first: int, second: int, facts: bool) -> None:
    """Unknown is null: never NaN, never infinity."""
    case = a_talk_case()
    trials = [a_talk_trial(case, "BK-2041" if facts else "Hi", trial=n, answer=f"{n}") for n in range(first)]
    chats = [real(n, "12345" if n == 0 else "Hi") for n in range(second)]
    found = validated("demo", "r", chats, gathered(*trials, cases=[case]))
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["exit_code"] in (0, 1, 3)
