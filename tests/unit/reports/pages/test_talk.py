"""Stored messages as steps, whatever a provider left in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from makers import a_call, a_trial, assistant, results, user
from nightgate.reports.pages.talk import Said, steps
from nightgate.reports.pages.texts import Texts
from nightgate.talks import EndReason, Talk, TurnNote
from nightgate.trials import Trial


def told(trial: Trial) -> list[tuple[Any, ...]]:
    """Who, what and what came back."""
    return [(said.who, said.name, *map(_shown, (said.text, said.result))) for said in _steps(trial)]


def _steps(trial: Trial) -> list[Said]:
    return steps(trial, Texts("case-1"))


def _shown(text: Any) -> str | None:
    return None if text is None else text.shown


def test_an_answer_stands_with_its_call() -> None:
    """Parallel calls come back in another order; nobody should have to match ids."""
    trial = a_trial(
        messages=(
            user("Hi"),
            assistant("Looking.", ("t1", "search", {"q": 1}), ("t2", "open", {})),
            results(("t2", "no", "error"), ("t1", "yes")),
            assistant("Done."),
        )
    )

    assert told(trial) == [
        ("user", "", "Hi", None),
        ("agent", "", "Looking.", None),
        ("call", "search", '{\n "q": 1\n}', "yes"),
        ("call", "open", "{}", "no"),
        ("agent", "", "Done.", None),
    ]
    assert [said.status for said in _steps(trial)][2:4] == ["success", "error"]


def test_without_a_transcript_the_trials_own_row_tells() -> None:
    """Old runs and damaged parts still show what was called and answered."""
    trial = a_trial("Bye", a_call("search", "raw text", result=None), messages=())

    assert told(trial) == [
        ("user", "", "Hi", None),
        ("call", "search", "raw text", None),
        ("agent", "", "Bye", None),
    ]


def test_what_is_not_understood_is_shown_as_it_is_stored() -> None:
    """A picture, a block of tomorrow, a message that is none."""
    trial = a_trial(
        messages=(
            {"role": "user", "content": [{"image": {"format": "png"}}]},
            {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}]},
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "x", "content": [{"json": {"a": 1}}]}}],
            },
            {"content": "plain"},
            {"role": "assistant", "content": None},
        )
    )

    assert told(trial) == [
        ("other", "image", '{\n "image": {\n  "format": "png"\n }\n}', None),
        ("reasoning", "", "hm", None),
        ("call", "answer without a call", None, '[\n {\n  "a": 1\n }\n]'),
        ("other", "", "plain", None),
    ]


def test_a_conversations_turns_carry_what_was_asked_and_given() -> None:
    """The record of the simulator stands beside the words."""
    talk = Talk(
        end_reason=EndReason.GOAL_MET,
        turns=[TurnNote(turn=1, user="Hi", asked=["number"]), TurnNote(turn=2, user="7", given=["number"])],
    )
    trial = replace(
        a_trial(messages=(user("Hi"), assistant("Number?"), user("7"), assistant("Done."))), conversation=talk
    )

    notes = [said.turn for said in _steps(trial)]

    assert [note and note.turn for note in notes] == [1, None, 2, None]
