"""May this judge block? The bar that a judge has to meet, and who meets it.

Owns the numbers of the bar and the words for what was found. Knows no labels and no files; reads
figures, and the document that a calibration leaves behind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nightgate.stats import Agreement, Figure

LEAST_KAPPA = 0.4
"""What the lower end of kappa's interval has to reach."""
LEAST_SHARE = 0.8
"""What sensitivity and specificity have to reach."""
LEAST_LABELS = 50
"""Labelled passes, and labelled fails."""
VERSION = 1
"""Of the document."""


class Word(StrEnum):
    """What is known of a judge, or of one of its slices."""

    MEETS = "meets the bar"
    BELOW = "below the bar"
    TOO_FEW = "too few labels"
    NO_LABELS = "no labels"


@dataclass(frozen=True, slots=True)
class Found:
    """A word with its reason."""

    word: Word
    why: str


def held_against_the_bar(found: Agreement, passes: int, fails: int) -> Found:
    """What figures and numbers of labels come to.

    Few labels suffice to tell that a judge is below: then the whole interval lies there.

    Args:
        found: The judge's figures.
        passes: Labelled passes that it judged.
        fails: Labelled fails that it judged.
    """
    if not passes + fails:
        return Found(Word.NO_LABELS, "no label meets a verdict of this judge")
    shares = (("sensitivity", found.sensitivity), ("specificity", found.specificity))
    enough = passes >= LEAST_LABELS and fails >= LEAST_LABELS
    low = [
        f"{name} {_number(one.value)} < {LEAST_SHARE}"
        for name, one in shares
        if _under(one.value if enough else one.high, LEAST_SHARE)
    ]
    kappa = found.kappa
    if _under(kappa.low if enough else kappa.high, LEAST_KAPPA):
        low.append(f"kappa {_number(kappa.value)}, at least {_number(kappa.low)}, wanted {LEAST_KAPPA}")
    elif enough and kappa.value is None:
        low.append("kappa is undefined: the judge says one thing only")
    if low:
        return Found(Word.BELOW, "; ".join(low))
    if not enough:
        return Found(
            Word.TOO_FEW, f"{passes} passes and {fails} fails labelled, wanted {LEAST_LABELS} of each"
        )
    return Found(Word.MEETS, f"kappa {_number(kappa.value)}, at least {_number(kappa.low)}")


def _under(value: float | None, bar: float) -> bool:
    return value is not None and value < bar


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def may_block(
    document: Mapping[str, Any] | None,
    judges: Mapping[str, str | None],
    criteria: Mapping[str, Collection[str]],
) -> frozenset[str]:
    """The evaluators whose judge is calibrated: what ``gate.judges: calibrated`` lets block.

    Args:
        document: What ``calibrate`` stored last for the suite; None when it never did.
        judges: Evaluator -> fingerprint of the judge that a run has; evaluators without a judge are
            left out by the caller, they need no calibration.
        criteria: Evaluator -> hashes of the criteria that the run asks it by; none for judges without.

    Returns:
        Those of which this very judge met the bar, asked by nothing but criteria that it was calibrated
        for. A document of an earlier version does not say which those were.

    >>> document = {"schema": 1, "judges": [
    ...     {"evaluator": "A", "judge_fingerprint": "f", "word": "meets the bar", "criteria": ["kind?"]},
    ...     {"evaluator": "B", "judge_fingerprint": "f", "word": "too few labels", "criteria": []}]}
    >>> sorted(may_block(document, {"A": "f", "B": "f"}, {"A": ["kind?"]}))
    ['A']
    >>> may_block(document, {"A": "new"}, {}) | may_block(document, {"A": "f"}, {"A": ["short?"]})
    frozenset()
    """
    if document is None or document.get("schema") != VERSION:
        return frozenset()
    met = {
        (judge["evaluator"], judge["judge_fingerprint"]): frozenset(judge.get("criteria", ()))
        for judge in document["judges"]
        if judge["word"] == Word.MEETS
    }
    return frozenset(
        name
        for name, fingerprint in judges.items()
        if (name, fingerprint) in met and frozenset(criteria.get(name, ())) <= met[name, fingerprint]
    )


def figure_dict(figure: Figure) -> dict[str, Any]:
    """A figure as JSON; null for unknown."""
    interval = None if figure.low is None or figure.high is None else [figure.low, figure.high]
    return {"value": figure.value, "interval": interval}
