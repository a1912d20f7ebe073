"""Stored trials as turns."""

from __future__ import annotations

from typing import Any

import pytest

from makers import a_call, a_trial, assistant, results, user
from nightgate.importers.records import NoContentError, Recorded
from nightgate.importers.stored import UselessTrialError, recorded_trial, with_context
from nightgate.talks import EndReason, Talk, TurnNote
from nightgate.trials import Ending, Trial


def read(trial: Trial) -> Recorded:
    return recorded_trial(trial, store="s", complete=True)


def a_played(**more: Any) -> Trial:
    """Two parallel calls with a word before them, one more, an answer."""
    messages = (
        user("Hi"),
        assistant("I look.", ("t1", "find", {"n": 1}), ("t2", "find", {"n": 2})),
        results(("t1", "one"), ("t2", "two", "error")),
        assistant(("t3", "pay", {})),
        results(("t3", "three")),
        assistant("Done."),
    )
    calls = (
        a_call("find", {"n": 1}, call_id="t1", result="one"),
        a_call("find", "{broken", call_id="t2", result="two", status="error"),
        a_call("pay", {}, call_id="t3", result="three"),
    )
    return a_trial("Done.", *calls, messages=messages, **more)


def test_calls_have_the_arguments_that_the_model_sent() -> None:
    """The message log holds an empty object where the model wrote no JSON."""
    recorded = read(a_played())

    assert [(call.name, call.arguments, call.status) for call in recorded.calls] == [
        ("find", {"n": 1}, "success"),
        ("find", "{broken", "error"),
        ("pay", {}, "success"),
    ]
    assert [(call.step, call.said) for call in recorded.calls] == [(0, "I look."), (0, ""), (1, "")]
    assert (recorded.input, recorded.output) == ("Hi", "Done.")


def test_offered_tools_are_known() -> None:
    """They are what the draft may forbid."""
    trial = a_played(tools_offered=({"name": "find"}, {"name": "cancel", "description": "x"}))

    assert read(trial).offered == ("find", "cancel")


def test_an_ending_that_is_none_is_told() -> None:
    """The person must know that the trial broke."""
    trial = a_played(ending=Ending.AGENT_TIMEOUT, error="late")

    assert [str(item) for item in read(trial).unread] == ["trial: it ended as agent_timeout (late)"]


def test_no_answer_is_not_an_empty_answer() -> None:
    """A completed trial may say nothing; a broken one did not get to say anything."""
    calls = a_trial("", ending=Ending.AGENT_TIMEOUT, error="late")

    assert read(calls).output is None
    assert read(a_trial("")).output == ""


def test_without_a_transcript_the_calls_still_count() -> None:
    """The trials table has them on its own."""
    recorded = read(a_trial("x", a_call("a"), a_call("b"), messages=()))

    assert [(call.name, call.step) for call in recorded.calls] == [("a", 0), ("b", 1)]
    assert str(recorded.unread[0]).startswith("trial: no transcript is stored")


def test_of_a_conversation_the_last_turn_is_taken() -> None:
    """Earlier ones are named."""
    messages = (
        user("Hi"),
        assistant(("t1", "find", {"n": 1})),
        results(("t1", "one")),
        assistant("Ho"),
        user("And now?"),
        assistant(("t2", "find", {"n": 2})),
        results(("t2", "two")),
        assistant("Done."),
    )
    calls = (a_call("find", {"n": 1}, call_id="t1"), a_call("find", {"n": 2}, call_id="t2"))

    recorded = read(a_trial("Done.", *calls, messages=messages))

    assert (recorded.input, [call.arguments for call in recorded.calls]) == ("And now?", [{"n": 2}])
    assert [str(item) for item in recorded.unread] == ["conversation: an earlier turn left out: 'Hi'"]


@pytest.mark.parametrize("text", ["", " ", "\u00a0", "\u2028", "\u200b\n"])
def test_a_trial_in_which_the_user_said_nothing_is_no_case(text: str) -> None:
    """A blank question would make a draft that cannot be loaded."""
    with pytest.raises(NoContentError, match="the user said nothing in it"):
        read(a_trial("Hello?", input=text, messages=(user(text), assistant("Hello?"))))


@pytest.mark.parametrize(
    "ending", [Ending.INFRA_ERROR, Ending.SIMULATOR_ERROR, Ending.CANCELLED, Ending.NOT_RUN]
)
def test_a_trial_that_others_ended_is_refused(ending: Ending) -> None:
    """What it shows is a fault of the machine; a case of it would blame the agent."""
    with pytest.raises(UselessTrialError, match=f"it ended as {ending} \\(throttled\\)"):
        read(a_played(ending=ending, error="throttled"))


def test_a_trial_without_an_answer_of_the_model_is_refused() -> None:
    """The draft would expect that no tool is called."""
    trial = a_trial("", ending=Ending.AGENT_ERROR, error="no factory", messages=(user("Hi"),))

    with pytest.raises(UselessTrialError, match="without a single answer of the model"):
        read(trial)


@pytest.mark.parametrize(
    ("completed", "hint"),
    [([0, 2], "take --trial 2, which completed"), ([0], "no other trial"), ([], "no other")],
)
def test_the_refusal_names_a_trial_that_completed(completed: list[int], hint: str) -> None:
    """Another one of the same case is what was meant."""
    assert hint in str(UselessTrialError(a_trial(), "it broke", completed))


def test_a_conversation_is_taken_whole() -> None:
    """Its last message alone means nothing."""
    turns = [
        TurnNote(turn=1, user="Hi", agent="Ho", tool_calls=1),
        TurnNote(turn=2, user="So?", agent="Done."),
    ]
    messages = (user("Hi"), assistant(("t1", "find", {})), results(("t1", "x")), assistant("Ho"), user("So?"))
    trial = a_trial(
        "Done.",
        a_call("find", call_id="t1"),
        messages=(*messages, assistant("Done.")),
        conversation=Talk(end_reason=EndReason.USER_SATISFIED, turns=turns),
    )

    recorded = read(trial)

    assert (recorded.input, [call.name for call in recorded.calls], recorded.output) == (
        "Hi",
        ["find"],
        "Done.",
    )
    assert [(part.user, part.agent, part.calls) for part in recorded.exchanges] == [
        ("Hi", "Ho", 1),
        ("So?", "Done.", 0),
    ]
    assert recorded.unread == ()


def test_whether_the_case_has_a_context_is_not_known_from_the_trial() -> None:
    """Rows keep none, which is not the same as there being none."""
    assert read(a_played()).context is None


def test_context_of_the_case_is_kept() -> None:
    """The agent's factory may need it."""
    assert with_context(read(a_played()), {"customer": 7}).context == {"customer": 7}
