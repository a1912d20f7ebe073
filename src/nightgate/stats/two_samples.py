"""Two sets of conversations: how far apart are they, and is it more than chance?

Owns the tests and effect sizes for two independent samples: shape, spread, the ratio of two means,
counts by category. Values may be those of messages, but what is relabelled and resampled are whole
conversations: messages of one conversation resemble each other. Knows no conversations; what may be
said is decided in ``representative``. numpy and scipy cost start-up and are imported inside the
functions that need them.

What is drawn at random is drawn from a fixed seed, so the same numbers get the same answer every day.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite, sqrt
from operator import index
from statistics import NormalDist, median
from typing import Any, NamedTuple, TypeAlias

Values: TypeAlias = Sequence[Sequence[float]]
"""One sequence a conversation, never empty: a value for each of its messages, or one for all of it."""

DRAWS = 9_999
"""Relabellings behind a permutation p-value; the smallest that can come out is 1/10,000."""
RESAMPLES = 4_000
"""Bootstrap samples behind an interval."""

_SEED = 20
_AT_ONCE = 2_000_000
"""Numbers held in memory at a time."""
_LEAST_EXPECTED = 5
"""Expected count of a cell under which the chi-square distribution is no longer trusted (Cochran 1954)."""
_EQUAL = 1 - 1e-9
"""A drawn statistic within rounding of the observed one counts as equal to it."""


class Difference(NamedTuple):
    """A test's statistic and its two-sided p-value."""

    statistic: float
    p_value: float


class Association(NamedTuple):
    """Counts by category in two samples: chi-square test, and Cramer's V as its size in [0, 1]."""

    chi2: float
    dof: int
    p_value: float
    cramers_v: float


class Ratio(NamedTuple):
    """Simulated mean over real mean, with its interval; ``high`` may be infinite."""

    ratio: float
    low: float
    high: float


def cramer_von_mises(real: Values, simulated: Values) -> Difference | None:
    """Whether two samples come from one distribution: differences of place, width and shape alike.

    The p-value counts relabellings of conversations, which is right with ties and with several values
    a conversation. scipy's function ranks as if there were no ties: on whole numbers such as turns,
    20 against 100 from one distribution, it answers p < .05 in three samples of four.

    Args:
        real: Values of each conversation.
        simulated: Likewise.

    Returns:
        Statistic and p-value, 1.0 if all values are the same; None with fewer than two conversations on
        a side.

    Raises:
        ValueError: If a value is not finite or a conversation has none.

    Source: Anderson (1962), Annals of Mathematical Statistics 33(3), 1148-1159; permutation p-value
    with the observed labels counted (Phipson and Smyth 2010).

    >>> from scipy.stats import cramervonmises_2samp
    >>> quick, slow = [1.1, 2.3, 2.9, 4.2, 5.6, 6.1], [3.3, 5.1, 6.6, 7.7, 8.8]
    >>> exact = cramervonmises_2samp(quick, slow)
    >>> [round(float(figure), 2) for figure in (exact.statistic, exact.pvalue)]
    [0.38, 0.1]
    >>> [round(figure, 2) for figure in cramer_von_mises([[v] for v in quick], [[v] for v in slow])]
    [0.38, 0.1]
    """
    if not _comparable(real, simulated):
        return None
    import numpy as np

    talks = [*real, *simulated]
    kinds, which = np.unique([value for talk in talks for value in talk], return_inverse=True)
    rows = np.zeros((len(talks), len(kinds)))
    np.add.at(rows, (np.repeat(np.arange(len(talks)), [len(talk) for talk in talks]), which), 1)
    together = rows.sum(axis=0)

    def statistic(ours: Any) -> Any:
        first = ours.sum(axis=-1, keepdims=True)
        second = together.sum() - first
        gap = ours.cumsum(axis=-1) / first - (together - ours).cumsum(axis=-1) / second
        return (first * second / together.sum() ** 2 * gap**2 * together).sum(axis=-1)

    return _permuted(statistic, rows, len(real))


