import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import clopper_pearson, clustered_interval, jeffreys, wilson

PLAIN = [wilson, clopper_pearson, jeffreys]
rows = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cases = st.integers(0, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
suites = st.lists(cases, max_size=30)
confidences = st.floats(0.01, 0.9999)
ROUNDING = 1e-12


def test_suite_in_which_all_passed_still_has_a_wide_interval() -> None:
    """21 of 21 over 7 cases are 7 cases, not 21 witnesses; Wald would print [1, 1]."""
    low, high = clustered_interval([(3, 3)] * 7)
    assert (round(low, 2), high) == (0.54, 1.0)


def test_suite_in_which_all_failed_mirrors_it() -> None:
    low, high = clustered_interval([(0, 3)] * 7)
    assert (low, round(high, 2)) == (0.0, 0.46)


def test_single_trials_are_their_own_cases() -> None:
    interval = clustered_interval([(1, 1)] * 5 + [(0, 1)] * 2)
    assert [round(end, 3) for end in interval] == [0.271, 0.944]


def test_cases_without_a_judged_trial_do_not_count() -> None:
    judged = [(1, 1)] * 5 + [(0, 1)] * 2
    assert clustered_interval([*judged, (0, 0), (0, 0)]) == clustered_interval(judged)


@pytest.mark.parametrize("counts", [[], [(0, 0)], [(1, 1)], [(2, 3)], [(30, 30)], [(2, 3), (0, 0)]])
def test_fewer_than_two_judged_cases_have_no_interval(counts: list[tuple[int, int]]) -> None:
    """None, not 0: one case says nothing about the next one."""
    assert clustered_interval(counts) is None


def test_spread_that_happens_to_be_zero_counts_each_case_once() -> None:
    """Seven cases that each passed 1 of 2 agree by luck, not because the rate is known."""
    low, high = clustered_interval([(1, 2)] * 7)
    assert low < 0.17
    assert high > 0.83


def test_rows_of_like_cases_never_count_for_more_than_their_number() -> None:
    """Cases more alike than chance would allow push p(1-p)/v beyond the rows there are."""
    like = [(1, 2)] * 9 + [(2, 2)]
    low, high = clustered_interval(like)
    plain_low, plain_high = wilson(11, 20)
    assert low < plain_low
    assert high > plain_high


@given(suites, confidences)
def test_clustered_interval_lies_in_zero_to_one_and_holds_the_rate(
    counts: list[tuple[int, int]], conf: float
) -> None:
    interval = clustered_interval(counts, conf)
    judged = [(c, n) for c, n in counts if n]
    assert (interval is None) == (len(judged) < 2)
    if interval:
        rate = sum(c for c, _ in judged) / sum(n for _, n in judged)
        assert not any(math.isnan(end) for end in interval)
        assert 0 <= interval[0] <= rate <= interval[1] <= 1


@given(suites, confidences, confidences)
def test_clustered_interval_of_more_confidence_holds_the_one_of_less(
    counts: list[tuple[int, int]], one: float, other: float
) -> None:
    inner, outer = (clustered_interval(counts, conf) for conf in sorted((one, other)))
    if inner and outer:
        assert outer[0] <= inner[0] + ROUNDING
        assert inner[1] <= outer[1] + ROUNDING


@given(suites)
def test_clustered_interval_mirrors_when_passes_and_failures_swap(counts: list[tuple[int, int]]) -> None:
    interval = clustered_interval(counts)
    mirrored = clustered_interval([(n - c, n) for c, n in counts])
    if interval:
        assert mirrored == pytest.approx((1 - interval[1], 1 - interval[0]), abs=ROUNDING)


@given(suites, st.randoms())
def test_clustered_interval_does_not_depend_on_the_order_of_cases(
    counts: list[tuple[int, int]], random: object
) -> None:
    """The same stored rows gated again, read in another order, print the same figures."""
    shuffled = list(counts)
    random.shuffle(shuffled)
    assert clustered_interval(shuffled) == clustered_interval(counts)


@pytest.mark.parametrize("method", PLAIN)
@given(k_of_n=rows, conf=confidences)
def test_plain_interval_is_ordered_within_zero_to_one(
    method: object, k_of_n: tuple[int, int], conf: float
) -> None:
    low, high = method(*k_of_n, conf)
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("method", PLAIN)
@given(k_of_n=rows, one=confidences, other=confidences)
def test_plain_interval_of_more_confidence_holds_the_one_of_less(
    method: object, k_of_n: tuple[int, int], one: float, other: float
) -> None:
    inner, outer = (method(*k_of_n, conf) for conf in sorted((one, other)))
    assert outer[0] <= inner[0] + ROUNDING
    assert inner[1] <= outer[1] + ROUNDING


@pytest.mark.parametrize("method", [wilson, clopper_pearson])
@given(k_of_n=rows, conf=st.floats(0.5, 0.9999))
def test_interval_that_is_no_posterior_holds_the_rate(
    method: object, k_of_n: tuple[int, int], conf: float
) -> None:
    low, high = method(*k_of_n, conf)
    assert low <= k_of_n[0] / k_of_n[1] <= high


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_impossible_counts_have_no_interval(method: object, k: int, n: int) -> None:
    with pytest.raises(ValueError, match="has no interval; want 0 <= passed <= judged and judged >= 1"):
        method(k, n)


@pytest.mark.parametrize("conf", [0, 1, -0.5, 95, float("nan")])
def test_confidence_outside_zero_to_one_is_refused(conf: float) -> None:
    """95 meant as a percentage would otherwise turn the tails around."""
    with pytest.raises(ValueError, match=r"is no confidence; want a number between 0 and 1 such as 0\.95"):
        wilson(1, 2, conf)
    with pytest.raises(ValueError, match="is no confidence"):
        clustered_interval([(1, 2), (2, 2)], conf)


def test_impossible_case_is_named() -> None:
    with pytest.raises(ValueError, match="case 1 of 2: 4 passed of 3 judged is impossible"):
        clustered_interval([(1, 3), (4, 3)])
