"""Counts of one case: how many trials passed, of how many judged.

Owns the shape every statistic over cases takes, and its check. Knows no rows, no statuses: the
caller has already decided what counts as judged. Imports the standard library only.
"""

from collections.abc import Sequence
from operator import index
from typing import TypeAlias

CaseCounts: TypeAlias = Sequence[tuple[int, int]]
"""One ``(passed, judged)`` pair a case, in any order."""


def checked(counts: CaseCounts) -> list[tuple[int, int]]:
    """Return ``counts`` as plain integers, every pair known to be possible.

    Raises:
        ValueError: If a pair breaks 0 <= passed <= judged.
        TypeError: If a count is no integer.
    """
    pairs = [(index(passed), index(judged)) for passed, judged in counts]
    for position, (passed, judged) in enumerate(pairs):
        if not 0 <= passed <= judged:
            raise ValueError(
                f"case {position} of {len(pairs)}: {passed} passed of {judged} judged is impossible; "
                "want 0 <= passed <= judged"
            )
    return pairs


def judged_only(counts: CaseCounts) -> list[tuple[int, int]]:
    """Return the checked pairs of the cases with at least one judged trial."""
    return [(passed, judged) for passed, judged in checked(counts) if judged]
