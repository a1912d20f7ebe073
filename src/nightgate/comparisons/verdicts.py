"""May I say it improved? Paired tests over the evaluators of the gate, corrected for their number.

Owns the words of statistics' "two runs": which verdict a change gets, of an evaluator and of a run. Reads
sides, returns ``Comparison``; knows no store and no terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from nightgate import stats
from nightgate.comparisons.pairing import Paired, Pairing, pair
from nightgate.comparisons.sides import Side
from nightgate.stats.power import LEAST_CASES_FOR_A_CLAIM

ALPHA = 0.05
MARGIN = Fraction(2, 100)
"""A change inside it does not matter."""


class Word(StrEnum):
    """What may be said; ``improved`` and ``regressed`` come with the change and its interval."""

    NOT_COMPARABLE = "not comparable"
    IMPROVED = "improved"
    REGRESSED = "regressed"
    CANDIDATE = "candidate"
    """Shown, but on fewer than 20 cases: rerun with more trials."""
    NO_RELEVANT_CHANGE = "no relevant change"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One evaluator's change from the base to a run."""

    name: str
    word: Word
    reason: str | None = None
    """Why it is not comparable."""
    cases: int = 0
    trials: tuple[int, int] = (0, 0)
    """Decided cells of these cases, before and now."""
    before: Fraction | None = None
    now: Fraction | None = None
    """Mean pass rate over the cases; each case weighs the same."""
    change: Fraction | None = None
    interval: tuple[float, float] | None = None
    """At the level that Holm leaves to this question."""
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    questions: int = 1
    """How many tests it is corrected for."""
    smallest_visible: float | None = None
    """The smallest change that these cases and trials could have shown; None with fewer than 20 cases."""
    trials_needed: int | None = None
    """Trials of each case in both runs that would probably show a change of this size, or of the margin
    where it is smaller; None where no number would."""
    cases_needed: int | None = None
    """The same with more cases and as many trials of each."""

    @property
    def drop(self) -> Fraction | None:
        """By how much it fell; None where it is not comparable."""
        return None if self.change is None else -self.change

    def as_dict(self) -> dict[str, Any]:
        """Its entry in the documents; shares are numbers, unknown is null."""
        return {
            "name": self.name,
            "verdict": self.word.value,
            "reason": self.reason,
            "cases": self.cases,
            "trials": list(self.trials),
            "before": _number(self.before),
            "now": _number(self.now),
            "change": _number(self.change),
            "interval": list(self.interval) if self.interval is not None else None,
            "test": self.test,
            "p": self.p_value,
            "p_adjusted": self.p_adjusted,
            "smallest_visible_change": self.smallest_visible,
            "trials_needed": self.trials_needed,
            "cases_needed": self.cases_needed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run against its base."""

    base: str
    run_id: str
    word: Word
    pairing: Pairing
    changes: tuple[Change, ...]
    questions: int
    """How many tests the correction is for: evaluators, times variants."""

    def of(self, name: str) -> Change | None:
        """An evaluator's change; None where neither run has it at its gate."""
        return next((change for change in self.changes if change.name == name), None)


def compare(
    pairs: Sequence[tuple[Side, Side]], *, alpha: float = ALPHA, margin: Fraction = MARGIN
) -> tuple[Comparison, ...]:
    """Hold runs against their base.

    Args:
        pairs: Base and run. Several are variants of one change: the correction is over all of them and
            their evaluators. The base is the same run in all; only who judged it may differ.
        alpha: Chance to name any change although there is none.
        margin: Change of a pass rate, as a share, that does not matter.

    Returns:
        One comparison a pair, in order.
    """
    pairings = [pair(base, now) for base, now in pairs]
    asked = [(number, paired) for number, found in enumerate(pairings) for paired in found.evaluators]
    tests = [None if p.reason is not None else stats.paired_test(p.before, p.now) for _, p in asked]
    values = [None if test is None else test.p_value for test in tests]
    questions = sum(value is not None for value in values)
    levels = _levels(values, alpha)
    changes: list[list[Change]] = [[] for _ in pairs]
    for (number, paired), test, adjusted, level in zip(asked, tests, stats.holm(values), levels, strict=True):
        if test is None or adjusted is None:
            changes[number].append(Change(name=paired.name, word=Word.NOT_COMPARABLE, reason=paired.reason))
            continue
        change = _change(paired, test, adjusted, level, alpha, margin)
        changes[number].append(replace(change, questions=questions))
    return tuple(
        Comparison(
            base=base.run_id,
            run_id=now.run_id,
            word=_overall(found),
            pairing=pairing,
            changes=tuple(found),
            questions=questions,
        )
        for (base, now), pairing, found in zip(pairs, pairings, changes, strict=True)
    )


def _levels(values: Sequence[float | None], alpha: float) -> list[float]:
    """The level that Holm leaves to each question, so that its interval goes with the corrected decision.

    Those with smaller p-values were decided before it; where one of them was not shown, none after it is,
    and all have that one's level.
    """
    known = sorted(value for value in values if value is not None)
    levels: dict[float, float] = {}
    stopped: float | None = None
    for value in dict.fromkeys(known):
        level = alpha / (len(known) - sum(other < value for other in known))
        levels[value] = level if stopped is None else stopped
        if stopped is None and value > level:
            stopped = level
    return [alpha if value is None else levels[value] for value in values]


def _change(
    paired: Paired, test: stats.PairedTest, adjusted: float, level: float, alpha: float, margin: Fraction
) -> Change:
    """An evaluator that can be compared."""
    before, now = _mean(paired.before), _mean(paired.now)
    change = now - before
    interval = stats.paired_interval(paired.before, paired.now, 1 - level)
    shown = adjusted <= alpha and interval is not None and not interval[0] <= 0 <= interval[1]
    word = _word(len(paired.cases), change, interval, margin, shown=shown)
    effort = stats.effort_to_see(paired.before, float(max(abs(change), margin)), alpha=level)
    # Under 20 cases no number of trials lets anything be said of the suite as a whole.
    open_ = word is Word.INCONCLUSIVE and len(paired.cases) >= LEAST_CASES_FOR_A_CLAIM
    return Change(
        name=paired.name,
        word=word,
        cases=len(paired.cases),
        trials=(sum(n for _, n in paired.before), sum(n for _, n in paired.now)),
        before=before,
        now=now,
        change=change,
        interval=interval,
        test=test.test,
        p_value=test.p_value,
        p_adjusted=adjusted,
        smallest_visible=stats.smallest_visible_change(paired.before, alpha=level),
        trials_needed=effort.trials if open_ else None,
        cases_needed=effort.cases if word is Word.INCONCLUSIVE else None,
    )


def _word(
    cases: int, change: Fraction, interval: tuple[float, float] | None, margin: Fraction, *, shown: bool
) -> Word:
    enough = cases >= LEAST_CASES_FOR_A_CLAIM
    if shown:
        return Word.CANDIDATE if not enough else Word.IMPROVED if change > 0 else Word.REGRESSED
    if enough and interval is not None and -margin <= interval[0] and interval[1] <= margin:
        return Word.NO_RELEVANT_CHANGE
    return Word.INCONCLUSIVE


def _overall(changes: Sequence[Change]) -> Word:
    """One word for a run: what got worse comes first, what cannot be compared hides behind nothing."""
    words = {change.word for change in changes}
    falling = any(c.word is Word.CANDIDATE and c.change is not None and c.change < 0 for c in changes)
    if Word.REGRESSED in words:
        return Word.REGRESSED
    if not words or Word.NOT_COMPARABLE in words:
        return Word.NOT_COMPARABLE
    if falling:
        return Word.CANDIDATE
    order = (Word.IMPROVED, Word.CANDIDATE, Word.INCONCLUSIVE, Word.NO_RELEVANT_CHANGE)
    return next(word for word in order if word in words)


def _mean(counts: Sequence[tuple[int, int]]) -> Fraction:
    return sum((Fraction(passed, decided) for passed, decided in counts), Fraction(0)) / len(counts)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
