"""Canaries: frozen trials that every night judges again, so that a judge that changes is seen.

Owns what is frozen (``references``), when flipped verdicts are an alarm and in which direction
(``drift``), and the planted attacks that must not pass (``attacks``). Knows no store and no model.
"""

from nightgate.canaries.attacks import (
    ATTACKS,
    FIRST_PLANTED,
    MOST_ATTACKED,
    PLAIN,
    attack_of,
    attacked,
    planted,
)
from nightgate.canaries.drift import ALPHA, BASE_RATE, Flips, base_rate, direction_of, is_alarm, p_value
from nightgate.canaries.references import Frozen, Judge, Looks, Reference

__all__ = [
    "ALPHA",
    "ATTACKS",
    "BASE_RATE",
    "FIRST_PLANTED",
    "MOST_ATTACKED",
    "PLAIN",
    "Flips",
    "Frozen",
    "Judge",
    "Looks",
    "Reference",
    "attack_of",
    "attacked",
    "base_rate",
    "direction_of",
    "is_alarm",
    "p_value",
    "planted",
]
