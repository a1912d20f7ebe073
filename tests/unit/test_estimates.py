"""Guesses from text length: call by call, so that a bill is that of its calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from makers import a_case, a_planned, a_planned_case, a_suite
from nightgate.cases import Persona
from nightgate.estimates import agent_calls, expected_calls, guess_cost, judge_call, user_calls
from nightgate.prices import PriceTable

TABLE = PriceTable.load()
SUCCESS = {"state": {"slot": "thursday"}}


def a_persona(**more: object) -> Persona:
    """A user who has one thing to be asked for."""
    values = {
        "goal": "Move it.",
        "withheld": {"code": {"value": "BK-1", "asked_by": "code"}},
        "success": SUCCESS,
    }
    return Persona.model_validate(values | more)


def test_many_short_calls_are_not_one_long_one() -> None:
    """A suite of a thousand cases once was billed at the rates of a prompt of a million tokens."""
    cases = [a_case(f"c{number}") for number in range(1000)]
    planned = [a_planned_case(case) for case in cases]
    one = guess_cost(a_suite(cases[0], model="openai:gpt-6-luna"), planned[:1], [], TABLE)

    all_of_them = guess_cost(a_suite(*cases, model="openai:gpt-6-luna"), planned, [], TABLE)

    assert all_of_them["agent"] == pytest.approx(1000 * one["agent"])


def test_tools_take_a_second_call_that_reads_what_the_first_found() -> None:
    """It is longer by the result and the call."""
    first, second = agent_calls(a_case(expect={"tools": {"must_call": ["search"]}}))

    assert len(agent_calls(a_case())) == 1
    assert second.input > first.input


def test_the_calls_expected_are_the_calls_billed() -> None:
    """One list of calls for both figures."""
    talk = a_case("talk", persona=a_persona())
    suite = a_suite(talk, a_case("ask"))
    planned = [a_planned_case(case, trials=2, evaluators=("J",)) for case in suite.cases]

    calls = expected_calls(suite, planned, [a_planned("J", kind="judge")])

    assert calls["agent"] == 2 * (len(agent_calls(talk)) + 1)
    assert calls["user"] == 2 * len(user_calls(talk))
    assert calls["judge"] == 4


def test_a_first_message_that_is_given_takes_no_call() -> None:
    """Only what the simulated user makes up is asked of a model."""
    silent = a_case("a", persona=a_persona(), text=None)
    given = a_case("b", persona=a_persona(opening="Hi."))

    assert len(user_calls(silent)) == len(user_calls(given)) + 1
    assert user_calls(a_case()) == ()


def test_unknown_prices_are_unknown_only_where_calls_are_made() -> None:
    """A judge that nobody asks costs nothing, whatever its price."""
    suite = a_suite(a_case(), model="openai:nobody-knows", judge="openai:nobody-knows")

    cost = guess_cost(suite, [a_planned_case(suite.cases[0])], [], TABLE)

    assert (cost["agent"], cost["judge"], cost["user"], cost["total"]) == (None, 0.0, 0.0, None)


def test_the_batch_price_stands_beside_the_list_price() -> None:
    """By role; in the total a role without a queue counts at list price."""
    suite = a_suite(a_case(), model="scripted:agent", judge="openai:gpt-6-luna")
    planned = [a_planned_case(suite.cases[0], evaluators=("J",))]
    judge = replace(a_planned("J", kind="judge"), judge_model="openai:gpt-6-luna")

    cost = guess_cost(suite, planned, [judge], TABLE)

    batch = cost["batch"]
    assert cost["judge"] > 0
    assert (batch["agent"], batch["judge"]) == (None, pytest.approx(cost["judge"] / 2))
    assert batch["total"] == pytest.approx(cost["agent"] + batch["judge"])


def test_what_is_known_of_an_unknown_cost_is_a_lower_bound() -> None:
    """Null beside it."""
    suite = a_suite(a_case(), model="openai:gpt-6-luna", judge="openai:nobody-knows")
    planned = [a_planned_case(suite.cases[0], evaluators=("J",))]
    judge = replace(a_planned("J", kind="judge"), judge_model="openai:nobody-knows")

    cost = guess_cost(suite, planned, [judge], TABLE)

    assert (cost["judge"], cost["total"], cost["batch"]["total"]) == (None, None, None)
    assert cost["at_least"] == cost["agent"] > 0


def test_a_longer_question_is_a_longer_prompt() -> None:
    """For agent and judge alike."""
    assert judge_call(a_case(text="x" * 400)).input == judge_call(a_case(text="x")).input + 100
