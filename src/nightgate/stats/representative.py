"""Does a simulated user represent real ones? Three words: representative, not representative, unproven.

Owns which figures decide which word. A difference that the tests show makes it not representative; no
difference found is not yet likeness, so it stays unproven until the samples are large enough to have
shown one. Knows no conversations: numbers in, words out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from nightgate.stats.paired import holm
from nightgate.stats.two_samples import (
    Association,
    Difference,
    Ratio,
    Values,
    association,
    cramer_von_mises,
    levene,
    ratio_interval,
    visible_association,
)

Likeness: TypeAlias = Literal["representative", "not representative", "unproven"]

ALPHA = 0.05
"""Chance that a user who is like the real ones is called not representative, over all features."""
BAND = (0.8, 1.25)
"""Where the interval of simulated mean over real mean must lie to be called the same."""
LEAST_CONVERSATIONS = 20
"""Of each kind: fewer are never called representative, however alike they look."""
MOST_ASSOCIATION = 0.3
"""Cramer's V that must have been visible before "no difference found" counts: a medium effect (Cohen)."""


class Measured(NamedTuple):
    """One feature that has figures in every conversation."""

    word: Likeness
    ratio: Ratio | None
    shape: Difference | None
    spread: Difference | None
    shape_p: float | None
    """Of the shape, after Holm."""
    spread_p: float | None
    """Of the spread, after Holm."""

    @property
    def off(self) -> tuple[str, ...]:
        """Which of shape and spread differ."""
        found = (("shape", self.shape_p), ("spread", self.spread_p))
        return tuple(name for name, p in found if p is not None and p <= ALPHA)


class Sorted(NamedTuple):
    """The feature that sorts conversations into categories."""

    word: Likeness
    association: Association | None
    p_value: float | None
    """After Holm."""
    visible: float | None
    """Smallest Cramer's V that so many conversations show at 80% power."""


def compare(
    values: Mapping[str, tuple[Values, Values]], counts: tuple[Sequence[int], Sequence[int]]
) -> tuple[dict[str, Measured], Sorted]:
    """Compare real with simulated conversations, feature by feature; Holm over all tests.

    Args:
        values: Feature -> real and simulated conversations, each with its values.
        counts: How often each category occurred, real and simulated, in the same order.

    Returns:
        What was found of each feature, and of the categories.

    Raises:
        ValueError: If values or counts are impossible, see `ratio_interval` and `association`.

    >>> same = [[turns] for turns in (3, 4, 5, 6, 7)] * 20
    >>> shorter = [[turns] for turns in (2, 2, 3, 3, 4)] * 20
    >>> found, ends = compare({"turns": (same, same), "words": (same, shorter)}, ([80, 20], [79, 21]))
    >>> found["turns"].word, found["words"].word, ends.word
    ('representative', 'not representative', 'representative')
    """
    tests = {name: (cramer_von_mises(*sides), levene(*sides)) for name, sides in values.items()}
    sorts = association(*counts)
    raw = [test and test.p_value for pair in tests.values() for test in pair]
    *adjusted, sorts_p = holm([*raw, sorts and sorts.p_value])
    ps = iter(adjusted)
    found = {
        name: _measured(values[name], tests=pair, adjusted=(next(ps), next(ps)))
        for name, pair in tests.items()
    }
    return found, _sorted(counts, sorts, sorts_p)


def overall(words: Iterable[Likeness]) -> Likeness:
    """The word for all features: one that is off decides, and one that is open leaves all open.

    >>> overall(["representative", "unproven"]), overall([])
    ('unproven', 'unproven')
    """
    said = set(words)
    if "not representative" in said:
        return "not representative"
    return "representative" if said == {"representative"} else "unproven"


def _measured(
    samples: tuple[Values, Values],
    tests: tuple[Difference | None, Difference | None],
    adjusted: tuple[float | None, float | None],
) -> Measured:
    real, simulated = ([(sum(talk), len(talk)) for talk in side] for side in samples)
    ratio = ratio_interval(real, simulated)
    low, high = BAND
    word: Likeness = "unproven"
    if any(p is not None and p <= ALPHA for p in adjusted):
        word = "not representative"
    elif (
        ratio is not None
        and low <= ratio.low
        and ratio.high <= high
        and min(map(len, samples)) >= LEAST_CONVERSATIONS
    ):
        word = "representative"
    return Measured(word, ratio, *tests, *adjusted)


def _sorted(
    counts: tuple[Sequence[int], Sequence[int]], found: Association | None, adjusted: float | None
) -> Sorted:
    if found is None:
        return Sorted("unproven", None, None, None)
    sizes = [sum(side) for side in counts]
    visible = visible_association(sum(sizes), max(1, found.dof))
    word: Likeness = "unproven"
    if adjusted is not None and adjusted <= ALPHA:
        word = "not representative"
    elif visible <= MOST_ASSOCIATION and min(sizes) >= LEAST_CONVERSATIONS:
        word = "representative"
    return Sorted(word, found, adjusted, visible)
