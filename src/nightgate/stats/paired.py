"""Two runs over the same cases: is the difference more than chance?

Owns the paired tests and the correction for asking several times. Pairing makes cases that are
simply hard cancel out. Knows no rows and no verdict: which cases are comparable, and what may be
said, is decided above. scipy costs start-up and is imported inside the function that needs it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import comb, lcm, sqrt
from operator import index
from typing import NamedTuple

from nightgate.stats._counts import CaseCounts, checked

MOST_FLIPPED = 30
"""Cases that changed, up to which every assignment of signs is counted; beyond, use `paired_t`."""


class PairedChange(NamedTuple):
    """Mean change of the case rates, with a t interval and its two-sided p-value."""

    change: float
    low: float
    high: float
    p_value: float


def mcnemar_p(newly_broken: int, newly_fixed: int) -> float:
    """Chance of a split at least this uneven if nothing changed (exact McNemar test).

    Args:
        newly_broken: Cases that passed before and fail now.
        newly_fixed: Cases that failed before and pass now.

    Returns:
        Two-sided p-value in (0, 1]; 1.0 if no case changed sides.

    Raises:
        ValueError: If a count is negative.
        TypeError: If a count is no integer.

    Source: McNemar (1947), Psychometrika 12(2), 153-157; exact binomial form.

    >>> mcnemar_p(6, 0)
    0.03125
    """
    broken, fixed = index(newly_broken), index(newly_fixed)
    if min(broken, fixed) < 0:
        raise ValueError(f"{newly_broken=}, {newly_fixed=}: counts of cases cannot be negative")
    changed = broken + fixed
    tail = sum(comb(changed, i) for i in range(min(broken, fixed) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 1 << changed)))


def case_differences(before: CaseCounts, after: CaseCounts) -> list[Fraction]:
    """Exact change of each case's pass rate, after minus before.

    Args:
        before: ``(passed, judged)`` of each case in the baseline run.
        after: The same cases in the same order, now.

    Returns:
        One difference in [-1, 1] for each case judged in both runs, in order.

    Raises:
        ValueError: If the two differ in length or a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.

    >>> case_differences([(3, 3), (0, 0)], [(2, 3), (1, 1)])
    [Fraction(-1, 3)]
    """
    pairs = zip(checked(before), checked(after), strict=True)
    return [Fraction(c1, n1) - Fraction(c0, n0) for (c0, n0), (c1, n1) in pairs if n0 and n1]


def sign_flip_p(differences: Sequence[Fraction]) -> float:
    """Chance of a mean change at least this large if its sign were a coin toss in every case.

    Exact: all assignments of signs are counted, ties included. With one trial a case it equals the
    exact McNemar test.

    Args:
        differences: Change of each case, see `case_differences`; zeros carry no sign.

    Returns:
        Two-sided p-value in (0, 1]; 1.0 if no case changed.

    Raises:
        ValueError: If more than 30 cases changed.

    Source: Fisher (1935), The Design of Experiments, section 21.

    >>> sign_flip_p([Fraction(1, 3)] * 5 + [Fraction(0)])
    0.0625
    """
    changed = [d for d in differences if d]
    if len(changed) > MOST_FLIPPED:
        raise ValueError(f"{len(changed)} cases changed; beyond {MOST_FLIPPED} use the paired t interval")
    scale = lcm(*(d.denominator for d in changed))
    sizes = [abs(int(d * scale)) for d in changed]
    observed = abs(int(sum(changed, Fraction(0)) * scale))
    if not observed:
        return 1.0
    # Meeting in the middle keeps 30 different sizes at 2^15 sums a side instead of 2^30.
    left = _signed_sums(sizes[: len(sizes) // 2])
    right = sorted(_signed_sums(sizes[len(sizes) // 2 :]).items())
    sums, below = [total for total, _ in right], [0, *accumulate(times for _, times in right)]
    inside = sum(
        times * (below[bisect_left(sums, observed - total)] - below[bisect_left(sums, 1 - observed - total)])
        for total, times in left.items()
    )
    return float(1 - Fraction(inside, 1 << len(sizes)))


def _signed_sums(sizes: Sequence[int]) -> Counter[int]:
    """Count how often each sum arises when every size takes either sign."""
    sums = Counter({0: 1})
    for size in sizes:
        grown: Counter[int] = Counter()
        for total, times in sums.items():
            grown[total + size] += times
            grown[total - size] += times
        sums = grown
    return sums


def paired_t(differences: Sequence[Fraction], conf: float = 0.95) -> PairedChange | None:
    """Mean change with its t interval over cases.

    Args:
        differences: Change of each case in [-1, 1], see `case_differences`.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        The change and its interval within [-1, 1]; None with fewer than two cases, or if all
        changed by the same amount: no spread was seen, and p = 0 would be certainty out of nothing
        (`sign_flip_p` still decides).

    Raises:
        ValueError: If ``conf`` is out of range.
    """
    if not 0 < conf < 1:
        raise ValueError(f"conf {conf!r} is no confidence; want a number between 0 and 1 such as 0.95")
    size = len(differences)
    if len(set(differences)) <= 1:
        return None
    from scipy.special import stdtr, stdtrit

    mean = sum(differences, Fraction(0)) / size
    variance = sum((d - mean) ** 2 for d in differences) / (size - 1)
    error = sqrt(variance / size)
    reach = -float(stdtrit(size - 1, (1 - conf) / 2)) * error
    return PairedChange(
        change=float(mean),
        low=max(-1.0, float(mean) - reach),
        high=min(1.0, float(mean) + reach),
        p_value=2 * float(stdtr(size - 1, -abs(float(mean)) / error)),
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for having asked several times (Holm, step-down).

    Args:
        p_values: Shape (n,): one p-value in [0, 1] a question; None where there was no test.

    Returns:
        Shape (n,), same order: adjusted values in [0, 1]. None stays None and does not count as a
        question asked.

    Raises:
        ValueError: If a p-value is outside [0, 1] or NaN.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.

    >>> holm([0.01, None, 0.04])
    [0.02, None, 0.04]
    """
    asked = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(asked):
        if not 0 <= p <= 1:
            raise ValueError(f"p-value {place} is {p!r}; want a number in [0, 1], or None for no test")
        highest = min(1.0, max(highest, p * (len(asked) - rank)))
        adjusted[place] = highest
    return adjusted
