"""What a suite can see at all: the smallest change its size lets anyone show.

Owns the closed form for two runs over the same cases. It plans, it does not test: whether a change
did happen is decided in ``paired``. Knows no rows. Standard library only.
"""

from math import ceil, sqrt
from statistics import NormalDist
from typing import NamedTuple

from nightgate.stats._counts import CaseCounts, judged_only
from nightgate.stats.clustered import variance_parts

LEAST_CASES_FOR_A_CLAIM = 20
"""Below this many cases no change of the suite as a whole is ever called shown."""

_STABILITY = 0.9
"""Correlation of a case's true pass rate between two versions of an agent: most cases keep their
character, a few change sides."""


def visible_change(
    rate: float,
    icc: float,
    cases: int,
    trials: float,
    *,
    stability: float = _STABILITY,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Change of the mean that a suite of this size and noise detects with the given power.

    Args:
        rate: Mean pass rate in [0, 1].
        icc: Share of the variance that lies between cases, in [0, 1].
        cases: Cases run before and after, at least 1.
        trials: Trials of each case in each run, at least 1; a mean where they differ.
        stability: Correlation of the cases' true rates between the runs: 1 if no case changes
            character, 0 for two unrelated sets of cases.
        alpha: Two-sided significance level.
        power: Chance to detect the change.

    Returns:
        The change as a share: 0.08 is 8 points.

    Raises:
        ValueError: If an argument is out of range.

    Source: variance decomposition of Miller (2024), arXiv 2411.00640, normal quantiles.

    >>> round(visible_change(0.9, 0.5, cases=50, trials=3), 3)
    0.078
    """
    if not all(0 <= share <= 1 for share in (rate, icc, stability)):
        raise ValueError(f"{rate=}, {icc=}, {stability=}: each must lie in [0, 1]")
    if not (cases >= 1 and trials >= 1 and 0 < alpha < 1 and 0 < power < 1):
        raise ValueError(
            f"{cases=}, {trials=}, {alpha=}, {power=}: want at least one case and trial, "
            "alpha and power between 0 and 1"
        )
    between, within = icc * rate * (1 - rate), (1 - icc) * rate * (1 - rate)
    variance = 2 * (between * (1 - stability) + within / trials) / cases
    quantile = NormalDist().inv_cdf
    return (quantile(1 - alpha / 2) + quantile(power)) * sqrt(variance)


def smallest_visible_change(counts: CaseCounts, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Smallest change of the pass rate that this suite could show, judged by one of its runs.

    The rate is drawn a little to the middle, as if two more trials had passed and two had failed:
    a night in which all passed would otherwise claim to see every change. Without repeated trials
    all noise is taken to lie within cases, which promises least.

    Args:
        counts: ``(passed, judged)`` of each case; cases without a judged trial are left out.
        alpha: Two-sided significance level.
        power: Chance to detect the change.

    Returns:
        The change as a share, at most 1; None with fewer than 20 judged cases: nothing can be
        shown about such a suite as a whole, only about its cases.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged, or alpha or power is out of range.
        TypeError: If a count is no integer.
    """
    cases = judged_only(counts)
    if len(cases) < LEAST_CASES_FOR_A_CLAIM:
        return None
    rate, icc = _noise(cases)
    change = visible_change(
        rate=rate,
        icc=icc,
        cases=len(cases),
        # The noise of a case falls with 1/n, so the harmonic mean stands for unequal counts.
        trials=len(cases) / sum(1 / n for _, n in cases),
        alpha=alpha,
        power=power,
    )
    return min(1.0, change)


class Effort(NamedTuple):
    """What it would take to see a change; the one or the other."""

    trials: int | None
    """Trials of each case in each run, with the cases that there are; None: no number is enough."""
    cases: int
    """Cases, with as many trials of each as there were."""


def effort_to_see(counts: CaseCounts, change: float, *, alpha: float = 0.05, power: float = 0.8) -> Effort:
    """Trials, or cases, with which a change of this size would probably be shown.

    Args:
        counts: ``(passed, judged)`` of each case of one run; cases without a judged trial are left out.
        change: As a share, above 0.
        alpha: Two-sided significance level.
        power: Chance to detect the change.

    Returns:
        Both ways, each at least 1 trial and 20 cases.

    Raises:
        ValueError: If no case is judged, the change is not above 0, or as ``visible_change``.
        TypeError: If a count is no integer.

    Source: ``visible_change``, solved for the number of trials and of cases.
    """
    cases = judged_only(counts)
    if not cases or not change > 0:
        raise ValueError(f"{len(cases)} judged cases, {change=}: want at least one and a change above 0")
    rate, icc = _noise(cases)
    between, within = icc * rate * (1 - rate) * (1 - _STABILITY), (1 - icc) * rate * (1 - rate)
    quantile = NormalDist().inv_cdf
    allowed = (change / (quantile(1 - alpha / 2) + quantile(power))) ** 2
    trials = len(cases) / sum(1 / n for _, n in cases)
    room = allowed * len(cases) / 2 - between
    return Effort(
        trials=max(1, ceil(within / room)) if room > 0 else None,
        cases=max(LEAST_CASES_FOR_A_CLAIM, ceil(2 * (between + within / trials) / allowed)),
    )


def _noise(cases: CaseCounts) -> tuple[float, float]:
    """Pass rate, a little drawn to the middle, and the share of the variance that lies between cases."""
    passes, rows = sum(c for c, _ in cases), sum(n for _, n in cases)
    parts = variance_parts(cases)
    return (passes + 2) / (rows + 4), (parts.icc if parts else None) or 0.0
