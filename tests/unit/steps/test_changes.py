"""Reasons: each part of an agent, a case or a judge that differs is named, and nothing else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

import pytest

from makers import a_case, a_plan, a_planned, a_planned_case
from nightgate.plans import Fingerprint, Plan
from nightgate.steps.changes import SIMULATED_USER, Changes, Kind

BASE: dict[str, Any] = {"model": "m1", "system_prompt": "p1", "tools": "t1", "limits": {}, "sources": {}}


def a_fingerprint(**parts: Any) -> Fingerprint:
    """An agent, as described."""
    return Fingerprint(**BASE | parts)


def planned(first: Fingerprint, *others: Fingerprint, **more: Any) -> Plan:
    """A plan of cases ``a``, ``b`` and so on, an agent each; it shows the parts of the first."""
    cases = [
        replace(a_planned_case(a_case(name), trials=2), agent_fingerprint=found.digest)
        for name, found in zip("abc", (first, *others), strict=False)
    ]
    return replace(a_plan(*cases), parts=asdict(first), **more)


def a_row(plan: Plan, case: int = 0, **more: Any) -> dict[str, Any]:
    """The stored row of a trial of that plan."""
    found = plan.cases[case]
    row = {"case_hash": found.case_hash, "agent_fingerprint": found.agent_fingerprint, "ending": "completed"}
    return row | more


def told(before: Plan, now: Plan, case: int = 0, *, talks: Collection[str] = ()) -> list[tuple[Kind, str]]:
    """The reasons for trial 0 of a case."""
    found = Changes(now, before, talks).of_trial(now.cases[case], 0, a_row(before, case))
    return [(why.kind, why.text) for why in found]


def test_what_is_the_same_has_no_reason() -> None:
    """It stands."""
    assert told(planned(a_fingerprint()), planned(a_fingerprint())) == []


@pytest.mark.parametrize(
    ("parts", "kind", "text"),
    [
        ({"system_prompt": "p2"}, Kind.PROMPT_CHANGED, "system prompt changed"),
        ({"tools": "t2"}, Kind.TOOLS_CHANGED, "tool or skill schema changed"),
        ({"limits": {"turns": 3}}, Kind.LIMITS_CHANGED, "limits changed: turns none -> 3"),
        ({"sources": {"kb": "1"}}, Kind.SOURCE_CHANGED, "source named anew: kb"),
        ({"model": "m2"}, Kind.MODEL_CHANGED, "model changed: the script of scripted:agent"),
    ],
)
def test_each_part_of_the_agent_is_named(parts: dict[str, Any], kind: Kind, text: str) -> None:
    """So that a person knows what to look at."""
    assert told(planned(a_fingerprint()), planned(a_fingerprint(**parts))) == [(kind, text)]


def test_an_index_that_was_built_anew_is_named() -> None:
    """By the source that the suite names; others stay out of it."""
    before, now = ({"kb": digest, "s3://b/k": "1"} for digest in "12")

    found = told(planned(a_fingerprint(sources=before)), planned(a_fingerprint(sources=now)))

    assert found == [(Kind.SOURCE_CHANGED, "source changed: kb")]


def test_another_model_is_told_by_both_names() -> None:
    """The digest of a model tells nobody anything."""
    before, now = planned(a_fingerprint(), model="x:old"), planned(a_fingerprint(model="m2"), model="x:new")

    assert told(before, now) == [(Kind.MODEL_CHANGED, "model changed: x:old -> x:new")]


def test_a_conversation_is_compared_with_its_user() -> None:
    """The plan shows the first case's parts; those of a single question follow from them."""
    before = planned(a_fingerprint(sources={SIMULATED_USER: "u1"}), a_fingerprint())
    now = planned(a_fingerprint(sources={SIMULATED_USER: "u2"}), a_fingerprint())

    assert told(before, now, 0, talks={"a"}) == [(Kind.USER_CHANGED, "simulated user changed")]
    assert told(before, now, 1, talks={"a"}) == []


def test_a_user_that_the_plan_does_not_show_is_found_by_exclusion() -> None:
    """The first case is a single question: nothing else of it changed."""
    before = planned(a_fingerprint(), a_fingerprint(sources={SIMULATED_USER: "u1"}))
    now = planned(a_fingerprint(), a_fingerprint(sources={SIMULATED_USER: "u2"}))

    assert told(before, now, 1, talks={"b"}) == [(Kind.USER_CHANGED, "simulated user changed")]


def test_an_agent_of_its_own_is_told_by_what_changed_in_the_first_case() -> None:
    """A prompt that names the customer differs from case to case; the tools are everybody's."""
    before = planned(a_fingerprint(), a_fingerprint(system_prompt="for C-17"))
    now = planned(a_fingerprint(tools="t2"), a_fingerprint(system_prompt="for C-17", tools="t2"))

    assert told(before, now, 1) == [(Kind.TOOLS_CHANGED, "tool or skill schema changed")]


def test_what_the_plan_does_not_show_is_said_to_be_so() -> None:
    """No part is blamed without evidence; plans of old versions show none."""
    before = planned(a_fingerprint(), a_fingerprint(system_prompt="for C-17"))
    now = planned(a_fingerprint(), a_fingerprint(system_prompt="for C-18"))

    assert [kind for kind, _ in told(before, now, 1)] == [Kind.AGENT_CHANGED]
    assert [kind for kind, _ in told(replace(before, parts={}), now, 1)] == [Kind.AGENT_CHANGED]


