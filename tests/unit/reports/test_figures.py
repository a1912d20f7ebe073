"""Coverage, money and the next command in words."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from nightgate.reports.figures import conversations, coverage, money, next_command, percent
from rundocs import a_summary, an_evaluator


def a_hole(status: str, count: int, reason: str, blame: str | None = None) -> dict[str, Any]:
    """Cells that were not judged for one reason."""
    return {"status": status, "blame": blame, "count": count, "reason": reason, "cases": ["late"]}


def test_coverage_says_how_many_and_why_not_the_others() -> None:
    """Each status with its reasons; what is to blame where something broke."""
    holes = [
        a_hole("not_applicable", 3, "no skill invoked"),
        a_hole("error", 2, "no JSON", "judge"),
        a_hole("error", 1, "throttled", "infra"),
        a_hole("skipped", 1, "the run was stopped", "budget"),
    ]
    entry = an_evaluator(planned=12, judged=5, not_applicable=3, error=3, skipped=1, holes=holes)
    assert coverage(entry) == (
        "judged 5 of 12: 3 not applicable (no skill invoked), "
        "3 errors (judge: no JSON x2; infra: throttled), 1 skipped (budget: the run was stopped)"
    )


def test_coverage_of_everything_is_short() -> None:
    """Nothing has to be explained."""
    assert coverage(an_evaluator()) == "judged 9 of 9"


def test_a_metric_is_measured_not_judged() -> None:
    """Both figures are shown: it has no verdicts."""
    assert coverage(an_evaluator(judged=0, measured=9)) == "judged 0 of 9, measured 9"


def test_required_findings_that_did_not_apply_are_said_to_be_failures() -> None:
    """Otherwise the rate beside it would not add up."""
    entry = an_evaluator(judged=8, not_applicable=1, required_not_applicable=1)
    entry["holes"] = [a_hole("not_applicable", 1, "no skill invoked")]
    assert coverage(entry) == (
        "judged 8 of 9: 1 not applicable (no skill invoked; 1 of them required, so counted as failed)"
    )


def test_many_reasons_are_counted() -> None:
    """A line is a line."""
    holes = [a_hole("error", 1, f"reason {n}", "judge") for n in range(5)]
    entry = an_evaluator(judged=4, error=5, holes=holes)
    assert coverage(entry).endswith("judge: reason 2; 2 more reasons)")


def test_reasons_are_quoted_as_the_place_asks() -> None:
    """They may be an agent's or a judge's words."""
    entry = an_evaluator(judged=8, error=1, holes=[a_hole("error", 1, "said\n\x1b[31mred", "judge")])
    assert "(judge: <said red>)" in coverage(entry, lambda text: f"<{text}>")


@pytest.mark.parametrize(
    ("share", "shown"), [(1.0, "100%"), (0.9999, "99.99%"), (0.5, "50%"), (0.001, "0.10%")]
)
def test_nearly_all_is_not_all(share: float, shown: str) -> None:
    """Nor is hardly anything nothing."""
    assert percent(share) == shown


def test_an_unknown_price_is_said() -> None:
    """With what is known as a lower bound."""
    cost = {
        "agent": None,
        "judge": 0.25,
        "user": 0.0,
        "total": None,
        "unpriced_calls": 2,
        "at_least": {"agent": 0.5, "judge": 0.25, "user": 0.0, "total": 0.75},
    }
    summary = a_summary(cost_usd=cost, calls={"total": 9, "retries": 1, "late": 0})
    assert money(summary) == (
        "agent unknown (at least $0.5000), judge $0.2500, total unknown (at least $0.7500) "
        "(9 calls, 1 retried, 2 of unknown cost)"
    )


@pytest.mark.parametrize(
    ("judge", "listed", "queued", "said"),
    [
        (0.2, 0.2, 0.1, "judge $0.2000 (by batch $0.1000)"),
        (0.1, 0.2, 0.1, "judge $0.1000 (list $0.2000)"),
        (0.15, 0.2, 0.1, "judge $0.1500 (list $0.2000, by batch $0.1000)"),
        (0.2, 0.2, None, "judge $0.2000 (no batch price)"),
        (0.0, 0.0, None, "judge $0.0000, total"),
    ],
)
def test_what_the_judges_cost_the_other_way_is_said(
    judge: float, listed: float, queued: float | None, said: str
) -> None:
    """Live ones by batch, batched ones at list price; that there is no queue, too."""
    known = {"agent": 0.0, "judge": judge, "judge_list": listed, "judge_batch": queued, "user": 0.0}
    cost = {**known, "total": judge, "unpriced_calls": 0, "at_least": {**known, "total": judge}}
    assert said in money(a_summary(cost_usd=cost, calls={"total": 2, "retries": 0, "late": 0}))


def test_a_case_and_a_verdict_are_priced_with_as_many_digits_as_they_need() -> None:
    """Nothing is said of what is unknown, or free."""
    each = {"case": 1.5, "trial": 0.5, "verdict": 0.0000312}
    assert money(a_summary(cost_per=each)).endswith("; $1.5000 a case, $0.000031 a verdict")
    assert " a case" not in money(a_summary(cost_per=dict.fromkeys(each)))


@pytest.mark.parametrize(
    ("more", "command"),
    [
        ({}, "nightgate runs support"),
        (
            {"exit_code": 1, "evaluators": [an_evaluator(failed_cases=["it's late"])]},
            "nightgate run 'my cases' --case 'it'\"'\"'s late' --trials 3 --model scripted:agent",
        ),
        ({"exit_code": 3}, "nightgate run 'my cases' --reuse support-1 --model scripted:agent"),
        (
            {"exit_code": 3, "verdict": "inconclusive", "cells": {"error": 2}},
            "nightgate run 'my cases' --rerun support-1 --only errors",
        ),
        (
            {
                "exit_code": 1,
                "evaluators": [an_evaluator(failed_cases=["old"])],
                "changes": {"newly_broken": [{"case": "new"}]},
                "live": True,
                "budget_usd": 1.5,
            },
            "nightgate run 'my cases' --case new --trials 3 --live --budget-usd 1.5",
        ),
        ({"complete": False, "exit_code": 130}, "nightgate run 'my cases' --resume support-1"),
        (
            {"complete": False, "exit_code": 4, "stopped": "budget", "budget_usd": 1.0},
            "nightgate run 'my cases' --resume support-1 --budget-usd 2",
        ),
    ],
)
def test_the_next_command_is_ready_for_a_shell(more: dict[str, Any], command: str) -> None:
    """Names with blanks and quotes included; the store where it is not the default one."""
    summary = a_summary(**more)
    assert next_command(summary, suite="my cases") == command
    words = shlex.split(next_command(summary, suite="my cases", store="a b"))
    assert words == [*shlex.split(command), "--store", "a b"]


def test_turns_are_printed_beside_the_number_of_successes_that_they_are_a_mean_of() -> None:
    """An average alone would hide the conversations that never got there."""
    summary = {
        "endings": {"goal_met": 2, "user_abandoned": 1, "stalled": 0},
        "conversations": {
            "goal_planned": 3,
            "goal_met": 2,
            "mean_turns": 4.5,
            "mean_efficiency": 0.75,
            "elicitation": 0.5,
            "perceived_only": None,
            "re_asks": 1,
            "re_asked": [{"case": "a", "turn": 3, "fact": "dni"}],
            "quality_by_turn": {"1": 1.0, "2": 0.5},
            "simulator": {
                "leaks": 1,
                "repeats": 0,
                "cuts": 0,
                "faults": 0,
                "regenerations": 2,
                "calls": 9,
            },
        },
    }

    assert list(conversations(summary)) == [
        "conversations: 2 of 3 met their goal, 4.5 user turns each (2 goal met, 1 user abandoned)",
        "  turn efficiency of successes 75%, withheld facts asked for 50%, re-asks 1 (dni in turn 3 of a)",
        "quality by turn: 1: 1.00, 2: 0.50",
        "simulated user: 1 leaks, 2 regenerations, 9 calls",
    ]
