"""The upper tail of a binomial: how surprising so many events are.

Owns the one-sided exact test of a count against a known rate. Knows no flips and no judges. Imports
the standard library only.
"""

from math import exp, lgamma, log, log1p
from operator import index

_ROUNDING = 1e-9
"""Relative room for floating-point noise, so that a tail of exactly the bar is within it."""


def binomial_tail(events: int, trials: int, rate: float) -> float:
    """Chance of ``events`` or more of ``trials`` independent ones.

    Args:
        events: Seen, 0 to ``trials``.
        trials: At least 0.
        rate: Chance of one, above 0 and below 1.

    Returns:
        A probability in [0, 1]; 1 for no event.

    Raises:
        ValueError: If the counts are impossible or the rate is out of range.
        TypeError: If a count is no integer.

    Source: the exact binomial test, one-sided (Clopper and Pearson 1934).

    >>> round(binomial_tail(5, 100, 0.01), 5), binomial_tail(0, 100, 0.01)
    (0.00343, 1.0)
    """
    k, n = index(events), index(trials)
    if not 0 <= k <= n:
        raise ValueError(f"{events=} of {trials=}: want 0 <= events <= trials")
    if not 0 < rate < 1:
        raise ValueError(f"{rate=}: want a rate above 0 and below 1")
    if k == 0:
        return 1.0
    term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(rate) + (n - k) * log1p(-rate))
    if k <= n * rate:
        # The short side is summed: the long one would lose its last digits.
        return max(0.0, 1.0 - _below(k, n, rate, term))
    total, ratio = 0.0, rate / (1 - rate)
    for i in range(k, n + 1):
        total += term
        if term < total * 1e-17:
            break
        term *= (n - i) / (i + 1) * ratio
    return min(1.0, total)


def _below(k: int, n: int, rate: float, term: float) -> float:
    """Chance of fewer than ``k``, from the chance of exactly ``k``."""
    total, ratio = 0.0, (1 - rate) / rate
    for i in range(k, 0, -1):
        term *= i / (n - i + 1) * ratio
        total += term
    return total


def fewest_events(trials: int, rate: float, alpha: float) -> int:
    """Fewest events of ``trials`` whose tail is within ``alpha``; ``trials + 1`` if none is.

    Args:
        trials: At least 0.
        rate: Chance of one, above 0 and below 1.
        alpha: The bar, above 0 and below 1.

    Raises:
        ValueError: If a figure is out of range.

    >>> fewest_events(100, 0.01, 0.01), fewest_events(2, 0.2, 0.01)
    (5, 3)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"{alpha=}: want a bar above 0 and below 1")
    low, high = 1, index(trials) + 1
    while low < high:
        middle = (low + high) // 2
        if within(binomial_tail(middle, trials, rate), alpha):
            high = middle
        else:
            low = middle + 1
    return low


def within(p_value: float, alpha: float) -> bool:
    """Whether a p-value is at or under the bar, rounding aside."""
    return p_value <= alpha * (1 + _ROUNDING)
