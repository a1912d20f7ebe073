"""What changed: every part of two fingerprints, and nothing that moves no score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nightgate.comparisons import Side, factors
from pairs import a_run_plan, judge, lenient, some

PARTS: dict[str, Any] = {
    "model": "m1",
    "system_prompt": "Be kind.",
    "tools": "t1",
    "limits": {"turns": 20},
    "sources": {"s3://b/kb.json": "d1", "simulated user": "u1"},
}


def side(run_id: str, *, parts: dict[str, Any] | None = None, agent: str = "g", **more: Any) -> Side:
    """A run whose agent has these parts."""
    plan = a_run_plan(run_id, some(2), **more)
    cases = tuple(replace(case, agent_fingerprint=agent) for case in plan.cases)
    return Side.of(replace(plan, cases=cases, parts={**PARTS, **(parts or {})}), {})


def texts(before: Side, now: Side) -> list[str]:
    """What differs, in words."""
    return [factor.text for factor in factors(before, now)]


def test_two_runs_of_the_same_thing_have_no_factors() -> None:
    """Another day, another price table and another trigger are none."""
    now = side("b", started_at="2026-12-01T00:00:00Z", price_table="other", trigger="schedule")

    assert texts(side("a"), now) == []


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"system_prompt": "Be rude."}, "system prompt changed"),
        ({"tools": "t2"}, "tool or skill schema changed"),
        ({"limits": {"turns": 5}}, "limit turns: 20 -> 5"),
        ({"limits": {}}, "limit turns: 20 -> none"),
        ({"sources": {**PARTS["sources"], "s3://b/kb.json": "d2"}}, "source changed: s3://b/kb.json"),
        ({"sources": {"simulated user": "u1"}}, "source no longer named: s3://b/kb.json"),
        ({"sources": {**PARTS["sources"], "kb": "d"}}, "source named anew: kb"),
        (
            {"sources": {**PARTS["sources"], "simulated user": "u2"}},
            "simulated user: its prompt or script changed",
        ),
        ({"model": "m2"}, "the script behind scripted:agent changed"),
    ],
)
def test_each_part_of_the_agent_is_named(parts: dict[str, Any], text: str) -> None:
    """Whoever reads of a regression wants to know what to look at."""
    assert texts(side("a"), side("b", parts=parts, agent="h")) == [text]


def test_a_prompt_is_told_as_a_digest() -> None:
    """It may be long, and it may hold what is nobody's business in an alert."""
    (found,) = factors(side("a"), side("b", parts={"system_prompt": "secret words"}, agent="h"))

    assert "secret" not in str(found.as_dict())
    assert found.before != found.now


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"model": "scripted:new"}, "model: scripted:agent -> scripted:new"),
        ({"user": "scripted:u"}, "simulated user: none -> scripted:u"),
    ],
)
def test_models_are_named(more: dict[str, Any], text: str) -> None:
    """As the plan has them."""
    assert texts(side("a"), side("b", agent="h", **more)) == [text]


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        ({"git_sha": "a" * 40}, {"git_sha": "b" * 40}, f"code: commit {'a' * 12} -> {'b' * 12}"),
        ({"nightgate": "1"}, {"nightgate": "2"}, "nightgate: 1 -> 2"),
        ({}, {"evaluators": [lenient(version=2)]}, "E: evaluator version 1 -> 2"),
        (
            {"evaluators": [judge("1" * 16)]},
            {"evaluators": [judge("2" * 16)]},
            "judge's prompt, params or script changed (E)",
        ),
    ],
)
def test_code_evaluators_and_judges_are_named(before: Any, now: Any, text: str) -> None:
    """The score may move although the agent is the same."""
    assert texts(side("a", **before), side("b", **now)) == [text]


def test_a_part_that_no_plan_shows_is_said_to_be_one() -> None:
    """Another fingerprint with equal parts: only the first case's are stored."""
    assert texts(side("a"), side("b", agent="h")) == [
        "agent changed, in a part that the stored plan does not show"
    ]
