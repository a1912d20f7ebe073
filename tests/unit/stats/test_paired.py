from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from nightgate.stats import case_differences, holm, mcnemar_p, paired_t, sign_flip_p

differences = st.lists(st.fractions(-1, 1, max_denominator=12), max_size=10)
p_values = st.lists(st.none() | st.floats(0, 1), max_size=12)


def test_no_case_that_changed_sides_gives_a_p_value_of_one() -> None:
    """The chi-square form of the test answers 0.0 here: certainty of a change nobody saw."""
    assert mcnemar_p(0, 0) == 1.0


def test_six_cases_lost_and_none_gained_is_hardly_chance() -> None:
    assert mcnemar_p(6, 0) == 0.03125


def test_negative_number_of_changed_cases_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar_p(-1, 2)


def test_case_judged_in_one_run_only_has_no_difference() -> None:
    before, after = [(3, 3), (0, 0), (1, 3)], [(2, 3), (3, 3), (0, 0)]
    assert case_differences(before, after) == [Fraction(-1, 3)]


def test_runs_over_different_numbers_of_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        case_differences([(1, 1)], [(1, 1), (0, 1)])


@given(differences)
def test_sign_flip_equals_the_enumeration_of_all_signs(changes: list[Fraction]) -> None:
    observed = abs(sum(changes, Fraction(0)))
    flips = [
        abs(sum((sign * change for sign, change in zip(signs, changes, strict=True)), Fraction(0)))
        for signs in product((1, -1), repeat=len(changes))
    ]
    assert sign_flip_p(changes) == sum(flip >= observed for flip in flips) / len(flips)


@given(st.integers(0, 15), st.integers(0, 15))
def test_sign_flip_of_single_trials_is_mcnemar(broken: int, fixed: int) -> None:
    changes = [Fraction(-1)] * broken + [Fraction(1)] * fixed
    assert sign_flip_p(changes) == pytest.approx(mcnemar_p(broken, fixed), rel=1e-12)


def test_thirty_different_changes_are_still_counted_exactly() -> None:
    """2^30 assignments one by one would take minutes; only two of them are this extreme."""
    changes = [Fraction(i, 100) for i in range(1, 31)]
    assert sign_flip_p(changes) == 2 / 2**30


def test_more_changed_cases_than_can_be_counted_are_sent_to_the_t_interval() -> None:
    with pytest.raises(ValueError, match="31 cases changed; beyond 30 use the paired t interval"):
        sign_flip_p([Fraction(1, 3)] * 31)


def test_unchanged_cases_do_not_fill_the_limit() -> None:
    assert sign_flip_p([Fraction(0)] * 500 + [Fraction(1, 3)] * 3) == 0.25


@pytest.mark.parametrize("changes", [[], [Fraction(1, 3)], [Fraction(1, 3)] * 9, [Fraction(0)] * 9])
def test_change_without_spread_has_no_t_interval(changes: list[Fraction]) -> None:
    """A constant difference divides by a spread of 0, and p comes out as 0."""
    assert paired_t(changes) is None


def test_t_interval_never_promises_a_change_beyond_one() -> None:
    found = paired_t([Fraction(1), Fraction(0)])
    assert (found.change, found.low, found.high) == (0.5, -1.0, 1.0)


@given(differences, st.floats(0.5, 0.999))
def test_t_interval_equals_that_of_scipy(changes: list[Fraction], conf: float) -> None:
    found = paired_t(changes, conf)
    assert (found is None) == (len(set(changes)) < 2)
    if found:
        oracle = ttest_1samp([float(change) for change in changes], 0)
        low, high = oracle.confidence_interval(conf)
        assert found.p_value == pytest.approx(oracle.pvalue, rel=1e-9)
        assert (found.low, found.high) == pytest.approx((max(-1, low), min(1, high)), abs=1e-9)


def test_confidence_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(ValueError, match="is no confidence"):
        paired_t([Fraction(1), Fraction(0)], conf=95)


@given(p_values)
def test_holm_keeps_nulls_in_place_and_does_not_count_them(values: list[float | None]) -> None:
    adjusted = holm(values)
    assert [p is None for p in adjusted] == [p is None for p in values]
    assert [p for p in adjusted if p is not None] == holm([p for p in values if p is not None])


@given(p_values)
def test_holm_never_lowers_a_value_and_never_changes_their_order(values: list[float | None]) -> None:
    pairs = sorted((p, q) for p, q in zip(values, holm(values), strict=True) if p is not None)
    assert all(p <= q <= 1 for p, q in pairs)
    assert [q for _, q in pairs] == sorted(q for _, q in pairs)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_holm_refuses_what_is_no_p_value(wrong: float) -> None:
    """NaN compares with nothing and would leave the order to chance."""
    with pytest.raises(ValueError, match="or None for no test"):
        holm([0.5, wrong, 0.01])
