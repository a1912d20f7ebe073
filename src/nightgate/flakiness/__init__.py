"""Flaky or broken: what changed over the nights, and what was never steady.

Owns the detector: a baseline for each case and evaluator, a sequential test that asks for reruns in the
same night, states that change once and labels. Counts in, states out: no store, no model, no clock.
"""

from nightgate.flakiness.folding import (
    Again,
    Change,
    Findings,
    Suspicion,
    Tonight,
    baseline,
    close_night,
    label_of,
    open_night,
    trend,
)
from nightgate.flakiness.nights import (
    Book,
    Counts,
    Event,
    Found,
    Identity,
    Night,
    Pair,
    State,
    Watched,
)
from nightgate.flakiness.reruns import Reruns
from nightgate.flakiness.rules import (
    FLAKY,
    LABELS,
    MOST_RERUNS,
    STABLE_FAIL,
    STABLE_PASS,
    TOO_FEW,
    Rates,
    SequentialTest,
    allowance,
    label,
    rates_of,
    side_by_side,
    suite_event,
)

__all__ = [
    "FLAKY",
    "LABELS",
    "MOST_RERUNS",
    "STABLE_FAIL",
    "STABLE_PASS",
    "TOO_FEW",
    "Again",
    "Book",
    "Change",
    "Counts",
    "Event",
    "Findings",
    "Found",
    "Identity",
    "Night",
    "Pair",
    "Rates",
    "Reruns",
    "SequentialTest",
    "State",
    "Suspicion",
    "Tonight",
    "Watched",
    "allowance",
    "baseline",
    "close_night",
    "label",
    "label_of",
    "open_night",
    "rates_of",
    "side_by_side",
    "suite_event",
    "trend",
]
