"""Two small counts of passes beside each other, exactly.

Owns the one-sided exact test of two shares. Knows no cases and no factors. Imports the standard library only.
"""

from fractions import Fraction
from math import comb
from operator import index

Share = tuple[int, int]
"""``(passed, judged)``."""


def more_passes(before: Share, now: Share) -> Fraction:
    """Chance that the passes fall at least this much to ``now`` if both are the same coin.

    Args:
        before: Passes, and what was judged.
        now: The same of the other side.

    Returns:
        One-sided p-value in (0, 1], exact; 1 where a side has nothing judged.

    Raises:
        ValueError: If counts are impossible.
        TypeError: If a count is no integer.

    Source: Fisher's exact test, one-sided (Fisher 1934, Statistical Methods for Research Workers, 5th ed.).

    >>> more_passes((0, 3), (3, 3)), more_passes((0, 3), (2, 3))
    (Fraction(1, 20), Fraction(1, 5))
    """
    (a, n), (b, m) = ((index(passed), index(judged)) for passed, judged in (before, now))
    if not (0 <= a <= n and 0 <= b <= m):
        raise ValueError(f"{before=}, {now=}: want 0 <= passed <= judged")
    passes = a + b
    ways = sum(comb(m, i) * comb(n, passes - i) for i in range(b, min(m, passes) + 1))
    return Fraction(ways, comb(n + m, passes))
