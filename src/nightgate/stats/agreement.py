"""How far a judge agrees with people, and judges with each other.

Owns the 2 x 2 table of a judge against the truth, its figures with their intervals, and
Krippendorff's alpha. A positive is a pass. Knows no labels, rows or settings. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import index
from statistics import NormalDist
from typing import TypeAlias

Shares: TypeAlias = tuple[float, float, float, float]
"""True passes, missed passes, false passes, true fails: counts or shares of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """A judge's verdicts beside the truth, counted.

    Raises:
        ValueError: If a count is negative.
        TypeError: If a count is no integer.

    Attributes:
        tp: Passes that the judge passed.
        fn: Passes that it failed.
        fp: Fails that it passed.
        tn: Fails that it failed.
    """

    tp: int = 0
    fn: int = 0
    fp: int = 0
    tn: int = 0

    def __post_init__(self) -> None:
        if min(map(index, self.cells)) < 0:
            raise ValueError(f"{self}: a count below 0 is impossible")

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """Count ``(truth, verdict)`` pairs; True is a pass.

        >>> Confusion.of([(True, True), (False, True)])
        Confusion(tp=1, fn=0, fp=1, tn=0)
        """
        counts = Counter(pairs)
        return cls(
            tp=counts[True, True], fn=counts[True, False], fp=counts[False, True], tn=counts[False, False]
        )

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """tp, fn, fp, tn."""
        return self.tp, self.fn, self.fp, self.tn

    @property
    def n(self) -> int:
        """All of them."""
        return sum(self.cells)

    @property
    def passes(self) -> int:
        """How many are passes in truth."""
        return self.tp + self.fn

    @property
    def fails(self) -> int:
        """How many are fails in truth."""
        return self.fp + self.tn


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its interval.

    Attributes:
        value: None where it is undefined; never 0 for "unknown".
        low: Of the interval; None with the value.
        high: Of the interval; None with the value.
        n: Rows behind it; less than were counted, and no whole number, where rows weigh differently.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a judge's table comes to.

    Attributes:
        agreement: Share of equal verdicts.
        kappa: Cohen's kappa, in [-1, 1]; undefined when a side is constant.
        sensitivity: Share of the passes that the judge passes.
        specificity: Share of the fails that it fails.
    """

    agreement: Figure
    kappa: Figure
    sensitivity: Figure
    specificity: Figure


def agreement_of(table: Confusion, conf: float = 0.95) -> Agreement:
    """Figures of a table whose rows were taken as they come.

    Shares have Wilson's interval, kappa the normal one on its large-sample error. Where all verdicts
    agree that error is 0, and kappa's lower end is what Wilson's lower end of the agreement leaves of it.

    Args:
        table: The judge against the truth.
        conf: Two-sided confidence, above 0 and below 1.

    Raises:
        ValueError: If ``conf`` is out of range.

    Source: Cohen (1960), Educational and Psychological Measurement 20(1), 37-46; Fleiss, Cohen and
    Everitt (1969), Psychological Bulletin 72(5), 323-327; Wilson (1927), JASA 22(158), 209-212.

    >>> found = agreement_of(Confusion(tp=18, fn=5, fp=11, tn=16))
    >>> round(found.kappa.value, 3), round(found.kappa.low, 3), round(found.specificity.value, 3)
    (0.368, 0.119, 0.593)
    >>> agreement_of(Confusion(tp=9, fn=1)).kappa.value is None  # no fail among the labels
    True
    """
    tp, fn, fp, tn = table.cells
    return Agreement(
        agreement=share(tp + tn, table.n, conf),
        kappa=_kappa(table, conf),
        sensitivity=share(tp, tp + fn, conf),
        specificity=share(tn, fp + tn, conf),
    )


def share(part: float, whole: float, conf: float = 0.95) -> Figure:
    """A share with Wilson's interval; also of rows that count for less than one each.

    Args:
        part: Rows that have it, from 0 to ``whole``.
        whole: All rows; 0 leaves the figure undefined.
        conf: Two-sided confidence, above 0 and below 1.

    >>> share(0, 0)
    Figure(value=None, low=None, high=None, n=0)
    """
    z = quantile(conf)
    if not whole:
        return Figure()
    value, spread = part / whole, z * z / whole
    middle, half = value + spread / 2, sqrt(max(0.0, value * (1 - value) * spread + spread * spread / 4))
    low = (middle - half) / (1 + spread) if part else 0.0
    high = (middle + half) / (1 + spread) if part < whole else 1.0
    return Figure(value, max(0.0, min(low, value)), min(1.0, max(high, value)), whole)


def quantile(conf: float) -> float:
    """How many standard errors make an interval of this confidence.

    Raises:
        ValueError: If ``conf`` is not between 0 and 1.
    """
    if not 0 < conf < 1:
        raise ValueError(f"conf {conf!r} is no confidence; want a number between 0 and 1 such as 0.95")
    return NormalDist().inv_cdf((1 + conf) / 2)


def kappa_of(cells: Shares) -> float | None:
    """Cohen's kappa of four counts or shares; None when a side is constant."""
    a, b, c, d = cells
    if not ((a + b) and (c + d) and (a + c) and (b + d)):
        return None
    return 2 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d))