def levene(real: Values, simulated: Values) -> Difference | None:
    """Whether two samples spread equally: a simulated user is often too uniform.

    Distances from the own side's median are compared, and the p-value counts relabellings of
    conversations: with several values a conversation, the F distribution does not hold.

    Args:
        real: Values of each conversation.
        simulated: Likewise.

    Returns:
        Statistic (infinite where all distances of a side are the same) and p-value; None with fewer
        than two conversations on a side.

    Raises:
        ValueError: If a value is not finite or a conversation has none.

    Source: Brown and Forsythe (1974), Journal of the American Statistical Association 69, 364-367.

    >>> from scipy.stats import levene as scipys
    >>> wide, narrow = [1.0, 4.0, 6.0, 9.0, 13.0], [5.0, 6.0, 6.0, 7.0]
    >>> exact = scipys(wide, narrow, center="median")
    >>> ours = levene([[v] for v in wide], [[v] for v in narrow])
    >>> round(float(exact.statistic), 9) == round(ours.statistic, 9)
    True
    """
    if not _comparable(real, simulated):
        return None
    import numpy as np

    distances = [
        [abs(value - middle) for value in talk]
        for side in (real, simulated)
        for middle in [median(value for talk in side for value in talk)]
        for talk in side
    ]
    rows = np.asarray([(len(talk), sum(talk)) for talk in distances], dtype=float)
    size, total = rows.sum(axis=0)
    spread = sum((distance - total / size) ** 2 for talk in distances for distance in talk)

    def statistic(ours: Any) -> Any:
        first, ours_total = ours[..., 0], ours[..., 1]
        second = size - first
        means = ours_total / first - (total - ours_total) / second
        between = first * second / size * means**2
        within = spread - between
        within = np.where(within > spread * (1 - _EQUAL), within, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num((size - 2) * between / within, nan=0.0, posinf=inf)

    return _permuted(statistic, rows, len(real))


def _comparable(real: Values, simulated: Values) -> bool:
    """Whether both sides have a distribution.

    Raises:
        ValueError: If a value is not finite or a conversation has none.
    """
    for talk in (*real, *simulated):
        if not talk or not all(isfinite(value) for value in talk):
            raise ValueError("every conversation needs values, all of them finite; leave the others out")
    return min(len(real), len(simulated)) > 1


def association(real: Sequence[int], simulated: Sequence[int]) -> Association | None:
    """Whether two samples fall into the same categories as often (chi-square, without correction).

    Where a count of under 5 is expected, the p-value is from relabelling instead of the chi-square
    distribution.

    Args:
        real: Shape (k,): how many fell into each category.
        simulated: Shape (k,), same categories in the same order.

    Returns:
        The test over the categories that occurred; p = 1 and V = 0 where that is one; None where a
        side is empty.

    Raises:
        ValueError: If the two differ in length or a count is negative.
        TypeError: If a count is no integer.

    >>> [round(figure, 3) for figure in association([70, 18, 12, 20], [86, 9, 2, 3])]
    [22.719, 3, 0.0, 0.321]
    """
    pairs = [(index(a), index(b)) for a, b in zip(real, simulated, strict=True)]
    if any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"{real=}, {simulated=}: counts of conversations cannot be negative")
    seen = [pair for pair in pairs if any(pair)]
    if not sum(real) or not sum(simulated):
        return None
    if len(seen) == 1:
        return Association(0.0, 0, 1.0, 0.0)
    import numpy as np
    from scipy.stats import chi2_contingency

    table = np.asarray(seen).T
    found = chi2_contingency(table, correction=False)
    expected = found.expected_freq

    def statistic(counts: Any) -> Any:
        gaps = (counts - expected[0]) ** 2
        return (gaps / expected[0] + gaps / expected[1]).sum(axis=-1)

    p_value = float(found.pvalue)
    if expected.min() < _LEAST_EXPECTED:
        each = np.eye(len(seen))
        rows = np.concatenate([each.repeat(side, axis=0) for side in table])
        p_value = _permuted(statistic, rows, int(table[0].sum())).p_value
    chi2 = float(found.statistic)
    return Association(chi2, int(found.dof), p_value, sqrt(chi2 / int(table.sum())))


