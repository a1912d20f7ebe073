"""Which swap moved a broken case back: the decision of a one-factor search.

Owns what is asked next, and what counts as moved, flaky, not explained and not to be told. The control (the
bad configuration once more) is the only thing that a probe is held against: the bad run's own counts were
picked because they are low, and would make any second look an improvement. Knows no store and no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from nightgate.comparisons.swaps import JUDGE, Pair, Swap
from nightgate.stats.fisher import Share, more_passes

CONTROL = "control"
JUDGE_AGAIN = "judge-again"
"""The bad run's judge over the same trials once more: what its own flicker does."""
ALL = "all"
"""Every swap at once, for what no single one moved."""
LEAST_TRIALS = 3
"""Of a case in a probe: fewer cannot tell a factor from a flicker."""
ALPHA = Fraction(1, 20)
"""One-sided, of a single case and swap: three of three against none of three is just enough."""


class Word(StrEnum):
    """What one swap did to one broken case."""

    MOVED = "moved"
    NOT_MOVED = "not moved"
    UNTOLD = "cannot be told"
    OPEN = "not played"


class Verdict(StrEnum):
    """What became of one broken case."""

    EXPLAINED = "explained"
    TOGETHER = "explained by all swaps together"
    FLAKY = "flaky"
    NOT_EXPLAINED = "not explained"
    UNTOLD = "cannot be told"
    OPEN = "not played"


Shares = Mapping[Pair, Share]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The next probe."""

    name: str
    """``control``, ``judge-again``, ``all``, or the factor that is swapped."""
    factors: tuple[str, ...]
    """What is taken from the good run."""
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One broken case and evaluator."""

    pair: Pair
    verdict: Verdict
    by: tuple[str, ...]
    """Swaps that moved it, each by itself; of ``TOGETHER`` all of them."""
    words: Mapping[str, Word]
    reason: str


def beside(control: Share | None, probe: Share | None) -> Word:
    """What a swap did, from passes of both sides.

    Moved: most pass now, and chance alone would make so many at most 5 times of 100 were both the same. Not
    moved: no larger share passes, over enough trials. Anything between overlaps.

    >>> beside((0, 3), (3, 3)).value, beside((0, 3), (2, 3)).value, beside((0, 3), (0, 3)).value
    ('moved', 'cannot be told', 'not moved')
    """
    if control is None or probe is None:
        return Word.OPEN
    (a, n), (b, m) = control, probe
    if mostly(probe) and more_passes(control, probe) <= ALPHA:
        return Word.MOVED
    if min(n, m) >= LEAST_TRIALS and b * n <= a * m:
        return Word.NOT_MOVED
    return Word.UNTOLD


def mostly(share: Share) -> bool:
    """Whether more than half of what was judged passed."""
    return 2 * share[0] > share[1]


