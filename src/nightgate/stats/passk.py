"""pass^k and pass@k: does a case pass every time, does it pass at least once.

Owns the unbiased estimators from n trials a case. A case with fewer than k judged trials makes the
figure undefined; k is never lowered in silence. Knows no rows, no gate. Standard library only.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb
from operator import index

from nightgate.stats._counts import CaseCounts, checked


def pass_hat_k(counts: CaseCounts, k: int) -> float | None:
    """Chance that k trials of a case all pass, averaged over cases (pass^k).

    Neither the k-th power of the pass rate nor the mean of (passed/judged)^k: both are biased.

    Args:
        counts: ``(passed, judged)`` of each case.
        k: Trials that must all pass, at least 1.

    Returns:
        Mean of C(passed, k) / C(judged, k) in [0, 1]; None without cases or if any case has fewer
        than k judged trials (`cases_short_of` counts them).

    Raises:
        ValueError: If k < 1 or a pair breaks 0 <= passed <= judged.
        TypeError: If a count or k is no integer.

    Source: Yao et al. (2024), tau-bench, arXiv 2406.12045.

    >>> pass_hat_k([(3, 4), (4, 4)], 2)
    0.75
    """
    return _mean_over_cases(counts, k, lambda c, n, k: Fraction(comb(c, k), comb(n, k)))


def pass_at_k(counts: CaseCounts, k: int) -> float | None:
    """Chance that at least one of k trials of a case passes, averaged over cases (pass@k).

    Args:
        counts: ``(passed, judged)`` of each case.
        k: Trials of which one must pass, at least 1.

    Returns:
        Mean of 1 - C(judged - passed, k) / C(judged, k) in [0, 1]; None without cases or if any
        case has fewer than k judged trials.

    Raises:
        ValueError: If k < 1 or a pair breaks 0 <= passed <= judged.
        TypeError: If a count or k is no integer.

    Source: Chen et al. (2021), arXiv 2107.03374.

    >>> pass_at_k([(1, 4), (0, 4)], 2)
    0.25
    """
    return _mean_over_cases(counts, k, lambda c, n, k: 1 - Fraction(comb(n - c, k), comb(n, k)))


def cases_short_of(counts: CaseCounts, k: int) -> int:
    """Count the cases with fewer than k judged trials: the reason why a pass^k is undefined.

    Raises:
        ValueError: If k < 1 or a pair breaks 0 <= passed <= judged.
        TypeError: If a count or k is no integer.

    >>> cases_short_of([(1, 1), (4, 4)], 4)
    1
    """
    least = _checked_k(k)
    return sum(judged < least for _, judged in checked(counts))


def pass_hat_ks(counts: CaseCounts, k_max: int) -> dict[str, float | None]:
    """pass^k for every k from 1 to the trials planned, as reports store it.

    Args:
        counts: ``(passed, judged)`` of each case.
        k_max: Largest k, at least 1: the trials planned for a case, not those that were judged.

    Returns:
        ``{"1": ..., "2": ...}`` up to ``k_max``; None where `pass_hat_k` is undefined.

    Raises:
        ValueError: If k_max < 1 or a pair breaks 0 <= passed <= judged.
        TypeError: If a count or k_max is no integer.

    >>> pass_hat_ks([(1, 1)], 2)
    {'1': 1.0, '2': None}
    """
    return {str(k): pass_hat_k(counts, k) for k in range(1, _checked_k(k_max) + 1)}


def _mean_over_cases(
    counts: CaseCounts, k: int, estimate: Callable[[int, int, int], Fraction]
) -> float | None:
    cases, size = checked(counts), _checked_k(k)
    if not cases or any(judged < size for _, judged in cases):
        return None
    # Few distinct pairs among thousands of cases: each is estimated once.
    total = sum(times * estimate(c, n, size) for (c, n), times in Counter(cases).items())
    return float(Fraction(total) / len(cases))


def _checked_k(k: int) -> int:
    if index(k) < 1:
        raise ValueError(f"k = {k}: pass^k and pass@k need at least one trial")
    return index(k)