def visible_association(size: int, dof: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest Cramer's V of a 2 x k table that a chi-square test finds with the given power.

    Args:
        size: Conversations of both samples together, at least one.
        dof: Categories less one, at least one.
        alpha: Significance level.
        power: Chance to find it.

    Raises:
        ValueError: If an argument is out of range.

    Source: Cohen (1988), Statistical Power Analysis, chapter 7.

    >>> round(visible_association(220, 3), 3)
    0.223
    """
    if size < 1 or dof < 1 or not (0 < alpha < power < 1):
        raise ValueError(f"{size=}, {dof=}, {alpha=}, {power=}: want 1 or more, and 0 < alpha < power < 1")
    from scipy.special import chdtri, chndtrinc

    return sqrt(float(chndtrinc(chdtri(dof, alpha), dof, 1 - power)) / size)


def ratio_interval(
    real: Sequence[tuple[float, float]], simulated: Sequence[tuple[float, float]], conf: float = 0.95
) -> Ratio | None:
    """Simulated mean over real mean, each a ratio of sums, with a bootstrap interval over conversations.

    The interval is the percentile one, widened for small samples (Hesterberg's expanded percentile):
    at 20 conversations a side it covers 95-97%, the plain one 92-95%.

    Args:
        real: One ``(amount, weight)`` a conversation: facts and messages, say; weight 1 for a plain mean.
        simulated: Likewise.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Ratio and interval, 0 <= low <= high; None with fewer than two on a side or a real mean of 0.

    Raises:
        ValueError: If an amount is negative, a weight is not positive, or ``conf`` is out of range.

    Source: Hesterberg (2015), The American Statistician 69(4), 371-386, section 5.3.

    >>> ratio_interval([(4, 1), (6, 1)] * 20, [(2, 1), (3, 1)] * 20).ratio
    0.5
    """
    if not 0 < conf < 1:
        raise ValueError(f"conf {conf!r} is no confidence; want a number between 0 and 1 such as 0.95")
    if any(not (0 <= amount < inf and 0 < weight < inf) for amount, weight in (*real, *simulated)):
        raise ValueError("amounts must be 0 or more and weights above 0, both finite")
    fewest = min(len(real), len(simulated))
    if fewest < 2 or not sum(amount for amount, _ in real):  # noqa: PLR2004 - no spread in one
        return None
    import numpy as np
    from scipy.special import stdtrit

    reach = -float(stdtrit(fewest - 1, (1 - conf) / 2)) * sqrt(fewest / (fewest - 1))
    tail = NormalDist().cdf(-reach)
    rng = np.random.default_rng(_SEED)
    below, above = _resampled(simulated, rng), _resampled(real, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = below / above
    # 0 of 0 says nothing: it widens both ends. "lower" and "higher" never blend a number with infinity.
    low = np.quantile(np.nan_to_num(ratios, nan=0.0, posinf=inf), tail, method="lower")
    high = np.quantile(np.nan_to_num(ratios, nan=inf, posinf=inf), 1 - tail, method="higher")
    return Ratio(_mean(simulated) / _mean(real), float(low), float(high))


def _mean(sample: Sequence[tuple[float, float]]) -> float:
    return sum(amount for amount, _ in sample) / sum(weight for _, weight in sample)


def _resampled(sample: Sequence[tuple[float, float]], rng: Any) -> Any:
    """Means of bootstrap samples of whole conversations, shape (RESAMPLES,)."""
    import numpy as np

    amounts, weights = np.asarray(sample, dtype=float).T
    size = len(sample)
    means = []
    for many in _portions(RESAMPLES, size):
        chosen = rng.integers(0, size, size=(many, size))
        means.append(amounts[chosen].sum(axis=1) / weights[chosen].sum(axis=1))
    return np.concatenate(means)


def _permuted(statistic: Callable[[Any], Any], rows: Any, size: int) -> Difference:
    """A statistic of the first sample's sums, with its p-value over random relabellings.

    Args:
        statistic: Of sums of shape (..., k): their statistics, shape (...).
        rows: Shape (n, k): what each conversation adds to the sums.
        size: Conversations of the first sample, which come first.
    """
    import numpy as np

    observed = float(statistic(rows[:size].sum(axis=0)))
    rng = np.random.default_rng(_SEED)
    labels = np.zeros(len(rows), dtype=np.int8)
    labels[:size] = 1
    reached = 0
    for many in _portions(DRAWS, max(rows.shape)):
        shuffled = rng.permuted(np.broadcast_to(labels, (many, len(labels))), axis=1)
        reached += int((statistic(shuffled.astype(float) @ rows) >= observed * _EQUAL).sum())
    return Difference(observed, (reached + 1) / (DRAWS + 1))


def _portions(times: int, width: int) -> Iterator[int]:
    """``times`` in portions that fit into memory when each takes ``width`` numbers."""
    portion = max(1, _AT_ONCE // max(1, width))
    for start in range(0, times, portion):
        yield min(portion, times - start)
