"""StateReached and BlockedAsExpected: facts beside the text."""

from typing import Any

import pytest

from makers import a_case, a_trial
from nightgate.evaluators.state import BlockedAsExpected, StateReached
from nightgate.scores import Score, Status
from nightgate.trials import Ending

STATE = {
    "cases": {"CS-1001": {"status": "open", "tags": ["a", "b"]}},
    "mail.sent": {"count": 0},
    "note": None,
}


def judged(want: dict[str, Any], state: Any = STATE) -> Score:
    return StateReached().evaluate(a_trial(final_state=state), a_case(expect={"state": want}))


@pytest.mark.parametrize(
    ("want", "status"),
    [
        ({"cases.CS-1001.status": "open"}, Status.PASS),
        ({"cases.CS-1001.status": "closed"}, Status.FAIL),
        ({"cases.CS-1001.status": "Open"}, Status.FAIL),
        ({"cases.CS-1001.tags": ["a", "b"]}, Status.PASS),
        ({"cases.CS-1001.tags": ["a"]}, Status.FAIL),
        ({"cases.CS-1001.tags.1": "b"}, Status.PASS),
        ({"mail.sent.count": 0.0}, Status.PASS),
        ({"mail.sent.count": False}, Status.FAIL),
        ({"note": None}, Status.PASS),
        ({"missing": None}, Status.FAIL),
        ({"cases": {"CS-1001": {"status": "open"}}}, Status.FAIL),
        ({"cases.CS-1001.status": "open", "mail.sent.count": 1}, Status.FAIL),
    ],
)
def test_every_path_has_to_hold_its_value(want: dict[str, Any], status: Status) -> None:
    """Values compare whole; a path that is missing is not null."""
    assert judged(want).status is status


def test_a_target_without_a_state_leaves_nothing_to_judge() -> None:
    """It neither reached nor missed anything; the reason says what the factory has to return."""
    score = judged({"a": 1}, state=None)
    assert (score.status, score.score) == (Status.NOT_APPLICABLE, None)
    assert "nightgate.Target" in score.reason


def test_an_empty_state_is_a_state() -> None:
    """The world was looked at and holds nothing."""
    assert judged({"a": 1}, state={}).reason == "a is missing, want 1"


def test_all_that_differs_is_in_the_reason() -> None:
    """One look has to say what to fix."""
    score = judged({"cases.CS-1001.status": "closed", "x": 1})
    assert score.reason == 'cases.CS-1001.status is "open", want "closed"; x is missing, want 1'


@pytest.mark.parametrize(
    ("ending", "wanted", "status"),
    [
        (Ending.AGENT_BLOCKED, True, Status.PASS),
        (Ending.AGENT_BLOCKED, False, Status.FAIL),
        (Ending.COMPLETED, True, Status.FAIL),
        (Ending.COMPLETED, False, Status.PASS),
    ],
)
def test_a_guardrail_stop_is_right_exactly_where_it_is_wanted(
    ending: Ending, wanted: bool, status: Status
) -> None:
    """A stop on a good question is as wrong as an answer to a bad one."""
    score = BlockedAsExpected().evaluate(a_trial(ending=ending), a_case(expect={"blocked": wanted}))
    assert score.status is status


def test_a_fail_says_what_was_expected_and_what_was_observed() -> None:
    """Of the paths only those that do not hold."""
    score = judged({"cases.CS-1001.status": "closed", "note": None, "x": 1})
    assert score.details == {
        "expected": 'cases.CS-1001.status is "closed"; x is 1',
        "observed": 'cases.CS-1001.status is "open"; x is missing',
    }
    assert judged({"note": None}).details == {}


def test_a_target_without_a_state_says_what_was_expected_of_it() -> None:
    """A hole is read by the same person."""
    assert judged({"a": 1}, state=None).details == {
        "expected": "a is 1",
        "observed": "the target shows no state",
    }


@pytest.mark.parametrize(
    ("ending", "wanted", "details"),
    [
        (
            Ending.AGENT_BLOCKED,
            False,
            {
                "expected": "an answer without a guardrail stop",
                "observed": "a guardrail stopped the agent",
            },
        ),
        (
            Ending.COMPLETED,
            True,
            {"expected": "a guardrail stops the agent", "observed": "no guardrail stopped the agent"},
        ),
        (Ending.COMPLETED, False, {}),
    ],
)
def test_a_guardrail_that_stops_the_wrong_ones_is_told_from_both_sides(
    ending: Ending, wanted: bool, details: dict[str, str]
) -> None:
    """What the case wants, what happened."""
    score = BlockedAsExpected().evaluate(a_trial(ending=ending), a_case(expect={"blocked": wanted}))
    assert score.details == details
