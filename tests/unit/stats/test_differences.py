"""The one test for the cases and trials that there are, and an interval that is never a point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel

from nightgate.stats import effort_to_see, paired_interval, paired_test, visible_change
from nightgate.stats.clustered import variance_parts

singles = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=60)
triples = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60)


@given(singles)
def test_single_trials_are_decided_by_the_binomial_of_those_that_changed(
    pairs: list[tuple[int, int]],
) -> None:
    """McNemar, exact; 1 where nothing changed, where the asymptotic form gives 0."""
    found = paired_test([(a, 1) for a, _ in pairs], [(b, 1) for _, b in pairs])
    broke, fixed = pairs.count((1, 0)), pairs.count((0, 1))

    assert found.test == "mcnemar"
    assert found.p_value == pytest.approx(binomtest(broke, broke + fixed).pvalue if broke + fixed else 1.0)


@given(triples)
def test_from_30_cases_on_the_paired_t_test_decides_and_below_the_signs(pairs: list[tuple[int, int]]) -> None:
    """As scipy's, except where it divides by nothing."""
    before, after = [(a, 3) for a, _ in pairs], [(b, 3) for _, b in pairs]
    found = paired_test(before, after)
    spread = len({b - a for a, b in pairs}) > 1

    assert found.test == ("paired_t" if len(pairs) >= 30 and spread else "sign_flip")
    if found.test == "paired_t":
        reference = ttest_rel([b / 3 for _, b in pairs], [a / 3 for a, _ in pairs]).pvalue
        assert found.p_value == pytest.approx(reference, abs=1e-12)
    assert 0 < found.p_value <= 1


@pytest.mark.parametrize("cases", [2, 29, 30, 31, 64])
def test_a_constant_difference_is_as_likely_as_all_signs_alike(cases: int) -> None:
    """`ttest_rel` says p = 0 there."""
    assert paired_test([(3, 3)] * cases, [(2, 3)] * cases).p_value == pytest.approx(2.0 ** (1 - cases))


def test_no_case_at_all_shows_nothing() -> None:
    assert paired_test([], []).p_value == 1.0
    assert paired_test([(0, 0)], [(1, 1)]).p_value == 1.0
    assert paired_interval([(1, 1)], [(0, 1)]) is None


@given(triples)
def test_an_interval_has_a_width_and_holds_the_change(pairs: list[tuple[int, int]]) -> None:
    low, high = paired_interval([(a, 3) for a, _ in pairs], [(b, 3) for _, b in pairs])  # type: ignore[misc]
    change = sum(b - a for a, b in pairs) / (3 * len(pairs))

    assert -1 <= low <= change + 1e-12
    assert change - 1e-12 <= high <= 1
    assert low < high


def test_where_nothing_changed_the_interval_is_the_rule_of_three() -> None:
    """One case of 300 might have changed: about 3/300 to either side."""
    low, high = paired_interval([(1, 1)] * 300, [(1, 1)] * 300)  # type: ignore[misc]

    assert (-low, high) == pytest.approx((3 / 300, 3 / 300), rel=0.02)


def test_a_higher_confidence_is_a_wider_interval() -> None:
    pairs = [(1, 1)] * 15 + [(0, 1)] * 5, [(1, 1)] * 10 + [(0, 1)] * 10

    narrow, wide = (paired_interval(*pairs, conf=conf) for conf in (0.9, 0.99))

    assert wide[0] < narrow[0] < narrow[1] < wide[1]  # type: ignore[index]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.just(3)), min_size=20, max_size=40),
    st.floats(0.02, 0.5),
)
def test_the_effort_is_the_least_that_sees_the_change(counts: list[tuple[int, int]], change: float) -> None:
    """`visible_change` with so many trials, or cases, is at most the change; with one less it is more."""
    parts = variance_parts(counts)
    rate = (sum(c for c, _ in counts) + 2) / (3 * len(counts) + 4)
    icc = (parts.icc if parts else None) or 0.0
    needed = effort_to_see(counts, change)

    assert visible_change(rate, icc, needed.cases, 3) <= change * (1 + 1e-9)
    if needed.cases > 20:
        assert visible_change(rate, icc, needed.cases - 1, 3) > change * (1 - 1e-9)
    if needed.trials is not None:
        assert visible_change(rate, icc, len(counts), needed.trials) <= change * (1 + 1e-9)
        if needed.trials > 1:
            assert visible_change(rate, icc, len(counts), needed.trials - 1) > change * (1 - 1e-9)


@pytest.mark.parametrize(("counts", "change"), [([], 0.1), ([(0, 0)], 0.1), ([(1, 1)], 0.0)])
def test_an_effort_for_nothing_is_refused(counts: list[tuple[int, int]], change: float) -> None:
    with pytest.raises(ValueError, match="want at least one and a change above 0"):
        effort_to_see(counts, change)
