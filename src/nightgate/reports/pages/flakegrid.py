"""The flake board: cases by night, those in trouble first.

Owns which cases are shown, in which order, and the sign and words of each field, so that what wavers, what
broke and what was never judged do not look alike. Knows no markup but that of its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightgate.reports.pages.suitevalues import Slot, SuiteFacts

MOST_ROWS = 100
"""A page stays below 5 MB with so many; the rest is said in a line."""
MOST_SLOTS = 60
_WORST = {"broken": 0, "suspect": 1, "flaky": 2, "stable fail": 3}
_TONES = {"broken": "bad", "suspect": "doubt", "flaky": "doubt", "stable fail": "bad", "stable pass": "good"}
_SIGNS = {"broken": "✗", "suspect": "?", "flaky": "≈", "stable fail": "✗", "stable pass": "✓"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a case came to on a night."""

    tone: str
    sign: str
    word: str
    """For the pointer and for readers of the text: passed, failed in part, failed, not judged, no night."""
    night: int | None
    """Position in the nights; None where there is no figure."""
    changes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case and an evaluator over the nights."""

    position: int
    """In the document's ``cases``."""
    case: str
    evaluator: str
    label: str
    """broken, suspect, flaky, stable fail, stable pass, too few; empty where the board does not know it."""
    pair: int | None
    """Position in the board's ``pairs``."""
    fields: Sequence[Field]

    @property
    def tone(self) -> str:
        """The class of the label's colours."""
        return _TONES.get(self.label, "calm")

    @property
    def sign(self) -> str:
        """The sign of the label."""
        return _SIGNS.get(self.label, "–")


def rows_in_trouble(facts: SuiteFacts, shown: Sequence[Slot]) -> list[Row]:
    """Cases that failed in some night, and those that the detector does not take for sound; worst first."""
    labels = _labels(facts.document.get("flaky"))
    found = []
    for position, entry in enumerate(facts.document["cases"]):
        label, pair = labels.get((entry["case"], entry["evaluator"]), ("", None))
        if entry["passed"] < entry["judged"] or label in _WORST:
            found.append((_rank(label, entry), position, entry, label, pair))
    return [
        Row(
            position=position,
            case=entry["case"],
            evaluator=entry["evaluator"],
            label=label,
            pair=pair,
            fields=list(_fields(entry, shown)),
        )
        for _, position, entry, label, pair in sorted(found, key=lambda item: item[0])
    ]


def _rank(label: str, entry: Mapping[str, Any]) -> tuple[int, float, str, str]:
    rate = entry["passed"] / entry["judged"] if entry["judged"] else 2.0
    return _WORST.get(label, len(_WORST)), rate, entry["case"], entry["evaluator"]


def _labels(board: Mapping[str, Any] | None) -> dict[tuple[str, str], tuple[str, int]]:
    """What each pair is taken for: its state where that is no sound one, else its label."""
    if board is None:
        return {}
    return {
        (pair["case"], pair["evaluator"]): (
            pair["state"] if pair["state"] in ("broken", "suspect") else pair["label"] or "",
            position,
        )
        for position, pair in enumerate(board["pairs"])
    }


def _fields(entry: Mapping[str, Any], shown: Sequence[Slot]) -> Iterator[Field]:
    changed: dict[int, list[str]] = {}
    for mark in entry["changes"]:
        changed.setdefault(mark["night"], []).append(mark["what"])
    for slot in shown:
        if slot.night is None:
            yield Field(tone="calm", sign="", word="no night", night=None)
            continue
        counts = (entry["nights"][name][slot.night] for name in ("passed", "judged"))
        tone, sign, word = outcome(*counts)
        night = None if word == "not judged" else slot.night
        yield Field(tone=tone, sign=sign, word=word, night=night, changes=changed.get(slot.night, ()))


def outcome(passed: int | None, judged: int | None) -> tuple[str, str, str]:
    """Tone, sign and word of counts.

    >>> outcome(3, 3), outcome(1, 3)
    (('good', '✓', 'passed'), ('doubt', '≈', 'passed in part'))
    """
    if not judged or passed is None:
        return "calm", "·", "not judged"
    if passed == judged:
        return "good", "✓", "passed"
    return ("doubt", "≈", "passed in part") if passed else ("bad", "✗", "failed")


def all_cases(facts: SuiteFacts, shown: Sequence[Slot]) -> list[tuple[str, list[tuple[str, str, str, str]]]]:
    """Every case by night, its evaluators added up: tone, sign, word, and counts where they say more."""
    sums: dict[str, list[list[int]]] = {}
    for entry in facts.document["cases"]:
        if not entry["judged"]:
            continue
        of = sums.setdefault(entry["case"], [[0, 0] for _ in shown])
        for place, slot in enumerate(shown):
            if slot.night is not None:
                of[place][0] += entry["nights"]["passed"][slot.night] or 0
                of[place][1] += entry["nights"]["judged"][slot.night] or 0
    return [(case, [_summed(*counts) for counts in of]) for case, of in sums.items()]


def _summed(passed: int, judged: int) -> tuple[str, str, str, str]:
    return *outcome(passed, judged), f"{passed}/{judged}" if passed < judged else ""