@dataclass(slots=True, kw_only=True)
class Search:
    """The state of a search: what was asked, and what was found."""

    pairs: tuple[Pair, ...]
    """All that broke."""
    swaps: tuple[Swap, ...]
    found: dict[str, Shares] = field(default_factory=dict)
    """By probe; a pair without a count was not judged in it."""

    def next(self) -> Asked | None:
        """What is to be found out next; None where nothing is left to ask."""
        if not self.pairs:
            return None
        if CONTROL not in self.found:
            return Asked(name=CONTROL, factors=(), pairs=self.pairs)
        left = set(self._steady())
        for swap in self.swaps:
            pairs = tuple(pair for pair in swap.pairs if pair in left)
            if not pairs or swap.factor in self.found:
                continue
            if swap.factor != JUDGE:
                return Asked(name=swap.factor, factors=(swap.factor,), pairs=pairs)
            if JUDGE_AGAIN not in self.found:
                return Asked(name=JUDGE_AGAIN, factors=(), pairs=pairs)
            pairs = tuple(pair for pair in pairs if self._flicker(pair) is None)
            if pairs:
                return Asked(name=JUDGE, factors=(JUDGE,), pairs=pairs)
        return self._together()

    def _together(self) -> Asked | None:
        if ALL in self.found:
            return None
        pairs = tuple(pair for pair in self._steady() if len(self._of(pair)) > 1 and not self._moved(pair))
        pairs = tuple(pair for pair in pairs if self._flicker(pair) is None)
        factors = tuple(swap.factor for swap in self.swaps if set(swap.pairs) & set(pairs))
        return Asked(name=ALL, factors=factors, pairs=pairs) if pairs else None

    def _steady(self) -> Iterator[Pair]:
        """Pairs that the control saw fail again."""
        control = self.found[CONTROL]
        for pair in self.pairs:
            share = control.get(pair)
            if share is not None and share[1] and not mostly(share):
                yield pair

    def _of(self, pair: Pair) -> tuple[Swap, ...]:
        return tuple(swap for swap in self.swaps if pair in swap.pairs)

    def _moved(self, pair: Pair) -> tuple[str, ...]:
        return tuple(s.factor for s in self._of(pair) if self.word(s.factor, pair) is Word.MOVED)

    def _flicker(self, pair: Pair) -> Share | None:
        """How the bad run's judge took the same trials at a second look, where it now passes most."""
        share = self.found.get(JUDGE_AGAIN, {}).get(pair)
        return share if share is not None and mostly(share) else None

    def control_of(self, name: str, pair: Pair) -> Share | None:
        """What a probe is held against: the same trials by the same judge, or the same configuration."""
        return self._share(JUDGE_AGAIN if name == JUDGE else CONTROL, pair)

    def _share(self, name: str, pair: Pair) -> Share | None:
        """A pair's count in a probe; nothing judged where it left none; None where it was not played."""
        found = self.found.get(name)
        return None if found is None else found.get(pair, (0, 0))

    def share(self, name: str, pair: Pair) -> Share | None:
        """A pair's count in a probe that looked at it."""
        found = self.found.get(name)
        return None if found is None else found.get(pair)

    def word(self, name: str, pair: Pair) -> Word:
        """What a swap did to a pair."""
        return beside(self.control_of(name, pair), self._share(name, pair))

    def outcomes(self) -> tuple[Outcome, ...]:
        """All broken pairs as far as they are known, in order."""
        return tuple(self._outcome(pair) for pair in self.pairs)

    def _outcome(self, pair: Pair) -> Outcome:
        control = self._share(CONTROL, pair)
        if control is None:
            return _outcome(pair, Verdict.OPEN, "the control was not played")
        if not control[1]:
            return _outcome(pair, Verdict.UNTOLD, "the control left nothing that was judged")
        if mostly(control):
            return _outcome(pair, Verdict.FLAKY, f"control passed {_text(control)}")
        words = {swap.factor: self.word(swap.factor, pair) for swap in self._of(pair)}
        moved = self._moved(pair)
        if moved:
            return _outcome(pair, Verdict.EXPLAINED, _counted(self, moved, pair), words, moved)
        flicker = self._flicker(pair)
        if flicker is not None:
            said = f"its own judge passed {_text(flicker)} of the same trials at a second look"
            return _outcome(pair, Verdict.FLAKY, said, words)
        return self._unmoved(pair, words)

    def _unmoved(self, pair: Pair, words: Mapping[str, Word]) -> Outcome:
        if len(words) > 1 and ALL in self.found:
            words = {**words, ALL: self.word(ALL, pair)}
            if words[ALL] is Word.MOVED:
                by = tuple(swap.factor for swap in self._of(pair))
                return _outcome(pair, Verdict.TOGETHER, _counted(self, (ALL,), pair), words, by)
        said = set(words.values())
        missing = [name for name, word in words.items() if word is Word.OPEN]
        if missing or (len(words) > 1 and ALL not in self.found):
            return _outcome(pair, Verdict.OPEN, f"not played: {', '.join(missing or [ALL])}", words)
        if Word.UNTOLD in said:
            names = tuple(name for name, word in words.items() if word is Word.UNTOLD)
            return _outcome(
                pair, Verdict.UNTOLD, f"control and probe overlap ({_counted(self, names, pair)})", words
            )
        why = "no swap moved it" if words else "nothing that could be swapped has to do with it"
        return _outcome(pair, Verdict.NOT_EXPLAINED, why, words)


def _outcome(
    pair: Pair, verdict: Verdict, reason: str, words: Mapping[str, Word] | None = None, by: Sequence[str] = ()
) -> Outcome:
    return Outcome(pair=pair, verdict=verdict, by=tuple(by), words=dict(words or {}), reason=reason)


def _counted(search: Search, names: Sequence[str], pair: Pair) -> str:
    told = []
    for name in names:
        control, probe = search.control_of(name, pair), search.share(name, pair) or (0, 0)
        told.append(f"{name} {_text(probe)}, control {_text(control or (0, 0))}")
    return "; ".join(told)


def _text(share: Share) -> str:
    return f"{share[0]} of {share[1]}"


def answer(search: Search) -> str:
    """The search in one sentence: what each swap moved, and what is left.

    Args:
        search: As far as it got.
    """
    outcomes = search.outcomes()
    parts = []
    for swap in search.swaps:
        moved = sum(swap.factor in o.by for o in outcomes if o.verdict is Verdict.EXPLAINED)
        if moved:
            parts.append(f"{swap.factor} moved {moved} of {len(outcomes)}")
    together = [o for o in outcomes if o.verdict is Verdict.TOGETHER]
    if together:
        named = dict.fromkeys(factor for outcome in together for factor in outcome.by)
        parts.append(f"only {' and '.join(named)} together moved {len(together)} of {len(outcomes)}")
    left = [
        (Verdict.FLAKY, "not explained (flaky: control passed)"),
        (Verdict.NOT_EXPLAINED, "not explained by any swap"),
        (Verdict.UNTOLD, "cannot be told"),
        (Verdict.OPEN, "not played"),
    ]
    for verdict, text in left:
        count = sum(o.verdict is verdict for o in outcomes)
        if count:
            verb = "" if verdict is Verdict.UNTOLD else "is " if count == 1 else "are "
            parts.append(f"{count} {verb}{text}")
    return "; ".join(parts) or "nothing broke"