def test_a_case_that_was_not_in_that_run_is_new() -> None:
    """Whatever else changed: there is nothing to compare it with."""
    before, now = planned(a_fingerprint()), planned(a_fingerprint(tools="t2"), a_fingerprint(tools="t2"))

    (why,) = Changes(now, before, ()).of_trial(now.cases[1], 0, None)

    assert why.kind is Kind.CASE_NEW


def test_more_trials_are_told_from_trials_that_left_no_record() -> None:
    """The one was asked for, the other went wrong."""
    plan = planned(a_fingerprint())
    changes = Changes(plan, plan, ())

    assert [changes.of_trial(plan.cases[0], number, None)[0].kind for number in (2, 1)] == [
        Kind.MORE_TRIALS,
        Kind.INFRASTRUCTURE,
    ]


@pytest.mark.parametrize("ending", ["infra_error", "simulator_error", "cancelled", "not_run"])
def test_what_the_infrastructure_ended_is_told_by_its_ending(ending: str) -> None:
    """It is the same trial, and it says nothing."""
    plan = planned(a_fingerprint())

    (why,) = Changes(plan, plan, ()).of_trial(plan.cases[0], 0, a_row(plan, ending=ending))

    assert (why.kind, why.text) == (Kind.INFRASTRUCTURE, f"ended by the infrastructure: {ending}")


@pytest.mark.parametrize(
    ("changed", "kind", "text"),
    [
        ({}, None, ""),
        ({"evaluator_version": 2}, Kind.EVALUATOR_VERSION, "evaluator version changed: E 2 -> 1"),
        ({"judge_fingerprint": "x"}, Kind.JUDGE_CHANGED, "judge changed: E (its prompt, params or script)"),
        ({"status": "error"}, Kind.NO_VERDICT, "ended without a verdict: E"),
        ({"status": "skipped"}, Kind.NO_VERDICT, "ended without a verdict: E"),
        ({"status": "not_applicable"}, None, ""),
    ],
)
def test_why_a_cell_is_judged_again(changed: dict[str, Any], kind: Kind | None, text: str) -> None:
    """One reason a cell: the version comes before the judge, whose fingerprint holds it."""
    evaluator = a_planned(kind="judge")
    plan = replace(planned(a_fingerprint()), evaluators=(evaluator,))
    row = {"evaluator_version": 1, "judge_fingerprint": "f" * 16, "status": "pass"} | changed

    why = Changes(plan, plan, ()).of_finding(plan.cases[0], evaluator, row)

    assert (why.kind if why else None, why.text if why else "") == (kind, text)


def test_another_judge_is_told_by_both_names() -> None:
    """Of the evaluator that asks it."""
    evaluator = a_planned(kind="judge")
    before = replace(planned(a_fingerprint()), evaluators=(evaluator,))
    now = replace(evaluator, judge_model="x:new", judge_fingerprint="n")

    why = Changes(before, before, ()).of_finding(
        before.cases[0], now, {"evaluator_version": 1, "judge_fingerprint": "f" * 16, "status": "pass"}
    )

    assert why is not None
    assert why.text == "judge changed: E (scripted:judge -> x:new)"


@pytest.mark.parametrize(
    ("kind", "was", "text"),
    [
        ("code", {}, None),
        ("code", {"config": "d" * 16}, "evaluator edited: E (its class, params or threshold)"),
        ("code", {"config": None}, "evaluator edited: E (that run does not show its params)"),
        ("code", {"threshold": None}, "evaluator edited: E (its class, params or threshold)"),
        ("code", {"threshold": "0.9"}, None),
        ("judge", {"config": "d" * 16}, "evaluator edited: E (its class, params or threshold)"),
        ("judge", {"config": None}, None),
    ],
)
def test_an_edited_evaluator_judges_again(kind: str, was: dict[str, Any], text: str | None) -> None:
    """Its parameters decide what it finds. Of a judge, which costs, its fingerprint holds them already."""
    evaluator = a_planned(kind=kind)
    before = replace(planned(a_fingerprint()), evaluators=(replace(evaluator, **was),))
    row = {"evaluator_version": 1, "judge_fingerprint": evaluator.judge_fingerprint, "status": "pass"}

    why = Changes(before, before, ()).of_finding(before.cases[0], evaluator, row)

    assert (why and why.text) == text
    assert why is None or why.kind is Kind.EVALUATOR_EDITED


@pytest.mark.parametrize(
    ("then", "now", "kind"),
    [
        ({"E": "q"}, {"E": "q"}, None),
        ({"E": "q"}, {"E": "p"}, Kind.QUESTION_EDITED),
        ({}, {"E": "p"}, None),
    ],
    ids=["same", "edited", "a plan that does not show it"],
)
def test_another_question_judges_again(then: dict[str, str], now: dict[str, str], kind: Kind | None) -> None:
    """The case hash is the same: an expected output is in none."""
    evaluator = a_planned()
    plan = replace(planned(a_fingerprint()), evaluators=(evaluator,))
    case = plan.cases[0]
    before = replace(plan, cases=(replace(case, questions=then),))
    row = {"evaluator_version": 1, "judge_fingerprint": None, "status": "pass"}

    why = Changes(plan, before, ()).of_finding(replace(case, questions=now), evaluator, row)

    assert (why and why.kind) == kind
