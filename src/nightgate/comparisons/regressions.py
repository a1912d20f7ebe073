"""The gate's optional rule: how much worse than the baseline is too much.

Owns ``gate.regression``. Two wires, each drawn only where it is written: ``max_drop`` is about size (exact
fractions, no statistics), ``alpha`` about certainty (a drop of any size that is more than chance). With
neither written it is ``alpha: 0.05``. Reads a comparison; knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nightgate import stats
from nightgate.comparisons.outcomes import Outcome
from nightgate.comparisons.verdicts import Change
from nightgate.comparisons.wording import points

DEFAULT_ALPHA = "0.05"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Held:
    """What the rule says of one evaluator."""

    passed: bool | None
    """None: it cannot be told, because it is not comparable."""
    text: str | None
    """Why it does not pass."""


def held(rule: Mapping[str, Any] | None, outcome: Outcome, name: str) -> Held:
    """Hold an evaluator against the baseline.

    Args:
        rule: ``gate.regression`` of the plan: ``max_drop`` and ``alpha`` as decimal text or None; None where
            the suite does not ask for the rule.
        outcome: The run beside its base. A run of a suite without a baseline passes: there is nothing to
            fall from, and its plan warns of it.
        name: The evaluator.
    """
    if rule is None or not outcome.expected:
        return Held(passed=True, text=None)
    start = f"{name}: not held against baseline {outcome.base or 'document'}"
    if outcome.comparison is None:
        return Held(passed=None, text=f"{start}: {outcome.trouble}")
    change = outcome.comparison.of(name)
    if change is None or change.drop is None:
        reason = "it has no cells there" if change is None else change.reason
        return Held(passed=None, text=f"{start}: {reason}")
    why = _fallen(rule, change)
    if why is None:
        return Held(passed=True, text=None)
    broken = [f.case for f in outcome.comparison.pairing.newly_broken if f.evaluator == name]
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    cases = f", newly broken [{', '.join(broken[:_NAMED])}{more}]" if broken else ""
    return Held(passed=False, text=f"{name}: {why}{cases}")


def _fallen(rule: Mapping[str, Any], change: Change) -> str | None:
    """Why a change is too much; None where it is not."""
    drop, before, now = change.drop, change.before, change.now
    assert drop is not None
    assert before is not None
    assert now is not None
    if drop <= 0:
        return None
    most, alpha = rule.get("max_drop"), rule.get("alpha")
    rates = f"{float(before):.1%} -> {float(now):.1%}"
    fell = f"fell by {points(float(drop)).lstrip('+')} against the baseline, {rates}"
    if most is not None and drop > stats.parse_threshold(most):
        allowed = float(stats.parse_threshold(most))
        return f"{fell}, at most {100 * allowed:g} points are allowed"
    if alpha is None and most is None:
        alpha = DEFAULT_ALPHA
    if alpha is not None and change.p_adjusted is not None and _at_most(change.p_adjusted, alpha):
        return f"{fell}, more than chance makes (p = {change.p_adjusted:.2g})"
    return None


def _at_most(p_value: float, alpha: str) -> bool:
    return Fraction(p_value) <= stats.parse_threshold(alpha)
