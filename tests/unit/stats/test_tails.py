"""The one-sided binomial tail."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from nightgate.stats.tails import binomial_tail, fewest_events, within

counts = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
rates = st.floats(0.001, 0.999)


@given(counts, rates)
def test_the_tail_is_scipys(count: tuple[int, int], rate: float) -> None:
    """An oracle that nobody here wrote."""
    events, trials = count
    if trials == 0:
        assert binomial_tail(events, trials, rate) == 1.0
        return
    expected = binomtest(events, trials, rate, alternative="greater").pvalue
    assert math.isclose(binomial_tail(events, trials, rate), expected, rel_tol=1e-7, abs_tol=1e-12)


@given(counts, rates)
def test_more_events_are_never_less_surprising(count: tuple[int, int], rate: float) -> None:
    """Otherwise one more flip could silence an alarm."""
    events, trials = count
    here = binomial_tail(events, trials, rate)

    assert 0 <= here <= 1
    if events < trials:
        assert binomial_tail(events + 1, trials, rate) <= here + 1e-12


@given(st.integers(0, 300), rates)
def test_the_fewest_events_are_the_first_within_the_bar(trials: int, rate: float) -> None:
    """One fewer is not within it."""
    fewest = fewest_events(trials, rate, 0.01)

    assert fewest >= 1
    if fewest <= trials:
        assert within(binomial_tail(fewest, trials, rate), 0.01)
    assert fewest == 1 or not within(binomial_tail(fewest - 1, trials, rate), 0.01)


def test_five_of_a_hundred_are_the_fewest_against_one_in_a_hundred() -> None:
    """The check value of the method."""
    assert fewest_events(100, 0.01, 0.01) == 5


@pytest.mark.parametrize(("events", "trials", "rate"), [(3, 2, 0.1), (-1, 2, 0.1), (1, 2, 0.0), (1, 2, 1.0)])
def test_what_cannot_be_is_refused(events: int, trials: int, rate: float) -> None:
    """A p-value of nonsense is worse than none."""
    with pytest.raises(ValueError, match="want"):
        binomial_tail(events, trials, rate)
