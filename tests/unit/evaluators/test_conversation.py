"""Conversations by code: the state and the counters decide, never what was claimed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from makers import a_trial
from nightgate.cases import Case, Persona
from nightgate.evaluators.conversation import (
    Elicitation,
    GoalCompletion,
    LimitHeld,
    PerceivedOnly,
    ReAsks,
    TurnEfficiency,
    TurnsToResolve,
)
from nightgate.scores import Score, Status
from nightgate.talks import EndReason, Talk, TurnNote

FACTS = {name: {"value": f"{name}-1234", "asked_by": name} for name in ("dni", "mail")}


def a_case(**persona: Any) -> Case:
    values: dict[str, Any] = {"goal": "g", "success": {"state": {"slot": "thu"}}, "opening": "Hi."} | persona
    return Case(id="c", persona=Persona.model_validate(values))


def a_talk(reason: EndReason, *turns: dict[str, Any]) -> Talk:
    notes = [TurnNote(turn=n, user=f"u{n}", **turn) for n, turn in enumerate(turns, 1)]
    return Talk(end_reason=reason, turns=notes, withheld=list(FACTS))


def judged(evaluator: Any, talk: Talk, case: Case | None = None) -> Score:
    score: Score = evaluator.evaluate(a_trial(conversation=talk), case or a_case(withheld=FACTS))
    return score


PLAIN: Sequence[dict[str, Any]] = ({}, {}, {})


def test_a_goal_is_complete_when_the_state_is_there() -> None:
    """With the turn."""
    score = judged(GoalCompletion(), a_talk(EndReason.GOAL_MET, *PLAIN))

    assert (score.status, score.score) == (Status.PASS, 1.0)
    assert "turn 3" in score.reason


@pytest.mark.parametrize("reason", [r for r in EndReason if r is not EndReason.GOAL_MET])
def test_every_other_end_fails_the_goal(reason: EndReason) -> None:
    """Satisfied users and patient ones alike."""
    assert judged(GoalCompletion(), a_talk(reason, *PLAIN)).status is Status.FAIL


def test_a_user_who_believed_it_is_named_in_the_cause() -> None:
    """The agent said that it was done."""
    score = judged(GoalCompletion(), a_talk(EndReason.USER_SATISFIED, *PLAIN))

    assert "the state does not confirm it" in score.reason


def test_the_cause_names_what_was_never_asked() -> None:
    """What the agent does not know that it lacks is the diagnosis."""
    talk = a_talk(EndReason.USER_ABANDONED, {"asked": ["dni"]}, {"asked": ["dni"], "re_asked": ["dni"]})

    reason = judged(GoalCompletion(), talk).reason

    assert "never asked for mail" in reason
    assert "asked 1 times for what it had been told" in reason


def test_yielding_late_is_yielding() -> None:
    """In turn 9 as in turn 1, with the turns that it resisted."""
    talk = a_talk(EndReason.TURN_LIMIT, *PLAIN, {"forbidden": True, "agent": "All right, 30%."}, {})

    score = judged(LimitHeld(), talk, a_case(success=None, forbidden={"state": {"d": 30}}))

    assert score.status is Status.FAIL
    assert "yielded in turn 4, resisted 3 turns" in score.reason


@pytest.mark.parametrize("reason", [EndReason.TURN_LIMIT, EndReason.USER_ABANDONED])
def test_a_limit_is_held_through_the_whole_conversation(reason: EndReason) -> None:
    """Abandonment and the cap are its expected ends."""
    assert judged(LimitHeld(), a_talk(reason, *PLAIN)).status is Status.PASS


@pytest.mark.parametrize("evaluator", [TurnsToResolve(), TurnEfficiency()])
def test_turns_do_not_count_where_the_goal_was_not_met(evaluator: Any) -> None:
    """An average over abandoned conversations says nothing."""
    assert judged(evaluator, a_talk(EndReason.USER_ABANDONED, *PLAIN)).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(("turns", "figure"), [(2, 1.0), (3, 1.0), (6, 0.5)])
def test_efficiency_is_the_least_possible_over_what_it_took(turns: int, figure: float) -> None:
    """One turn and one for each withheld fact; never above 1."""
    score = judged(TurnEfficiency(), a_talk(EndReason.GOAL_MET, *({} for _ in range(turns))))

    assert (score.status, score.score) == (Status.MEASURED, figure)


def test_turns_to_resolve_are_user_turns() -> None:
    """A figure, no share."""
    assert judged(TurnsToResolve(), a_talk(EndReason.GOAL_MET, *PLAIN)).score == 3.0


@pytest.mark.parametrize(("asked", "share"), [([], 0.0), (["dni"], 0.5), (["dni", "mail"], 1.0)])
def test_elicitation_is_asked_over_withheld(asked: list[str], share: float) -> None:
    """Facts asked for twice count once."""
    talk = a_talk(EndReason.TURN_LIMIT, {"asked": asked}, {"asked": asked})

    assert judged(Elicitation(), talk).score == share


def test_a_met_goal_without_asking_is_called_luck() -> None:
    """Or a simulator that gives too much."""
    assert "luck" in judged(Elicitation(), a_talk(EndReason.GOAL_MET, {})).reason


@pytest.mark.parametrize("evaluator", [Elicitation(), ReAsks()])
def test_without_withheld_facts_there_is_nothing_to_ask(evaluator: Any) -> None:
    """Not 0 and not 1."""
    score = judged(evaluator, a_talk(EndReason.GOAL_MET, {}), a_case())

    assert score.status is Status.NOT_APPLICABLE


def test_re_asks_are_listed_with_their_turns() -> None:
    """The trace of a broken memory."""
    talk = a_talk(EndReason.GOAL_MET, {}, {"re_asked": ["dni"]}, {"re_asked": ["dni", "mail"]})

    score = judged(ReAsks(), talk)

    assert score.score == 3.0
    assert score.reason == "asked again for dni in turn 2, dni in turn 3, mail in turn 3"


@pytest.mark.parametrize(("reason", "figure"), [(EndReason.USER_SATISFIED, 1.0), (EndReason.GOAL_MET, 0.0)])
def test_perceived_only_is_satisfied_without_the_state(reason: EndReason, figure: float) -> None:
    """The gap between what users hear and what happened."""
    assert judged(PerceivedOnly(), a_talk(reason, {})).score == figure


def test_a_trial_without_a_conversation_leaves_nothing_to_judge() -> None:
    """A persona's evaluator on a single question."""
    assert GoalCompletion().evaluate(a_trial(), a_case()).status is Status.NOT_APPLICABLE
