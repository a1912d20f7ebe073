"""Gate arithmetic: integer counts against a threshold that is read as text, without rounding.

Owns the verdict of one evaluator from its counts, and how a rate is printed beside its threshold.
Knows nothing of cells, coverage, blocking cases or policies: ``gates`` counts and combines. Floats
never enter a decision here, because ``0.85 * 20`` is not 17. Imports the standard library only.
"""

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from operator import index
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["pass", "fail", "inconclusive"]

_MOST_DECIMALS = 10
"""Decimals of a percent after which a printed rate falls back to k/n."""
_LONGEST_THRESHOLD = 64
"""Decimals of a threshold; "1e-999999999" would otherwise build a billion-digit integer."""


def parse_threshold(threshold: str | Fraction | Decimal | float) -> Fraction:
    """Read a threshold exactly as it was written.

    Args:
        threshold: A decimal in [0, 1]. A float stands for its shortest decimal text, so 0.85 read
            from a file is 17/20 and not the binary number next to it.

    Raises:
        ValueError: If it is no finite decimal in [0, 1].

    >>> parse_threshold("0.85")
    Fraction(17, 20)
    """
    exact = threshold if isinstance(threshold, Fraction) else _from_text(str(threshold).strip())
    if exact is None or not 0 <= exact <= 1:
        raise ValueError(f"threshold {threshold!r} is no decimal from 0 to 1; write it like 0.85")
    return exact


def _from_text(text: str) -> Fraction | None:
    """Return the number ``text`` spells, or None if it is none or could not lie in [0, 1]."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    # The size is settled before a Fraction is built: "1e999999999" is cheap only as a Decimal.
    if number.is_zero():
        return Fraction(0)
    if not isinstance(exponent, int) or not 0 <= number <= 1 or exponent < -_LONGEST_THRESHOLD:
        return None
    return Fraction(number)


def rate_bounds(passed: int, failed: int, unjudged: int) -> tuple[Fraction, Fraction] | None:
    """Lowest and highest pass rate that the unjudged cells leave possible.

    Args:
        passed: Cells that passed.
        failed: Cells that failed.
        unjudged: Cells that were due and neither judged nor allowed to be skipped.

    Returns:
        The rate if all unjudged cells had failed, and if all had passed; None without any cell.

    Raises:
        ValueError: If a count is negative.
        TypeError: If a count is no integer.

    >>> rate_bounds(15, 0, 6)
    (Fraction(5, 7), Fraction(1, 1))
    """
    p, f, u = index(passed), index(failed), index(unjudged)
    if min(p, f, u) < 0:
        raise ValueError(f"{passed=}, {failed=}, {unjudged=}: counts of cells cannot be negative")
    planned = p + f + u
    return (Fraction(p, planned), Fraction(p + u, planned)) if planned else None


def bounds_verdict(
    passed: int, failed: int, unjudged: int, threshold: str | Fraction | Decimal | float
) -> Verdict:
    """Decide one evaluator so that the verdict holds whatever the unjudged cells would have said.

    Args:
        passed: Cells that passed.
        failed: Cells that failed.
        unjudged: Cells that were due and neither judged nor allowed to be skipped.
        threshold: Least pass rate, see `parse_threshold`.

    Returns:
        "pass" if the rate reaches the threshold though all unjudged had failed, "fail" if it
        misses it though all had passed, otherwise (and without any judged cell) "inconclusive".

    Raises:
        ValueError: If a count is negative or the threshold is no decimal in [0, 1].
        TypeError: If a count is no integer.

    >>> bounds_verdict(18, 3, 0, "0.85"), bounds_verdict(17, 4, 0, "0.85")
    ('pass', 'fail')
    >>> bounds_verdict(15, 0, 6, "0.85")
    'inconclusive'
    """
    least = parse_threshold(threshold)
    bounds = rate_bounds(passed, failed, unjudged)
    # No data is settled first: a threshold of 0 would otherwise pass a suite nobody judged.
    if bounds is None or passed + failed == 0:
        return "inconclusive"
    low, high = bounds
    if low >= least:
        return "pass"
    return "fail" if high < least else "inconclusive"


def passes_needed(planned: int, threshold: str | Fraction | Decimal | float) -> int:
    """Fewest passes of ``planned`` cells that reach the threshold.

    Raises:
        ValueError: If ``planned`` is negative or the threshold is no decimal in [0, 1].
        TypeError: If ``planned`` is no integer.

    >>> passes_needed(21, "0.85"), passes_needed(100, "0.07")
    (18, 7)
    """
    cells = index(planned)
    if cells < 0:
        raise ValueError(f"{planned=}: a count of cells cannot be negative")
    share = parse_threshold(threshold) * cells
    return -(-share.numerator // share.denominator)


def percent_beside(rate: Fraction, threshold: Fraction) -> tuple[str, str]:
    """Print a rate beside its threshold so that a reader sees the comparison the gate made.

    The threshold is printed as it was configured, the rate in whole percents, or with the fewest
    decimals that keep the two apart. A rate short of 1 never reads "100%", one above 0 never "0%".

    Args:
        rate: Exact pass rate in [0, 1].
        threshold: Exact threshold in [0, 1].

    Returns:
        Rate and threshold as text. Where 10 decimals do not suffice, a fraction ("k/n") stands in.

    Raises:
        ValueError: If one of them lies outside [0, 1].

    >>> percent_beside(Fraction(5, 7), Fraction(1))
    ('71%', '100%')
    >>> percent_beside(Fraction(17, 21), Fraction("0.81"))
    ('80.95%', '81%')
    """
    if not (0 <= rate <= 1 and 0 <= threshold <= 1):
        raise ValueError(f"rate {rate} and threshold {threshold}: both must lie in [0, 1]")
    written = _decimals_of(threshold)
    for decimals in range(_MOST_DECIMALS + 1):
        threshold_decimals = decimals if written is None else written
        shown, bar = _rounded(rate, decimals), _rounded(threshold, threshold_decimals)
        honest = _ends_agree(shown, rate) and _ends_agree(bar, threshold)
        if honest and _order(shown, bar) == _order(rate, threshold):
            return _percent(shown, decimals), _percent(bar, threshold_decimals)
    return str(rate), str(threshold) if written is None else _percent(threshold, written)


def _decimals_of(share: Fraction) -> int | None:
    """Return the decimals that write ``share`` as a percent exactly, or None beyond the most."""
    exact = (d for d in range(_MOST_DECIMALS + 1) if (share * 100 * 10**d).denominator == 1)
    return next(exact, None)


def _rounded(share: Fraction, decimals: int) -> Fraction:
    """Round to ``decimals`` of a percent, halves to even as Python's own formatting does."""
    return Fraction(round(share * 100 * 10**decimals), 100 * 10**decimals)


def _percent(share: Fraction, decimals: int) -> str:
    """Write a share that is already rounded to ``decimals`` of a percent."""
    whole, rest = divmod(int(share * 100 * 10**decimals), 10**decimals)
    return f"{whole}.{rest:0{decimals}d}%" if decimals else f"{whole}%"


def _order(left: Fraction, right: Fraction) -> int:
    """Return -1, 0 or 1 as ``left`` is below, at or above ``right``."""
    return (left > right) - (left < right)


def _ends_agree(shown: Fraction, exact: Fraction) -> bool:
    """Whether "0%" and "100%" are printed only for what is exactly that."""
    return shown == exact or shown not in (0, 1)
