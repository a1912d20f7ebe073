"""Conversations of a run in figures: means over successes, ratios of sums, endings all listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from makers import a_case, a_plan, a_planned_case
from nightgate.plans import Plan
from nightgate.summaries import Conversations
from nightgate.talks import EndReason, SimulatorNotes, Talk, TurnNote
from nightgate.trials import Ending


def a_talk_plan(trials: int = 4) -> Plan:
    """One conversation with a goal."""
    return a_plan(replace(a_planned_case(a_case("a"), trials=trials), evaluators=("GoalCompletion",)))


def a_talk(reason: EndReason | None, turns: int = 2, *, asked: tuple[str, ...] = (), **more: Any) -> Talk:
    """A talk of so many turns."""
    notes = [TurnNote(turn=n, user="u", asked=list(asked) if n == 1 else []) for n in range(1, turns + 1)]
    return Talk(end_reason=reason, turns=notes, **more)


def told(*talks: tuple[Ending, Talk], plan: Plan | None = None) -> dict[str, Any]:
    """The part of the summary."""
    found = Conversations()
    for ending, talk in talks:
        found.add("a", ending, talk)
    part = found.as_dict(plan or a_talk_plan())
    assert part is not None
    return part


DONE = Ending.COMPLETED


def test_turns_are_averaged_over_successes_alone() -> None:
    """A conversation that was given up after 12 turns makes no success slower."""
    part = told((DONE, a_talk(EndReason.GOAL_MET, 2)), (DONE, a_talk(EndReason.USER_ABANDONED, 12)))

    assert (part["goal_met"], part["goal_planned"], part["mean_turns"]) == (1, 4, 2.0)


def test_without_a_success_there_is_no_mean() -> None:
    """Not 0."""
    part = told((DONE, a_talk(EndReason.STALLED)))

    assert (part["mean_turns"], part["mean_efficiency"]) == (None, None)


def test_elicitation_is_a_ratio_of_sums() -> None:
    """Not a mean of ratios."""
    part = told(
        (DONE, a_talk(EndReason.GOAL_MET, asked=("a",), withheld=["a"])),
        (DONE, a_talk(EndReason.GOAL_MET, asked=(), withheld=["a", "b", "c"])),
    )

    assert part["elicitation"] == 0.25


def test_perceived_only_is_over_those_who_went_away_content() -> None:
    """Satisfied over goal met and satisfied."""
    part = told(
        (DONE, a_talk(EndReason.USER_SATISFIED)),
        (DONE, a_talk(EndReason.GOAL_MET)),
        (DONE, a_talk(EndReason.USER_ABANDONED)),
    )

    assert part["perceived_only"] == 0.5


def test_all_endings_are_listed_and_agent_faults_beside_them() -> None:
    """Exactly one for each conversation."""
    found = Conversations()
    found.add("a", DONE, a_talk(EndReason.GOAL_MET))
    found.add("a", Ending.SIMULATOR_ERROR, a_talk(None))
    found.add("a", Ending.AGENT_TIMEOUT, a_talk(None))

    endings = found.endings_of(a_talk_plan())

    assert set(EndReason) <= set(endings)
    assert (endings["goal_met"], endings["simulator_error"], endings["agent_timeout"]) == (1, 1, 1)
    assert sum(endings.values()) == 3


def test_what_the_simulator_did_is_added_up_and_an_unknown_cost_stays_unknown() -> None:
    """Beside the scores, never in them."""
    notes = [
        SimulatorNotes(leaks=1, calls=3, cost_nanousd=5),
        SimulatorNotes(faults=["f"], cost_nanousd=None),
    ]
    part = told(*((DONE, a_talk(EndReason.GOAL_MET, simulator=note)) for note in notes))

    assert (part["simulator"]["leaks"], part["simulator"]["faults"], part["simulator"]["calls"]) == (1, 1, 3)
    assert part["simulator"]["cost_usd"] is None


def test_quality_is_averaged_turn_by_turn() -> None:
    """Decay is a property of turn numbers."""
    found = Conversations()
    found.add_quality({"1": 1.0, "2": 0.5})
    found.add_quality({"1": 0.5})

    part = found.as_dict(a_talk_plan())

    assert part is not None
    assert part["quality_by_turn"] == {"1": 0.75, "2": 0.5}


def test_a_run_without_conversations_has_no_such_part() -> None:
    """And no endings of any."""
    plan = a_plan(a_planned_case(a_case("a")))

    assert (Conversations().as_dict(plan), Conversations().endings_of(plan)) == (None, {})
