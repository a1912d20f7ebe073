"""A judge's figures from labels of which some were more likely to be drawn than others.

Owns the correction for verification bias: labels drawn half from what a judge passed and half from what
it failed show another sensitivity and specificity than the run has. Knows no labels, rows or settings.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from nightgate.stats.agreement import (
    Agreement,
    Confusion,
    Figure,
    Shares,
    kappa_of,
    kappa_slope,
    quantile,
    share,
    spread_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """Rows among which each was as likely to be labelled as any other.

    Attributes:
        size: Rows there are, labelled or not.
        table: Those labelled, as the judge and people saw them.
        verdict: What the judge said of all of them; None when its verdicts differ within the stratum.
    """

    size: int
    table: Confusion
    verdict: bool | None = None


def post_stratified(strata: Sequence[Stratum], conf: float = 0.95) -> Agreement:
    """Figures of the whole from labels of its strata: each stratum counts by its size.

    Errors are those of the delta method; every possible cell of a stratum gets a share of one more
    row for them, since a stratum without a disagreement is not known to have none. Shares then have
    Wilson's interval on the sample size that such an error stands for.

    Args:
        strata: Those without a label are left out, and with them their part of the whole.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Undefined figures where nothing is labelled or a side is constant.

    Raises:
        ValueError: If ``conf`` is out of range, or a stratum has more labels than rows.

    Source: Begg and Greenes (1983), Biometrics 39(1), 207-215.

    >>> passed = Stratum(size=239, table=Confusion(tp=48, fp=2), verdict=True)
    >>> failed = Stratum(size=61, table=Confusion(fn=21, tn=29), verdict=False)
    >>> found = post_stratified([passed, failed])
    >>> round(found.sensitivity.value, 2), round(found.specificity.value, 2)  # by the counts: 0.70, 0.94
    (0.9, 0.79)
    """
    quantile(conf)
    for one in strata:
        if one.size < one.table.n:
            raise ValueError(f"{one}: {one.table.n} labels of {one.size} rows are impossible")
    known = [one for one in strata if one.table.n]
    total = sum(one.size for one in known)
    if not known:
        return Agreement(agreement=Figure(), kappa=Figure(), sensitivity=Figure(), specificity=Figure())
    parts = [one.size / total for one in known]
    seen = _mixed(parts, [_shares(one, 0.0) for one in known])
    # Positions of what counts, and of all that it is a share of.
    of_all, of_passes, of_fails = ((0, 3), (0, 1, 2, 3)), ((0,), (0, 1)), ((3,), (2, 3))
    design = _Design(parts, [_shares(one, 1.0) for one in known], [one.table.n for one in known], total)
    return Agreement(
        agreement=design.share(seen, *of_all, conf),
        kappa=design.kappa(seen, conf),
        sensitivity=design.share(seen, *of_passes, conf),
        specificity=design.share(seen, *of_fails, conf),
    )


@dataclass(frozen=True, slots=True)
class _Design:
    """What errors are made of: parts of the whole, shares within them, labels in each, rows in all."""

    parts: Sequence[float]
    shares: Sequence[Shares]
    labels: Sequence[int]
    total: int

    def variance(self, slope: Shares) -> float:
        """Of a figure with this slope: within the strata, and of their sizes."""
        within = sum(
            part * part * spread_of(shares, slope) / n
            for part, shares, n in zip(self.parts, self.shares, self.labels, strict=True)
        )
        means = [sum(p * g for p, g in zip(shares, slope, strict=True)) for shares in self.shares]
        mean = sum(part * m for part, m in zip(self.parts, means, strict=True))
        between = sum(part * (m - mean) ** 2 for part, m in zip(self.parts, means, strict=True))
        return within + between / self.total

    def share(self, seen: Shares, top: Sequence[int], base: Sequence[int], conf: float) -> Figure:
        """A share of the whole: the cells ``top`` among the cells ``base``."""
        under = sum(seen[i] for i in base)
        if not under:
            return Figure()
        value = min(1.0, sum(seen[i] for i in top) / under)
        smooth = _mixed(self.parts, self.shares)
        smooth_under = sum(smooth[i] for i in base)
        rate = sum(smooth[i] for i in top) / smooth_under
        p, q, r, s = (((i in top) - rate) / smooth_under if i in base else 0.0 for i in range(4))
        variance = self.variance((p, q, r, s))
        n = rate * (1 - rate) / variance if variance else float(sum(self.labels))
        return share(value * n, n, conf)

    def kappa(self, seen: Shares, conf: float) -> Figure:
        value = kappa_of(seen)
        if value is None:
            return Figure()
        smooth = _mixed(self.parts, self.shares)
        error = sqrt(self.variance(kappa_slope(smooth)))
        half = quantile(conf) * error
        return Figure(value, max(-1.0, value - half), min(1.0, value + half), float(sum(self.labels)))


def _shares(one: Stratum, more: float) -> Shares:
    """Shares of the four cells in a stratum, with ``more`` rows spread over those that are possible."""
    possible = tuple(one.verdict is None or one.verdict is verdict for verdict in (True, False, True, False))
    extra = more / sum(possible)
    whole = one.table.n + more
    a, b, c, d = (
        (count + extra) / whole if can or count else 0.0
        for count, can in zip(one.table.cells, possible, strict=True)
    )
    return a, b, c, d


def _mixed(parts: Sequence[float], shares: Sequence[Shares]) -> Shares:
    a, b, c, d = (sum(part * one[i] for part, one in zip(parts, shares, strict=True)) for i in range(4))
    return a, b, c, d
