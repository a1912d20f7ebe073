from __future__ import annotations

from typing import Any

import pytest

from nightgate.cases import Case, Suite, evaluators_of
from nightgate.cases.asks import matches


def _suite(evaluators: dict[str, Any] | None = None) -> Suite:
    return Suite(suite="s", agent="a:b", model="scripted:x", evaluators=evaluators or {})


def _case(**parts: Any) -> Case:
    return Case(id="a", input="x", **parts)


@pytest.mark.parametrize(
    ("expect", "names"),
    [
        ({"tools": {"must_call": ["t"]}}, ("ToolPolicy",)),
        ({"arguments": [{"tool": "t", "where": {}}]}, ("ArgumentPolicy",)),
        ({"cites": []}, ("CitesSource",)),
        ({"answer": {"language": "en"}}, ("AnswerPolicy",)),
        ({"state": {"a": None}}, ("StateReached",)),
        ({"skills": {"not_loaded": ["s"]}}, ("SkillPolicy",)),
        ({"blocked": False}, ("BlockedAsExpected",)),
        (
            {"judge": [{"id": "x", "criterion": "c"}, {"id": "y", "criterion": "c"}]},
            ("Criterion:x", "Criterion:y"),
        ),
        ({"tools": {}, "answer": {"exact": True}, "state": {}}, ()),
    ],
)
def test_each_part_of_expect_chooses_its_evaluator(expect: dict[str, Any], names: tuple[str, ...]) -> None:
    """What a case does not ask for is not run."""
    assert evaluators_of(_suite(), _case(expect=expect)) == names


def test_a_threshold_in_the_suite_asks_for_nothing_by_itself() -> None:
    """`ToolPolicy: {threshold: 1.0}` must not plan it on cases without tools."""
    suite = _suite({"ToolPolicy": {"threshold": "1.0"}, "GoalCompletion": {}, "Criterion:x": {}})

    assert evaluators_of(suite, _case(expect={"cites": []})) == ("CitesSource",)


def test_judges_and_custom_evaluators_of_the_suite_run_on_every_case() -> None:
    """Also code evaluators of Strands, which need parameters to be named at all."""
    suite = _suite(
        {"FaithfulnessEvaluator": {}, "Mine": {"use": "m:M"}, "ToolCalled": {"params": {"tool_name": "t"}}}
    )

    assert evaluators_of(suite, _case()) == ("FaithfulnessEvaluator", "Mine", "ToolCalled")


@pytest.mark.parametrize(
    ("config", "applies"),
    [
        ({"layers": ["behavior"]}, True),
        ({"layers": ["quality"]}, False),
        ({"tags": ["x", "refund"]}, True),
        ({"tags": ["x"]}, False),
        ({"cases": ["a"]}, True),
        ({"cases": ["b*", "[ab]"]}, True),
        ({"cases": ["b"]}, False),
        ({"layers": ["behavior"], "tags": ["x"]}, False),
    ],
)
def test_evaluators_are_narrowed_by_layers_tags_and_cases(config: dict[str, Any], applies: bool) -> None:
    """All given parts must fit; names chosen by expect are narrowed alike."""
    suite = _suite({"FaithfulnessEvaluator": config, "CitesSource": config})
    case = _case(tags=("refund",), expect={"cites": []})

    assert bool(evaluators_of(suite, case)) is applies


def test_live_evaluators_are_left_out_of_scripted_runs() -> None:
    """A scripted model's answers say nothing about quality."""
    suite = _suite({"FaithfulnessEvaluator": {"when": "live"}})

    assert evaluators_of(suite, _case(), live=True) == ("FaithfulnessEvaluator",)
    assert evaluators_of(suite, _case(), live=False) == ()


def test_a_conversation_plans_goal_turns_and_metrics() -> None:
    """Contradictions and TurnQuality need a judge and are planned only where they are named."""
    case = _case(persona={"goal": "g", "success": {"state": {"a": 1}}})
    plain = ("GoalCompletion", "TurnsToResolve", "TurnEfficiency", "Elicitation", "ReAsks", "PerceivedOnly")

    assert evaluators_of(_suite(), case) == plain
    assert evaluators_of(_suite({"Contradictions": {}}), case) == (*plain, "Contradictions")
    assert evaluators_of(_suite({"Contradictions": {}}), _case(expect={"cites": []})) == ("CitesSource",)


def test_with_only_a_forbidden_state_limit_held_alone_decides() -> None:
    """Abandonment or the turn limit is the expected end, so goal and turn metrics mean nothing."""
    only = _case(persona={"goal": "g", "forbidden": {"state": {"a": 1}}})
    both = _case(persona={"goal": "g", "success": {"state": {"b": 1}}, "forbidden": {"state": {"a": 1}}})

    assert evaluators_of(_suite(), only) == ("LimitHeld",)
    assert {"GoalCompletion", "LimitHeld"} <= set(evaluators_of(_suite(), both))


@pytest.mark.parametrize(
    ("case_id", "pattern", "matched"),
    [
        ("a[1]", "a[1]", True),
        ("a1", "a[1]", True),
        ("A", "a", False),
        ("a/b", "a*", True),
        ("a", "*", True),
        ("ab", "a?", True),
    ],
)
def test_an_id_means_itself_before_it_is_read_as_a_glob(case_id: str, pattern: str, matched: bool) -> None:
    """Ids may hold brackets and stars."""
    assert matches(case_id, pattern) is matched
