"""Counting: planned is the denominator, and what came back never changes it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned_case
from nightgate.plans import Plan
from nightgate.summaries import tally


def a_grid(trials: int = 3, cases: int = 2) -> Plan:
    """Cases c0, c1... with one evaluator E."""
    return a_plan(*(a_planned_case(a_case(f"c{i}"), trials=trials) for i in range(cases)))


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


@given(scores=st.lists(st.none() | st.floats(0, 1), max_size=6))
def test_no_figure_is_ever_nan(scores: list[float | None]) -> None:
    """One NaN once turned a whole run's mean into NaN."""
    rows = [("c0", "E", "pass", None, score) for score in scores]

    found = tally(a_grid(trials=6, cases=1), rows).of("E").mean_score

    assert found is None or math.isfinite(found)
    json.dumps(found, allow_nan=False)
