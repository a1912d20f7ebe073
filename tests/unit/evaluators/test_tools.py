"""ToolPolicy: names of tools, whatever came back."""

from typing import Any

import pytest

from makers import a_call, a_case, a_trial
from nightgate.evaluators.tools import ToolPolicy
from nightgate.scores import Score, Status


def judged(tools: dict[str, Any], *names: str) -> Score:
    calls = [a_call(name) for name in names]
    return ToolPolicy().evaluate(a_trial("", *calls), a_case(expect={"tools": tools}))


@pytest.mark.parametrize(
    ("tools", "called", "status"),
    [
        ({"must_call": ["a"]}, ["b", "a", "a"], Status.PASS),
        ({"must_call": ["a", "b"]}, ["a"], Status.FAIL),
        ({"must_call": ["a"]}, [], Status.FAIL),
        ({"must_not_call": ["x"]}, [], Status.PASS),
        ({"must_not_call": ["x"]}, ["a", "x"], Status.FAIL),
        ({"must_not_call": ["*"]}, [], Status.PASS),
        ({"must_not_call": ["*"]}, ["anything"], Status.FAIL),
        ({"max_calls": {"a": 2}}, ["a", "a"], Status.PASS),
        ({"max_calls": {"a": 2}}, ["a", "a", "a"], Status.FAIL),
        ({"max_calls": {"a": 0}}, ["b"], Status.PASS),
        ({"max_calls": {"a": 0}}, ["a"], Status.FAIL),
    ],
)
def test_required_forbidden_and_counted_names(
    tools: dict[str, Any], called: list[str], status: Status
) -> None:
    """Order and repeats are free; an uncalled tool is within every limit."""
    score = judged(tools, *called)
    assert score.status is status
    assert score.score == (1.0 if status is Status.PASS else 0.0)


@pytest.mark.parametrize(
    "came_back", [{"status": "error", "result": "boom"}, {"status": None, "result": None}]
)
def test_a_call_counts_whatever_came_back(came_back: dict[str, Any]) -> None:
    """The model chose the tool; that it broke, was refused or was never offered is another matter."""
    trial = a_trial("", a_call("resolve", **came_back))
    case = a_case(expect={"tools": {"must_call": ["resolve"], "max_calls": {"resolve": 1}}})
    assert ToolPolicy().evaluate(trial, case).status is Status.PASS
    forbidden = a_case(expect={"tools": {"must_not_call": ["resolve"]}})
    assert ToolPolicy().evaluate(trial, forbidden).status is Status.FAIL


def test_every_broken_part_is_in_the_reason() -> None:
    """One look has to say what to fix."""
    score = judged({"must_call": ["a", "b"], "must_not_call": ["x"], "max_calls": {"y": 1}}, "x", "y", "y")
    assert score.reason == (
        "missing a, b; forbidden x; y called 2 times, at most 1 allowed (called: x, y x2)"
    )


def test_a_star_names_what_was_called() -> None:
    """A rule of "no tool at all" is broken by a tool that has a name."""
    assert judged({"must_not_call": ["*"]}, "b", "a").reason == "forbidden a, b (called: b, a)"


@pytest.mark.parametrize(
    ("tools", "called", "expected", "observed"),
    [
        ({"must_call": ["a", "b"]}, ["b"], "a called", "called b"),
        ({"must_call": ["a"], "must_not_call": ["x"]}, ["a", "x", "x"], "x not called", "called a, x x2"),
        ({"must_not_call": ["*"]}, ["x"], "no tool called at all", "called x"),
        ({"max_calls": {"a": 1}}, ["a", "a"], "a called at most 1 time", "called a x2"),
        (
            {"must_call": ["a"], "must_not_call": ["x"], "max_calls": {"y": 2}},
            ["x", "y", "y", "y"],
            "a called; x not called; y called at most 2 times",
            "called x, y x3",
        ),
    ],
)
def test_a_fail_says_what_was_expected_and_what_was_observed(
    tools: dict[str, Any], called: list[str], expected: str, observed: str
) -> None:
    """Of the rules only those that were broken: whoever reads it has not seen the case."""
    assert judged(tools, *called).details == {"expected": expected, "observed": observed}


def test_a_pass_has_no_difference_to_show() -> None:
    """Nothing differs."""
    assert judged({"must_call": ["a"]}, "a").details == {}


def test_names_that_a_model_made_up_do_not_make_a_long_line() -> None:
    """A model may ask for anything, a thousand times."""
    score = judged({"must_not_call": ["*"]}, *(f"tool-{n}" for n in range(1000)))
    assert len(score.details["observed"]) <= 300
