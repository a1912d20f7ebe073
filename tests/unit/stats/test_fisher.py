"""The exact one-sided test of two small counts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from nightgate.stats.fisher import Share, more_passes

shares = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(shares, shares)
def test_the_chance_is_scipys(before: Share, now: Share) -> None:
    """An oracle that nobody here wrote."""
    table = [[now[0], now[1] - now[0]], [before[0], before[1] - before[0]]]
    expected = fisher_exact(table, alternative="greater").pvalue

    assert math.isclose(float(more_passes(before, now)), expected, rel_tol=1e-7, abs_tol=1e-12)


@given(shares, shares)
def test_one_more_pass_is_never_less_surprising(before: Share, now: Share) -> None:
    """Otherwise a better probe could lose its explanation."""
    if now[0] < now[1]:
        assert more_passes(before, (now[0] + 1, now[1])) <= more_passes(before, now)


@given(shares)
def test_nothing_judged_is_no_evidence(found: Share) -> None:
    """A probe whose trials all broke says nothing."""
    assert more_passes(found, (0, 0)) == more_passes((0, 0), found) == 1


@pytest.mark.parametrize(("before", "now"), [((4, 3), (1, 3)), ((0, 3), (-1, 3)), ((0, 3), (4, 3))])
def test_what_cannot_be_is_refused(before: Share, now: Share) -> None:
    """A p-value of nonsense is worse than none."""
    with pytest.raises(ValueError, match="want"):
        more_passes(before, now)
