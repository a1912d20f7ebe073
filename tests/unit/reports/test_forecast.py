"""The text of a plan: one look says how much, why and for how many dollars."""

from __future__ import annotations

from typing import Any

from nightgate.reports.forecast import render

TOKENS = {"input": 3000, "output": 300, "cache_read": 100, "cache_write": 0}
NOTHING = {"calls": 0.0, "tokens": {}, "list": 0.0, "at_least": 0.0, "batch": None}


def a_document(**more: Any) -> dict[str, Any]:
    """A plan with one changed case, judged by a model with a batch queue."""
    agent = {"calls": 4.0, "tokens": TOKENS, "list": 0.25, "at_least": 0.25, "batch": None}
    judge = {"calls": 2.0, "tokens": TOKENS, "list": 0.000012, "at_least": 0.000012, "batch": 0.000006}
    line = {
        "tasks": 2,
        "guessed": 0,
        "observed": 9,
        "runs": [{"run_id": "r1", "model": "x:m"}],
        "calls_each": 1.0,
    }
    line |= {"tokens_a_call": TOKENS}
    reason = {
        "of": "trials",
        "kind": "case_edited",
        "text": "case edited",
        "count": 2,
        "cases": ["a"],
        "case_count": 1,
    }
    return {
        "suite": "support",
        "against": "r1",
        "model": "x:m",
        "judge": "x:j",
        "user": None,
        "price_table": "2026",
        "trials": {"planned": 5, "reused": 3, "run": 2},
        "cells": {"planned": 10, "reused": 5, "rejudged": 1, "judged": 4},
        "reasons": [reason],
        "cost_usd": {
            "agent": agent,
            "judge": judge,
            "user": NOTHING,
            "total": {"calls": 6.0, "list": 0.250012, "at_least": 0.250012, "batch": 0.250006},
        },
        "assumptions": [
            {"role": "agent", "evaluator": None} | line,
            {"role": "judge", "evaluator": "J"} | line | {"guessed": 2, "runs": []},
        ],
        "warnings": [],
    } | more


def test_counts_come_first() -> None:
    """What is asked most."""
    lines = render(a_document()).splitlines()

    assert lines[0] == "support: 5 trials, 10 cells (x:m, judge x:j)"
    assert lines[2:4] == ["  trials  3 reused, 2 to run", "  cells   5 reused, 1 judged again, 4 judged anew"]


def test_a_small_amount_is_not_nothing() -> None:
    """Four decimals would print it as $0.0000."""
    text = render(a_document())

    assert "$0.000012" in text
    assert "$0.2500" in text


def test_an_unknown_cost_is_shown_with_its_lower_bound() -> None:
    """Never as nothing."""
    document = a_document()
    document["cost_usd"]["total"] |= {"list": None, "batch": None}

    assert "unknown, >= $0.2500" in render(document)


def test_every_figure_says_what_it_rests_on() -> None:
    """A measurement by its run, a guess as a guess."""
    text = render(a_document())

    assert "agent: 2 trials of 1 call, each 3,100 tokens in and 300 out; as 9 trials of r1" in text
    assert (
        "judge J: 2 judgements of 1 call, each 3,100 tokens in and 300 out; guessed from the length" in text
    )


def test_history_of_another_model_says_so() -> None:
    """Its tokens are a stand-in."""
    assert "of r1 with x:m" in render(a_document(model="x:other"))


def test_more_cases_than_are_named_are_counted() -> None:
    """Names of hostile cases move no cursor."""
    reason = {"of": "cells", "kind": "judge_changed", "text": "judge changed", "count": 9}
    reasons = [reason | {"cases": ["a\x1b[2J"], "case_count": 4}]

    text = render(a_document(reasons=reasons))

    assert " 9  judge changed: a and 3 more\n" in text
    assert "\x1b" not in text


def test_with_nothing_to_do_nothing_is_billed() -> None:
    """And no table is drawn."""
    cost = dict.fromkeys(("agent", "judge", "user", "total"), NOTHING)

    assert "cost    nothing: no call would be made" in render(
        a_document(cost_usd=cost, assumptions=[], reasons=[])
    )
