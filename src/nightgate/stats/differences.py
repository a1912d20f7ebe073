"""One question, one test: did the mean over the same cases change, and by how much?

Owns which test answers for how many cases and trials, and the interval beside it. The tests themselves are
``paired``'s. Knows no evaluator and no verdict: how many questions were asked, and what may be said, is
decided above.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from nightgate.stats._counts import CaseCounts, checked
from nightgate.stats.paired import case_differences, mcnemar_p, paired_t, sign_flip_p

T_FROM_CASES = 30
"""From so many cases on the t distribution stands for the signs."""


class PairedTest(NamedTuple):
    """What a pair of runs says of a change, before any correction."""

    test: Literal["mcnemar", "sign_flip", "paired_t"]
    p_value: float


def paired_test(before: CaseCounts, after: CaseCounts) -> PairedTest:
    """Chance of a change at least this large if nothing changed.

    One trial a case: exact McNemar. More: sign flips under 30 cases, the paired t test from there on. Where
    all cases changed by the same amount there is no spread to divide by, and the signs decide.

    Args:
        before: ``(passed, judged)`` of each case in the first run, shape (n,).
        after: The same cases in the same order, now.

    Returns:
        The name of the test and its two-sided p-value in (0, 1]; 1.0 if nothing changed, or no case was
        judged in both.

    Raises:
        ValueError: If the two differ in length or a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.

    >>> paired_test([(1, 1)] * 6, [(0, 1)] * 6)
    PairedTest(test='mcnemar', p_value=0.03125)
    """
    differences = case_differences(before, after)
    if all(n == 1 for _, n in (*_both(before, after), *_both(after, before))):
        return PairedTest(
            "mcnemar", mcnemar_p(differences.count(Fraction(-1)), differences.count(Fraction(1)))
        )
    if len(differences) < T_FROM_CASES:
        return PairedTest("sign_flip", sign_flip_p(differences))
    found = paired_t(differences)
    if found is not None:
        return PairedTest("paired_t", found.p_value)
    # The same amount everywhere: only the two assignments with all signs alike are as extreme.
    return PairedTest("sign_flip", mcnemar_p(len(differences), 0) if differences[0] else 1.0)


def paired_interval(before: CaseCounts, after: CaseCounts, conf: float = 0.95) -> tuple[float, float] | None:
    """Interval of the mean change over cases like these.

    The paired t interval. Where all cases changed by the same amount (or none did) a width of 0 would be
    certainty out of nothing; it is then as wide as if one trial of one case had come out otherwise, which for
    single trials is about the 3/n of the rule of three.

    Args:
        before: ``(passed, judged)`` of each case in the first run, shape (n,).
        after: The same cases in the same order, now.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Lower and upper end in [-1, 1]; None with fewer than two cases judged in both.

    Raises:
        ValueError: If ``conf`` is out of range, or as ``paired_test``.
        TypeError: If a count is no integer.

    >>> [round(end, 3) for end in paired_interval([(1, 1)] * 200, [(1, 1)] * 200)]
    [-0.015, 0.015]
    """
    differences = case_differences(before, after)
    if len(differences) < 2:  # noqa: PLR2004 - one case has no spread
        return None
    found = paired_t(differences, conf)
    if found is not None:
        return found.low, found.high
    step = Fraction(1, min(n for _, n in (*_both(before, after), *_both(after, before))))
    low = paired_t([differences[0] - step, *differences[1:]], conf)
    high = paired_t([differences[0] + step, *differences[1:]], conf)
    assert low is not None  # the step makes them differ
    assert high is not None
    return low.low, high.high


def _both(counts: CaseCounts, others: CaseCounts) -> Sequence[tuple[int, int]]:
    """The counts of the cases that are judged on both sides."""
    pairs = zip(checked(counts), checked(others), strict=True)
    return [own for own, other in pairs if own[1] and other[1]]
