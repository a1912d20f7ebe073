"""The arithmetic of "flaky or broken": a baseline, a sequential test, a label, a suite event.

Owns every formula and every bar. Counts hits: failures while a case is taken for sound, passes while it
is known as broken, so that one test serves both. Knows no case, no night and no store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from nightgate import stats

WINDOW_NIGHTS = 21
"""Nights that a baseline and a label look back."""
LAG_NIGHTS = 2
"""Newest earlier nights that a baseline leaves out: a break must not become its own yardstick."""
MOST_RERUNS = 10
"""Trials of one case that a night plays besides, at most."""
DECISIVE = log(1000)
SUSPICIOUS = 0.6
"""A night is suspicious from this share of what one hit is worth."""
LEARNING_TRIALS = 6
"""Judged trials before which nothing is suspected: any new case may simply be a bad one."""
STABLE_TRIALS = 21
_PRIOR_HITS, _PRIOR_TRIALS = 0.5, 12.5
_LEAST, _MOST, _STEP, _BROKEN_LEAST, _BROKEN_MOST = 0.02, 0.60, 0.30, 0.35, 0.95
_LEAST_EXTRA, _EXTRA_SHARE = 10, 5
_EVENT_SUSPECTS = 5
_EVENT_SHARE = (15, 100)
_STABLE_PASS, _STABLE_FAIL = 0.90, 0.10

STABLE_PASS, STABLE_FAIL, FLAKY, TOO_FEW = "stable pass", "stable fail", "flaky", "too few"
LABELS = (STABLE_PASS, STABLE_FAIL, FLAKY, TOO_FEW)


@dataclass(frozen=True, slots=True)
class Rates:
    """Two guesses at how often a trial hits: as before, and changed.

    >>> rates = rates_of(0, 63)
    >>> rates.base, rates.changed, round(rates.hit, 2), round(rates.miss, 2)
    (0.02, 0.35, 2.86, -0.41)
    """

    base: float
    changed: float

    @property
    def hit(self) -> float:
        """Log likelihood ratio of one hit."""
        return log(self.changed / self.base)

    @property
    def miss(self) -> float:
        """Log likelihood ratio of one trial without a hit; negative."""
        return log((1 - self.changed) / (1 - self.base))

    def evidence(self, hits: int, judged: int) -> float:
        """Log likelihood ratio of so many hits in so many judged trials."""
        return hits * self.hit + (judged - hits) * self.miss


def rates_of(hits: int, judged: int) -> Rates:
    """The rate so far, drawn towards 4% and clipped to [.02, .60], and one that would be a change.

    Args:
        hits: Of the baseline's trials.
        judged: The baseline's trials; none is a baseline of its own, the prior.

    >>> rates_of(0, 0)
    Rates(base=0.04, changed=0.35)
    """
    base = min(_MOST, max(_LEAST, (_PRIOR_HITS + hits) / (_PRIOR_TRIALS + judged)))
    return Rates(base, min(_BROKEN_MOST, max(_BROKEN_LEAST, base + _STEP)))


def suspicious(rates: Rates, score: float, hits: int) -> bool:
    """Whether a night asks for reruns: a hit tonight, and evidence worth more than half of one.

    Where ten hits more could not decide it (a case that fails every second time anyway) nobody asks.
    """
    decidable = score + MOST_RERUNS * rates.hit >= DECISIVE
    return hits > 0 and score >= SUSPICIOUS * rates.hit and decidable


@dataclass(slots=True)
class SequentialTest:
    """Wald's test of "changed" against "as before", one trial at a time.

    Args:
        rates: The two guesses.
        score: Log likelihood ratio so far; starts at 0 or above.
        played: Reruns so far, judged or not.

    Source: Wald (1945), Ann. Math. Stat. 16(2), 117-186.

    >>> test = SequentialTest(rates_of(0, 63), score=2.04)
    >>> test.add(hit=True); test.add(hit=True); test.verdict
    'changed'
    """

    rates: Rates
    score: float
    played: int = 0

    def add(self, *, hit: bool | None) -> None:
        """Take note of a rerun; one without a finding (None) is played and no evidence."""
        self.played += 1
        if hit is not None:
            self.score += self.rates.hit if hit else self.rates.miss

    @property
    def verdict(self) -> str | None:
        """changed, cleared, or None while it is open."""
        if self.score >= DECISIVE:
            return "changed"
        return "cleared" if self.score <= 0 else None

    @property
    def open(self) -> bool:
        """Whether another rerun could tell."""
        return self.verdict is None and self.played < MOST_RERUNS


def side_by_side(tests: Sequence[tuple[Any, SequentialTest]], allowance: int) -> list[Any]:
    """Who is played next: the strongest open suspicions, as many as could all go to their end.

    One trial of each; where the allowance is short it goes to whom the evidence points at.

    Args:
        tests: (name, test); a name with several tests counts by the strongest open one.
        allowance: Trials that may still be played.
    """
    scores: dict[Any, float] = {}
    for name, test in tests:
        if test.open:
            scores[name] = max(scores.get(name, 0.0), test.score / test.rates.hit)
    order = sorted(scores, key=lambda name: -scores[name])
    return order[: min(allowance, max(1, allowance // MOST_RERUNS))] if allowance > 0 else []


def allowance(planned_trials: int) -> int:
    """Extra trials that a night may play: a fifth of its own, and ten always."""
    return max(_LEAST_EXTRA, planned_trials // _EXTRA_SHARE)


def suite_event(suspects: int, cases: int) -> bool:
    """Whether so many cases are suspect at once that it is one thing, and not each of them.

    >>> suite_event(15, 100), suite_event(16, 100), suite_event(4, 7)
    (False, True, False)
    """
    share, whole = _EVENT_SHARE
    return suspects >= _EVENT_SUSPECTS and suspects * whole > share * cases


def label(passed: int, judged: int) -> str:
    """What a case is, from its trials since the last change.

    The 5% quantile of the pass rate under the Jeffreys prior at .90 or above is a stable pass, the 95%
    quantile at .10 or below a stable fail; nothing under 21 trials is called stable.

    >>> label(21, 21), label(20, 21), label(20, 20), label(62, 63), label(0, 30)
    ('stable pass', 'flaky', 'too few', 'stable pass', 'stable fail')
    """
    if judged >= STABLE_TRIALS:
        low, high = stats.jeffreys(passed, judged, conf=0.9)
        if low >= _STABLE_PASS:
            return STABLE_PASS
        if high <= _STABLE_FAIL:
            return STABLE_FAIL
    return FLAKY if 0 < passed < judged else TOO_FEW
