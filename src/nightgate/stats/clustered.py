"""Standard errors of a pass rate whose rows come in cases.

Owns the variances: trials of one case resemble each other, so rows are not independent. Two
questions, two errors: "how good is the agent" draws new cases (`clustered_se`), "did tonight
change" repeats the same ones (`rerun_se`). Knows no rows, no verdicts. Standard library only; sums
stay integers, so that a variance of zero is found as zero and not as 1e-18.
"""

from fractions import Fraction
from math import sqrt
from typing import NamedTuple

from nightgate.stats._counts import CaseCounts, judged_only

_LEAST_CASES = 2
"""Cases below which nothing can be said about the spread between cases."""


class VarianceParts(NamedTuple):
    """Variance of one trial's outcome, split into its two sources."""

    between: float
    """Between cases: some are simply hard. Never below 0."""
    within: float
    """Within a case: the same case, another outcome."""

    @property
    def icc(self) -> float | None:
        """Share of the variance that lies between cases, in [0, 1]; None if nothing varies."""
        total = self.between + self.within
        return self.between / total if total else None


def clustered_variance(counts: CaseCounts) -> Fraction | None:
    """Exact clustered variance of the pooled pass rate, with the G/(G-1) correction.

    Args:
        counts: ``(passed, judged)`` of each case; cases without a judged trial are left out.

    Returns:
        The variance of the mean, or None with fewer than two judged cases.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.

    Source: Liang and Zeger (1986), Biometrika 73(1), 13-22, for the mean; Miller (2024),
    arXiv 2411.00640, for evals.
    """
    cases = judged_only(counts)
    if len(cases) < _LEAST_CASES:
        return None
    passes, rows = sum(c for c, _ in cases), sum(n for _, n in cases)
    squares = sum((c * rows - passes * n) ** 2 for c, n in cases)
    return Fraction(squares * len(cases), rows**4 * (len(cases) - 1))


def clustered_se(counts: CaseCounts) -> float | None:
    """Standard error of the pooled pass rate over the population of cases.

    Args:
        counts: ``(passed, judged)`` of each case; cases without a judged trial are left out.

    Returns:
        The standard error as a share, or None with fewer than two judged cases.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.

    >>> round(clustered_se([(3, 3), (2, 3), (0, 3), (3, 3), (2, 3)]), 4)
    0.1826
    """
    variance = clustered_variance(counts)
    return None if variance is None else sqrt(variance)


def independent_se(counts: CaseCounts) -> float | None:
    """Standard error if every row were a case of its own: too small, for comparison only.

    Args:
        counts: ``(passed, judged)`` of each case.

    Returns:
        The standard error as a share, or None with fewer than two judged rows.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.
    """
    cases = judged_only(counts)
    passes, rows = sum(c for c, _ in cases), sum(n for _, n in cases)
    if rows <= 1:
        return None
    return sqrt(Fraction(passes * (rows - passes), rows**2 * (rows - 1)))


def rerun_se(counts: CaseCounts) -> float | None:
    """Standard error of the pooled pass rate if the very same cases were run again.

    Only the noise within cases counts. A case with a single judged trial shows none of it and is
    taken to be as noisy as the others.

    Args:
        counts: ``(passed, judged)`` of each case; cases without a judged trial are left out.

    Returns:
        The standard error as a share, or None if no case has two judged trials.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.

    >>> round(rerun_se([(3, 3), (2, 3), (0, 3), (3, 3), (2, 3)]), 4)
    0.0943
    """
    cases = judged_only(counts)
    repeated = [(c, n) for c, n in cases if n > 1]
    if not repeated:
        return None
    noise = sum((Fraction(c * (n - c), n - 1) for c, n in repeated), Fraction(0))
    per_row = noise / sum(n for _, n in repeated)
    return sqrt(per_row / sum(n for _, n in cases))


def variance_parts(counts: CaseCounts) -> VarianceParts | None:
    """Split the variance of a trial's outcome into between and within cases.

    Args:
        counts: ``(passed, judged)`` of each case; cases without a judged trial are left out.

    Returns:
        Both parts, or None with fewer than two judged cases or no case with two judged trials.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.

    Source: one-way analysis of variance, moment estimators for unequal group sizes.

    >>> round(variance_parts([(3, 3), (2, 3), (0, 3), (3, 3), (2, 3)]).icc, 4)
    0.4783
    """
    cases = judged_only(counts)
    size, rows = len(cases), sum(n for _, n in cases)
    if size < _LEAST_CASES or rows == size:
        return None
    rate = Fraction(sum(c for c, _ in cases), rows)
    mean_square_between = sum(n * (Fraction(c, n) - rate) ** 2 for c, n in cases) / (size - 1)
    mean_square_within = sum(Fraction(c * (n - c), n) for c, n in cases) / (rows - size)
    typical = Fraction(rows**2 - sum(n * n for _, n in cases), rows * (size - 1))
    between = max(Fraction(0), (mean_square_between - mean_square_within) / typical)
    return VarianceParts(between=float(between), within=float(mean_square_within))
