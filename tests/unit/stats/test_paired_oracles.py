"""The paired tests against scipy and statsmodels, over random tables and their corners."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from nightgate.stats import case_differences, holm, mcnemar_p, paired_t, sign_flip_p

outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=80)
"""One trial a case: passed before, passes now."""
counts = st.integers(0, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
"""(passed, judged) of a case; nothing judged among them."""
two_runs = st.lists(st.tuples(counts, counts), max_size=25)
p_values = st.lists(st.none() | st.floats(0, 1), max_size=20)


def differences_of(cases: list[tuple[tuple[int, int], tuple[int, int]]]) -> list[Fraction]:
    return case_differences([before for before, _ in cases], [after for _, after in cases])


@given(outcomes)
def test_mcnemar_is_statsmodels_exact_form(pairs: list[tuple[bool, bool]]) -> None:
    """On the whole table: cases that did not change sides must not count."""
    table = np.zeros((2, 2), dtype=int)
    for before, after in pairs:
        table[int(not before), int(not after)] += 1

    found = mcnemar_p(int(table[0, 1]), int(table[1, 0]))

    assert found == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)


@pytest.mark.parametrize("unchanged", [0, 1, 40])
def test_no_discordant_pair_is_no_evidence_however_many_cases(unchanged: int) -> None:
    """Statsmodels' own exact form agrees; its asymptotic one says 0, or nothing at all."""
    table = np.array([[unchanged, 0], [0, unchanged]])

    assert mcnemar_p(0, 0) == mcnemar(table, exact=True).pvalue == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by 0
        wrong = mcnemar(table, exact=False).pvalue
    assert wrong != mcnemar_p(0, 0)


@given(outcomes)
def test_mcnemar_is_scipys_sign_test(pairs: list[tuple[bool, bool]]) -> None:
    """A second oracle, of another library."""
    broken = sum(before and not after for before, after in pairs)
    fixed = sum(after and not before for before, after in pairs)
    expected = scipy_stats.binomtest(broken, broken + fixed).pvalue if broken + fixed else 1.0

    assert mcnemar_p(broken, fixed) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.tuples(counts, counts), max_size=10))
def test_the_sign_flip_is_scipys_permutation_test(cases: list[tuple[Any, Any]]) -> None:
    """All signs in turn, on case means of several trials, ties included."""
    changes = differences_of(cases)
    # In whole numbers: on floats scipy would have to guess which sums tie.
    whole = np.array([int(change * 12) for change in changes], dtype=float)
    if np.any(whole) and len(whole) > 1:
        found = scipy_stats.permutation_test(
            (whole,),
            lambda sample, axis: np.abs(np.sum(sample, axis=axis)),
            permutation_type="samples",
            n_resamples=np.inf,
            alternative="greater",
            vectorized=True,
        )
        expected = float(found.pvalue)
    else:
        expected = 1.0

    assert sign_flip_p(changes) == pytest.approx(expected, rel=1e-12)


@given(two_runs, st.floats(0.5, 0.999))
def test_the_t_interval_is_statsmodels(cases: list[tuple[Any, Any]], conf: float) -> None:
    """Of case means; where it does not exist, None and no figure."""
    changes = differences_of(cases)

    found = paired_t(changes, conf)

    if len(set(changes)) < 2:
        assert found is None
        return
    assert found is not None
    oracle = DescrStatsW([float(change) for change in changes])
    low, high = oracle.tconfint_mean(1 - conf)
    assert found.change == pytest.approx(oracle.mean, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((max(-1.0, low), min(1.0, high)), abs=1e-9)
    assert found.p_value == pytest.approx(oracle.ttest_mean(0)[1], rel=1e-7)


@given(two_runs)
def test_the_paired_t_of_two_runs_is_scipys(cases: list[tuple[Any, Any]]) -> None:
    """Given both runs and not their differences; a case judged in one run only is in neither."""
    both = [(before, after) for before, after in cases if before[1] and after[1]]
    befores = [c / n for (c, n), _ in both]
    afters = [c / n for _, (c, n) in both]
    changes = differences_of(cases)

    assert len(changes) == len(both)
    found = paired_t(changes)
    if found is not None:
        expected = scipy_stats.ttest_rel(afters, befores)
        assert found.p_value == pytest.approx(float(expected.pvalue), rel=1e-7, abs=1e-300)


@pytest.mark.parametrize("size", [2, 5, 30])
def test_a_constant_difference_is_not_certain(size: int) -> None:
    """Scipy's t test says p = 0 there; the exact test says what so many cases can show."""
    changes = case_differences([(1, 2)] * size, [(2, 2)] * size)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of lost precision, and answers all the same
        assert scipy_stats.ttest_rel([1.0] * size, [0.5] * size).pvalue == 0.0
    assert paired_t(changes) is None
    assert sign_flip_p(changes) == pytest.approx(2 / 2**size)


@pytest.mark.parametrize("after", [(1, 1), (0, 1)])
def test_one_case_shows_nothing(after: tuple[int, int]) -> None:
    """Neither an interval nor a p-value under 1."""
    changes = case_differences([(0, 1)], [after])

    assert paired_t(changes) is None
    assert sign_flip_p(changes) == 1.0


@given(p_values)
def test_holm_is_statsmodels_on_what_was_tested(values: list[float | None]) -> None:
    """Nulls are dropped before the correction and put back after it."""
    tested = [p for p in values if p is not None]
    expected = iter(multipletests(tested, method="holm")[1] if tested else [])

    adjusted = holm(values)

    assert adjusted == [
        None if p is None else pytest.approx(float(next(expected)), rel=1e-12) for p in values
    ]


def test_holm_of_nothing_but_nulls_is_nothing_but_nulls() -> None:
    """No test was made: no value is invented."""
    assert holm([None, None]) == [None, None]
