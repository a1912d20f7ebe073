"""Confidence intervals of a pass rate.

Owns the interval printed beside a rate (`clustered_interval`) and the plain binomial ones for rows
that are independent. Knows no rows, no verdicts. scipy costs start-up and is imported inside the
functions that need it.
"""

from fractions import Fraction
from math import sqrt
from operator import index
from statistics import NormalDist

from nightgate.stats._counts import CaseCounts, judged_only
from nightgate.stats.clustered import clustered_variance


def clustered_interval(counts: CaseCounts, conf: float = 0.95) -> tuple[float, float] | None:
    """Interval of the pooled pass rate over the population of cases.

    Wilson on an effective sample size: rows of one case count for as much as they differ, with a
    t quantile on cases - 1 degrees of freedom because the spread itself is estimated. Where no
    spread was seen (all passed), a case counts once however often it ran. At 7 cases this covers
    92-99%; Wald, a t interval of case means and the case bootstrap cover 53-55%.

    Args:
        counts: ``(passed, judged)`` of each case; cases without a judged trial are left out.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Low and high, 0 <= low <= rate <= high <= 1; None with fewer than two judged cases.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged, or ``conf`` is out of range.
        TypeError: If a count is no integer.

    >>> [round(end, 3) for end in clustered_interval([(3, 3)] * 7)]
    [0.539, 1.0]
    >>> [round(end, 3) for end in clustered_interval([(1, 1)] * 5 + [(0, 1)] * 2)]
    [0.271, 0.944]
    """
    tail = _tail(conf)
    cases = judged_only(counts)
    variance = clustered_variance(cases)
    if variance is None:
        return None
    passes, rows = sum(c for c, _ in cases), sum(n for _, n in cases)
    rate = Fraction(passes, rows)
    effective = min(Fraction(rows), rate * (1 - rate) / variance) if variance else Fraction(len(cases))
    # n_eff * (z/t)^2 under a Wilson with z is n_eff under a Wilson with t: z cancels.
    return _wilson(passes, rows, _t_quantile(tail, len(cases) - 1) ** 2 / float(effective))


def wilson(passed: int, judged: int, conf: float = 0.95) -> tuple[float, float]:
    """Wilson score interval for independent rows.

    Args:
        passed: Rows that passed.
        judged: Rows judged, at least one.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Low and high, 0 <= low <= rate <= high <= 1.

    Raises:
        ValueError: If ``judged`` is 0, the counts are impossible or ``conf`` is out of range.
        TypeError: If a count is no integer.

    Source: Wilson (1927), JASA 22(158), 209-212.

    >>> [round(end, 4) for end in wilson(18, 21)]
    [0.6536, 0.9502]
    """
    k, n = _checked_rows(passed, judged)
    return _wilson(k, n, NormalDist().inv_cdf(_tail(conf)) ** 2 / n)


def clopper_pearson(passed: int, judged: int, conf: float = 0.95) -> tuple[float, float]:
    """Exact interval for independent rows; covers at least ``conf``, usually more.

    Args:
        passed: Rows that passed.
        judged: Rows judged, at least one.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Low and high, 0 <= low <= rate <= high <= 1.

    Raises:
        ValueError: If ``judged`` is 0, the counts are impossible or ``conf`` is out of range.
        TypeError: If a count is no integer.

    Source: Clopper and Pearson (1934), Biometrika 26(4), 404-413.

    >>> [round(end, 4) for end in clopper_pearson(18, 21)]
    [0.6366, 0.9695]
    """
    k, n = _checked_rows(passed, judged)
    tail = _tail(conf)
    low = _beta_quantile(tail, k, n - k + 1) if k else 0.0
    high = 1 - _beta_quantile(tail, n - k, k + 1) if k < n else 1.0
    return low, high


def jeffreys(passed: int, judged: int, conf: float = 0.95) -> tuple[float, float]:
    """Equal-tailed quantiles of the pass rate under the Jeffreys prior, never snapped to 0 or 1.

    Args:
        passed: Rows that passed.
        judged: Rows judged, at least one.
        conf: Two-sided confidence, above 0 and below 1; 0.9 gives the 5% and 95% quantiles.

    Returns:
        Low and high, in [0, 1]. At 0 or all passed the rate itself lies outside.

    Raises:
        ValueError: If ``judged`` is 0, the counts are impossible or ``conf`` is out of range.
        TypeError: If a count is no integer.

    Source: Brown, Cai and DasGupta (2001), Statistical Science 16(2), 101-133.

    >>> [round(end, 4) for end in jeffreys(21, 21, conf=0.9)]
    [0.9136, 0.9999]
    """
    k, n = _checked_rows(passed, judged)
    tail = _tail(conf)
    return _beta_quantile(tail, k + 0.5, n - k + 0.5), 1 - _beta_quantile(tail, n - k + 0.5, k + 0.5)


def _wilson(passes: int, rows: int, spread: float) -> tuple[float, float]:
    """Wilson interval of passes/rows where ``spread`` is quantile^2 over the sample size."""
    rate = passes / rows
    middle = rate + spread / 2
    half = sqrt(rate * (1 - rate) * spread + spread * spread / 4)
    # The ends multiply to rate^2 / (1 + spread); middle - half would cancel near 0.
    high = 1.0 if passes == rows else min(1.0, (middle + half) / (1 + spread))
    low = rate * rate / ((1 + spread) * high) if passes else 0.0
    return min(low, rate), max(high, rate)


def _checked_rows(passed: int, judged: int) -> tuple[int, int]:
    k, n = index(passed), index(judged)
    if n < 1 or not 0 <= k <= n:
        raise ValueError(
            f"{passed} passed of {judged} judged has no interval; want 0 <= passed <= judged and judged >= 1"
        )
    return k, n


def _tail(conf: float) -> float:
    """Probability left out on either side."""
    if not 0 < conf < 1:
        raise ValueError(f"conf {conf!r} is no confidence; want a number between 0 and 1 such as 0.95")
    return (1 - conf) / 2


def _t_quantile(tail: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, tail))


def _beta_quantile(tail: float, a: float, b: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(a, b, tail))
