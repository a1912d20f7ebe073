from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import clustered_se, clustered_variance, independent_se, rerun_se, variance_parts

cases = st.integers(0, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
suites = st.lists(cases, max_size=30)


def test_equal_outcomes_have_a_variance_of_exactly_zero() -> None:
    """A float sum leaves 1e-34 here, and dividing by it makes seven cases look like millions."""
    assert clustered_variance([(1, 3)] * 7) == 0


def test_uneven_cases_weigh_by_their_rows() -> None:
    """The pooled rate is a ratio of sums: residuals are c - p*n, not case means."""
    counts = [(4, 4), (0, 1), (1, 2)]
    rate = 5 / 7
    by_hand = sqrt(3 / 2 * sum((c - rate * n) ** 2 for c, n in counts)) / 7
    assert clustered_se(counts) == pytest.approx(by_hand)


@pytest.mark.parametrize("counts", [[], [(2, 3)], [(0, 0), (2, 3)]])
def test_one_case_has_no_clustered_error(counts: list[tuple[int, int]]) -> None:
    assert clustered_se(counts) is None
    assert variance_parts(counts) is None


def test_one_row_has_no_error_at_all() -> None:
    assert independent_se([(1, 1)]) is None
    assert rerun_se([(1, 1)]) is None


def test_single_trials_show_no_noise_within_cases() -> None:
    """0 would claim that a rerun gives the same figure."""
    singles = [(1, 1)] * 5 + [(0, 1)] * 2
    assert rerun_se(singles) is None
    assert variance_parts(singles) is None


def test_rerun_of_cases_that_never_waver_has_no_error() -> None:
    assert rerun_se([(3, 3), (0, 3), (3, 3)]) == 0


def test_case_judged_once_counts_as_noisy_as_the_others() -> None:
    """Its own noise cannot be seen; leaving it out altogether would make the suite look steadier."""
    pair = [(1, 2)] * 4
    with_single = rerun_se([*pair, (1, 1)])
    assert with_single == pytest.approx(sqrt(0.5 / 9))


def test_cases_that_differ_less_than_chance_have_no_variance_between_them() -> None:
    """The moment estimate is negative here, and a negative share means nothing."""
    parts = variance_parts([(1, 2)] * 6)
    assert (parts.between, parts.within, parts.icc) == (0, 0.5, 0)


def test_share_between_cases_is_undefined_when_nothing_varies() -> None:
    assert variance_parts([(3, 3)] * 6).icc is None


@given(suites)
def test_single_trials_have_the_error_of_independent_rows(counts: list[tuple[int, int]]) -> None:
    singles = [(min(c, 1), 1) for c, _ in counts]
    clustered, independent = clustered_se(singles), independent_se(singles)
    assert clustered == (independent if independent is None else pytest.approx(independent))


@given(suites)
def test_errors_do_not_change_when_passes_and_failures_swap(counts: list[tuple[int, int]]) -> None:
    swapped = [(n - c, n) for c, n in counts]
    for error in (clustered_se, independent_se, rerun_se):
        assert error(swapped) == error(counts)


@given(suites)
def test_share_between_cases_lies_in_zero_to_one(counts: list[tuple[int, int]]) -> None:
    parts = variance_parts(counts)
    assert parts is None or parts.icc is None or 0 <= parts.icc <= 1
