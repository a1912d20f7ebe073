"""Counting: planned is the denominator, and what came back never changes it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned_case
from nightgate import summaries
from nightgate.calls import Role
from nightgate.plans import Plan
from nightgate.scores import Status
from nightgate.summaries import Ledger, tally
from nightgate.trials import Ending, Usage


def a_grid(trials: int = 3, cases: int = 2) -> Plan:
    """Cases c0, c1... with one evaluator E."""
    return a_plan(*(a_planned_case(a_case(f"c{i}"), trials=trials) for i in range(cases)))


@given(statuses=st.lists(st.sampled_from(list(Status)), max_size=6))
def test_cells_add_up_to_what_was_planned(statuses: list[Status]) -> None:
    """Rows that never came are skipped cells, not smaller denominators."""
    plan = a_grid(trials=6, cases=1)

    counts = summaries.cell_counts(
        tally(plan, [("c0", "E", status.value, None, None) for status in statuses])
    )

    assert counts.pop("planned") == 6
    assert sum(counts.values()) == 6


def test_a_row_that_was_never_planned_is_refused() -> None:
    """A grid that grows by itself has no denominator."""
    with pytest.raises(ValueError, match="never planned"):
        tally(a_grid(), [("c9", "E", "pass", None, None)])


def test_more_rows_than_trials_are_refused() -> None:
    """Late answers must not be counted a second time."""
    with pytest.raises(ValueError, match="more rows than trials"):
        tally(a_grid(trials=1), [("c0", "E", "pass", None, None)] * 2)


def test_mean_score_is_over_the_scores_that_exist() -> None:
    """Three of four scored: the mean of three, never NaN."""
    rows = [
        ("c0", "E", "pass", None, 0.9),
        ("c0", "E", "pass", None, 0.8),
        ("c0", "E", "error", "judge", None),
    ]

    found = tally(a_grid(trials=4, cases=1), [*rows, ("c0", "E", "pass", None, 0.85)]).of("E")

    assert found.mean_score == pytest.approx(0.85)
    assert (found.judged, found.error, found.planned) == (3, 1, 4)


def test_flaky_is_both_outcomes_under_one_evaluator() -> None:
    """A fact of this run, no label."""
    rows = [("c0", "E", "pass", None, None)] * 2 + [("c0", "E", "fail", None, None)]
    rows += [("c1", "E", "fail", None, None)] * 3

    assert summaries.flaky(tally(a_grid(), rows)) == [
        {"case": "c0", "evaluator": "E", "passed": 2, "judged": 3}
    ]


def test_a_family_shows_the_language_that_fails() -> None:
    """The same intent passes in English and fails in Spanish."""
    plan = a_plan(
        *(
            replace(a_planned_case(a_case(f"c-{code}")), family="refund", language=code)
            for code in ("en", "es")
        )
    )
    rows = [("c-en", "E", "pass", None, None), ("c-es", "E", "fail", None, None)]

    assert summaries.families(tally(plan, rows)) == {"refund": {"en": "pass", "es": "fail"}}


def test_an_unmeasured_language_is_no_pass() -> None:
    """Nor a fail."""
    plan = a_plan(replace(a_planned_case(a_case("c")), family="refund", language="en"))

    assert summaries.families(tally(plan, [("c", "E", "error", "infra", None)])) == {
        "refund": {"en": "inconclusive"}
    }


def test_all_endings_are_listed_and_missing_trials_were_not_run() -> None:
    """Also when 0."""
    counts = summaries.trial_counts(a_grid(), {Ending.COMPLETED: 4})

    assert set(counts) == {"planned", *(ending.value for ending in Ending)}
    assert (counts["planned"], counts["completed"], counts["not_run"]) == (6, 4, 2)


def test_an_unknown_cost_makes_the_total_unknown_with_a_lower_bound() -> None:
    """Unknown is not free."""
    ledger = Ledger()
    ledger.add(Role.AGENT, 2_000_000_000, Usage(input=10), attempt=1, late=False)
    ledger.add(Role.JUDGE, None, Usage(input=5), attempt=2, late=False)

    cost = ledger.cost_usd()

    assert (cost["agent"], cost["judge"], cost["user"], cost["total"]) == (2.0, None, 0.0, None)
    assert (cost["unpriced_calls"], cost["at_least"]["total"]) == (1, 2.0)
    assert (ledger.calls, ledger.retries) == (2, 1)


def test_tokens_keep_their_four_kinds_apart() -> None:
    """Cached tokens are neither dropped nor counted twice."""
    ledger = Ledger()
    ledger.add(Role.AGENT, 0, Usage(input=5, cache_read=5, output=20), attempt=1, late=False)
    ledger.add(Role.AGENT, 0, Usage(input=10, cache_read=5, output=20), attempt=1, late=False)

    assert ledger.tokens()["agent"] == {"input": 15, "output": 40, "cache_read": 10, "cache_write": 0}


@given(scores=st.lists(st.none() | st.floats(0, 1), max_size=6))
def test_no_figure_is_ever_nan(scores: list[float | None]) -> None:
    """One NaN once turned a whole run's mean into NaN."""
    rows = [("c0", "E", "pass", None, score) for score in scores]

    found = tally(a_grid(trials=6, cases=1), rows).of("E").mean_score

    assert found is None or math.isfinite(found)
    json.dumps(found, allow_nan=False)
