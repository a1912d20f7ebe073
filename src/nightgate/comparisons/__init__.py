"""Two runs of a suite: what may be compared, what changed sides, and what may be said of it.

``sides`` holds a run's counts, ``pairing`` finds what two runs share, ``verdicts`` tests and corrects,
``factors`` says what else is different, ``wording`` makes the sentence, ``outcomes`` the documents,
``regressions`` is the gate's rule. Knows no store: plans and counts come in, a ``Comparison`` goes out.
"""

from nightgate.comparisons.factors import Factor, factors
from nightgate.comparisons.outcomes import NO_BASE, Outcome
from nightgate.comparisons.pairing import Flip, Paired, Pairing, judged_differently, pair
from nightgate.comparisons.regressions import Held, held
from nightgate.comparisons.sides import Counts, Side
from nightgate.comparisons.verdicts import ALPHA, MARGIN, Change, Comparison, Word, compare
from nightgate.comparisons.wording import change_text, points, sentence

__all__ = [
    "ALPHA",
    "MARGIN",
    "NO_BASE",
    "Change",
    "Comparison",
    "Counts",
    "Factor",
    "Flip",
    "Held",
    "Outcome",
    "Paired",
    "Pairing",
    "Side",
    "Word",
    "change_text",
    "compare",
    "factors",
    "held",
    "judged_differently",
    "pair",
    "points",
    "sentence",
]
