"""Counting: every planned trial and cell is in exactly one heap, and the document adds up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned, a_planned_case, a_price
from nightgate.calls import Role
from nightgate.histories import History, Task, expect
from nightgate.plans import Plan
from nightgate.prices import Price, scaled
from nightgate.steps.forecasting import Before, Forecast, compare, money_warnings
from nightgate.trials import Usage

PRICE = a_price(input="1", output="1")


def planned(*names: str, trials: int = 2, **more: Any) -> Plan:
    """A plan with a code evaluator and a judge on every case."""
    cases = [a_planned_case(a_case(name), trials=trials, evaluators=("E", "J")) for name in names]
    return replace(a_plan(*cases), evaluators=(a_planned(), a_planned("J", kind="judge")), **more)


def stored(plan: Plan, **changed: Any) -> Before:
    """A run of that plan in which everything passed; ``changed`` is of all rows."""
    trials = [
        {"case_id": case.case_id, "trial": number, "case_hash": case.case_hash, "ending": "completed"}
        | {"agent_fingerprint": case.agent_fingerprint}
        | changed
        for case, number in plan.trials()
    ]
    scores = [
        {"case_id": case.case_id, "trial": number, "evaluator": name, "status": "pass"}
        | {"evaluator_version": 1, "judge_fingerprint": plan.evaluator(name).judge_fingerprint}
        | changed
        for case, number, name in plan.cells()
    ]
    return Before.of_rows(plan, trials, scores)


def forecast(plan: Plan, before: Before | None, prices: dict[Role, Price | None]) -> dict[str, Any]:
    """The document, with guesses of 1,000 tokens a call."""
    needed, history = compare(plan, before, ()), History()
    bill = expect(needed.work, history, lambda _: [Usage(input=1000)], prices)
    found = Forecast(plan=plan, against=None, needed=needed, bill=bill, history=history)
    return found.as_dict()


def test_without_a_stored_run_every_trial_is_played_and_judged() -> None:
    """Only judges call a model to judge."""
    needed = compare(planned("a", "b"), None, talks := {"b"})

    assert needed.trials == {"planned": 4, "reused": 0, "run": 4}
    assert needed.cells == {"planned": 8, "reused": 0, "rejudged": 0, "judged": 8}
    assert needed.work == Counter(
        {Task(Role.AGENT, name): 2 for name in "ab"}
        | {Task(Role.JUDGE, name, "J"): 2 for name in "ab"}
        | {Task(Role.USER, name): 2 for name in talks}
    )


def test_the_same_again_is_nothing_to_do() -> None:
    """No work, no reason."""
    plan = planned("a", "b")

    needed = compare(plan, stored(plan), ())

    assert needed.trials == {"planned": 4, "reused": 4, "run": 0}
    assert (needed.reasons, needed.work) == ((), Counter())


def test_cells_of_a_trial_that_runs_have_no_reason_of_their_own() -> None:
    """They are judged because there is a new trial."""
    plan = planned("a")

    needed = compare(plan, stored(plan, case_hash="other", evaluator_version=7), ())

    assert needed.cells == {"planned": 4, "reused": 0, "rejudged": 0, "judged": 4}
    assert {group.of for group in needed.reasons} == {"trials"}


def test_five_cases_are_named_and_all_are_counted() -> None:
    """The rest is a number."""
    (reason,) = forecast(planned(*"abcdefg"), None, {})["reasons"]

    assert (reason["count"], reason["case_count"], reason["cases"]) == (14, 7, list("abcde"))


@given(st.data())
def test_every_trial_and_cell_is_in_exactly_one_heap(data: st.DataObject) -> None:
    """Whatever is stored and whatever is planned."""
    before = planned(
        *data.draw(st.sets(st.sampled_from("abcd"), min_size=1)), trials=data.draw(st.integers(1, 3))
    )
    now = planned(
        *data.draw(st.sets(st.sampled_from("abcd"), min_size=1)), trials=data.draw(st.integers(1, 3))
    )
    run = stored(before)
    lost = data.draw(st.sets(st.sampled_from(sorted(run.findings)), max_size=4))
    broken = data.draw(st.sets(st.sampled_from(sorted(run.trials)), max_size=2))
    run = Before(
        plan=before,
        trials={
            key: {**row, "ending": "infra_error" if key in broken else "completed"}
            for key, row in run.trials.items()
        },
        findings={key: row for key, row in run.findings.items() if key not in lost},
    )

    needed = compare(now, run, ())

    trials, cells = needed.trials, needed.cells
    assert trials["planned"] == trials["reused"] + trials["run"] == now.trial_count
    assert cells["planned"] == cells["reused"] + cells["rejudged"] + cells["judged"] == now.cell_count
    assert trials["run"] == sum(n for task, n in needed.work.items() if task.role is Role.AGENT)
    assert trials["run"] == sum(group.count for group in needed.reasons if group.of == "trials")
    assert cells["rejudged"] == sum(group.count for group in needed.reasons if group.of == "cells")


def test_money_is_told_by_role_at_list_and_at_batch_price() -> None:
    """A role without a queue counts at list price in the batch total."""
    half = replace(PRICE, batch=scaled(PRICE, Decimal("0.5")))

    cost = forecast(planned("a"), None, {Role.AGENT: PRICE, Role.JUDGE: half})["cost_usd"]

    assert (cost["agent"]["list"], cost["agent"]["batch"]) == (0.002, None)
    assert (cost["judge"]["list"], cost["judge"]["batch"], cost["judge"]["batch_factor"]) == (
        0.002,
        0.001,
        0.5,
    )
    assert (cost["total"]["list"], cost["total"]["batch"]) == (0.004, 0.003)
    assert cost["user"]["list"] == 0.0


def test_an_unknown_price_leaves_a_lower_bound() -> None:
    """Of the total, and none of the role."""
    cost = forecast(planned("a"), None, {Role.AGENT: None, Role.JUDGE: PRICE})["cost_usd"]

    assert (cost["agent"]["list"], cost["agent"]["at_least"]) == (None, 0.0)
    assert (cost["total"]["list"], cost["total"]["at_least"], cost["total"]["batch"]) == (None, 0.002, None)


@pytest.mark.parametrize(
    ("cap", "agent", "refusing", "says"),
    [
        (None, None, True, []),
        (10_000_000, PRICE, True, []),
        (1_000_000, PRICE, True, ["would stop the run"]),
        (10_000_000, None, True, ["would refuse the agent model"]),
        (10_000_000, None, False, []),
    ],
)
def test_what_the_cap_will_do_is_foretold(
    cap: int | None, agent: Price | None, refusing: bool, says: list[str]
) -> None:
    """Before anybody waits for a run that ends half-way."""
    plan = planned("a", budget_nanousd=cap)
    prices = {Role.AGENT: agent, Role.JUDGE: PRICE}
    bill = expect(compare(plan, None, ()).work, History(), lambda _: [Usage(input=1000)], prices)

    found = money_warnings(plan, bill, refusing=refusing)

    assert len(found) == len(says)
    assert all(word in text for word, text in zip(says, found, strict=True))
