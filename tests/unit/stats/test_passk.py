from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import cases_short_of, pass_at_k, pass_hat_k, pass_hat_ks

cases = st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
suites = st.lists(cases, min_size=1, max_size=8)


def enumerated(counts: list[tuple[int, int]], k: int, holds: object) -> float:
    """Average over every way to draw k of the trials of a case, then over cases."""
    drawn = [combinations([True] * c + [False] * (n - c), k) for c, n in counts]
    return mean(mean(holds(trials) for trials in draws) for draws in drawn)


@given(suites, st.integers(1, 6))
def test_pass_k_equals_the_enumeration_of_all_draws(counts: list[tuple[int, int]], k: int) -> None:
    if cases_short_of(counts, k):
        assert pass_hat_k(counts, k) is None
        assert pass_at_k(counts, k) is None
    else:
        assert pass_hat_k(counts, k) == pytest.approx(enumerated(counts, k, all))
        assert pass_at_k(counts, k) == pytest.approx(enumerated(counts, k, any))


@given(suites)
def test_more_trials_that_must_pass_never_raise_the_figure(counts: list[tuple[int, int]]) -> None:
    row = [value for value in pass_hat_ks(counts, 6).values() if value is not None]
    assert row == sorted(row, reverse=True)


def test_lost_trials_leave_pass_4_undefined_instead_of_lowering_k() -> None:
    """One trial passed and three died of infrastructure: that is no 100% over four trials."""
    assert pass_hat_ks([(1, 1)], 4) == {"1": 1.0, "2": None, "3": None, "4": None}


def test_one_short_case_leaves_the_suite_undefined_and_is_counted() -> None:
    """Averaging over the survivors would drop the case that broke."""
    counts = [(4, 4)] * 9 + [(1, 3)]
    assert pass_hat_k(counts, 4) is None
    assert cases_short_of(counts, 4) == 1


def test_no_case_has_no_figure() -> None:
    assert pass_hat_k([], 1) is None
    assert pass_at_k([], 1) is None


def test_cases_weigh_alike_however_often_they_ran() -> None:
    assert pass_hat_k([(1, 1), (0, 9)], 1) == 0.5


@pytest.mark.parametrize("estimate", [pass_hat_k, pass_at_k, cases_short_of, pass_hat_ks])
def test_k_below_one_is_refused(estimate: object) -> None:
    with pytest.raises(ValueError, match=r"k = 0: .* need at least one trial"):
        estimate([(1, 1)], 0)


def test_more_passes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="case 0 of 1: 3 passed of 2 judged is impossible"):
        pass_hat_k([(3, 2)], 1)