def kappa_slope(cells: Shares) -> Shares:
    """How kappa changes with each of the four shares; neither side may be constant."""
    a, b, c, d = cells
    over, under = 2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d)
    tops = (2 * d, -2 * c, -2 * b, 2 * a)
    bottoms = (b + c + 2 * d, a + 2 * b + d, a + 2 * c + d, 2 * a + b + c)
    p, q, r, s = (
        (top * under - over * bottom) / (under * under) for top, bottom in zip(tops, bottoms, strict=True)
    )
    return p, q, r, s


def spread_of(shares: Shares, slope: Shares) -> float:
    """Variance of one row's part in a figure: divided by the rows it is the figure's own."""
    mean = sum(p * g for p, g in zip(shares, slope, strict=True))
    return max(0.0, sum(p * g * g for p, g in zip(shares, slope, strict=True)) - mean * mean)


def krippendorff_alpha(units: Iterable[Sequence[Hashable | None]]) -> float | None:
    """Agreement among any number of raters beyond chance, for names that have no order.

    Args:
        units: What each rater said of one thing; None where a rater said nothing. Units with fewer
            than two values do not count.

    Returns:
        Alpha, at most 1, 0 for agreement by chance; None when no unit has two values, or all values
        are the same so that chance explains everything.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, nominal metric.

    >>> krippendorff_alpha([("a", "a"), ("b", "b"), ("a", None)])
    1.0
    >>> krippendorff_alpha([("a", "a"), ("a", "a")]) is None
    True
    """
    totals: Counter[Hashable] = Counter()
    apart = 0.0
    for unit in units:
        counts = Counter(value for value in unit if value is not None)
        size = counts.total()
        if size > 1:
            totals.update(counts)
            apart += (size * size - sum(n * n for n in counts.values())) / (size - 1)
    n = totals.total()
    chance = n * n - sum(count * count for count in totals.values())
    return 1 - (n - 1) * apart / chance if chance else None


def _kappa(table: Confusion, conf: float) -> Figure:
    z, n = quantile(conf), table.n
    value = kappa_of(table.cells)
    if value is None:
        return Figure(n=n)
    tp, fn, fp, tn = (count / n for count in table.cells)
    shares = (tp, fn, fp, tn)
    if not (table.fn or table.fp):
        chance = table.passes**2 / n**2 + table.fails**2 / n**2
        least = share(n, n, conf).low or 0.0
        return Figure(value, (least - chance) / (1 - chance), 1.0, n)
    half = z * sqrt(spread_of(shares, kappa_slope(shares)) / n)
    return Figure(value, max(-1.0, value - half), min(1.0, value + half), n)
