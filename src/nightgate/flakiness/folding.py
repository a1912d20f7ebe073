"""From one night to the next: who is suspect, who broke, who recovered.

Owns the steps of the detector in their order. ``open_night`` says what reruns are asked for;
``close_night`` decides with what they found. Neither touches a store, and the same nights in the same
order give the same book.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nightgate.flakiness import rules
from nightgate.flakiness.nights import (
    Book,
    Counts,
    Event,
    Found,
    Night,
    Pair,
    State,
    Watched,
)
from nightgate.flakiness.rules import Rates, SequentialTest

_KEPT_NIGHTS = rules.WINDOW_NIGHTS + rules.LAG_NIGHTS
_KEPT_RUNS = 60
"""Run ids by which a night is known to be in; a pair unseen for so many nights is forgotten."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A pair that looks changed tonight."""

    rates: Rates
    score: float
    """Log likelihood ratio before any rerun."""
    recovering: bool
    """Whether it is broken and seems to pass again: hits are passes then."""

    def test(self) -> SequentialTest:
        """The test as it stands before any rerun."""
        return SequentialTest(self.rates, self.score)


@dataclass(frozen=True, slots=True)
class Again:
    """What reruns of a pair found, further evidence of the same night."""

    passed: int = 0
    failed: int = 0
    played: int = 0
    """Judged or not."""
    nanousd: int | None = 0
    """What they cost; None where a part of it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tonight:
    """A night before its reruns."""

    night: Night
    suspicions: Mapping[Pair, Suspicion]
    storm: bool
    """So many at once that reruns would only tell the same of each."""

    def tests(self) -> dict[Pair, SequentialTest]:
        """A test for each pair whose reruns could tell something; none in a storm."""
        return {} if self.storm else {pair: s.test() for pair, s in self.suspicions.items() if s.test().open}


@dataclass(frozen=True, slots=True)
class Change:
    """A pair that a night says something of."""

    pair: Pair
    found: Found
    watched: Watched
    """As it was before the night."""
    rates: Rates | None
    again: Again


@dataclass(slots=True, kw_only=True)
class Findings:
    """What a night came to."""

    newly_broken: list[Change] = field(default_factory=list)
    newly_fixed: list[Change] = field(default_factory=list)
    still_broken: list[Change] = field(default_factory=list)
    suspects: list[Change] = field(default_factory=list)
    cleared: list[Change] = field(default_factory=list)
    reset: list[tuple[Pair, Watched]] = field(default_factory=list)
    """Broken or suspect until now, and another thing now: edited, or judged by something else."""
    event: Event | None = None


def open_night(book: Book, night: Night) -> Tonight:
    """Hold a night against the book."""
    suspicions: dict[Pair, Suspicion] = {}
    for pair, found in night.found.items():
        watched = book.pairs.get(pair)
        if watched is None or watched.identity != found.identity or not found.judged:
            continue
        suspicion = _suspicion(watched, found)
        if suspicion is not None:
            suspicions[pair] = suspicion
    fresh = {case for (case, _), found in suspicions.items() if not found.recovering}
    return Tonight(night=night, suspicions=suspicions, storm=rules.suite_event(len(fresh), night.cases))


def baseline(watched: Watched) -> tuple[int, int]:
    """Failures and judged trials of up to 21 nights that end 3 nights ago, reruns included.

    Of a broken pair: as it was when it broke.
    """
    nights = watched.before if watched.state is State.BROKEN else watched.nights
    return _sums(nights[: -rules.LAG_NIGHTS][-rules.WINDOW_NIGHTS :])


def _suspicion(watched: Watched, found: Found) -> Suspicion | None:
    broken = watched.state is State.BROKEN
    hits = found.passed if broken else found.failed
    if not hits:  # nearly all of a night's pairs: no baseline is worth adding up for them
        return None
    rates = _recovery_rates(watched) if broken else _break_rates(watched)
    if rates is None:
        return None
    score = max(0.0, watched.carried + rates.evidence(hits, found.judged))
    return Suspicion(rates, score, recovering=broken) if rules.suspicious(rates, score, hits) else None


def _break_rates(watched: Watched) -> Rates | None:
    """Of failures; None where nothing can have broken yet."""
    failed, judged = _sums(watched.nights)
    if judged < rules.LEARNING_TRIALS:
        return None
    lost, before = baseline(watched)
    if before < rules.LEARNING_TRIALS:
        lost, before = failed, judged
    if 2 * lost >= before:  # broken means that more than half passed before
        return None
    rates = rules.rates_of(*baseline(watched))
    if baseline(watched)[1] < rules.STABLE_TRIALS:
        # The nights left out are most of what is known then: a case is not taken for better than they say.
        rates = max(rates, rules.rates_of(failed, judged), key=lambda guess: guess.base)
    return rates


def _recovery_rates(watched: Watched) -> Rates:
    """Of passes since the break; the night that broke always counts."""
    first, later = watched.nights[:1], watched.nights[1 : -rules.LAG_NIGHTS]
    failed, judged = _sums([*first, *later][-rules.WINDOW_NIGHTS :])
    return rules.rates_of(judged - failed, judged)


def _sums(nights: Sequence[Counts]) -> tuple[int, int]:
    failed = judged = 0
    for night in nights:
        lost = night.failed + night.again_failed
        failed += lost
        judged += lost + night.passed + night.again_passed
    return failed, judged


def close_night(book: Book, tonight: Tonight, again: Mapping[Pair, Again]) -> tuple[Book, Findings]:
    """Decide a night and write it into the book.

    Args:
        book: Before the night; it is left as it is.
        tonight: What ``open_night`` made of it.
        again: Reruns by pair.

    Returns:
        The book after the night, and what the night came to.
    """
    night, findings = tonight.night, Findings()
    recent = [*book.recent, night.run_id][-_KEPT_RUNS:]
    pairs = {pair: kept for pair, kept in book.pairs.items() if _remembered(kept, recent)}
    for pair, found in night.found.items():
        known = pairs.get(pair)
        if known is not None and known.identity != found.identity:
            if known.state is not State.SOUND:
                findings.reset.append((pair, known))
            known = None
        if known is None:
            pairs[pair] = _first(night, found)
            continue
        if found.judged:
            pairs[pair] = _next(known, pair, tonight, again.get(pair, Again()), findings)
        elif known.state is State.BROKEN:
            findings.still_broken.append(Change(pair, found, known, None, Again()))
    findings.event = _event(book.event, tonight, pairs)
    after = Book(
        through_run=night.run_id,
        through_at=night.started_at,
        recent=recent,
        pairs=pairs,
        event=findings.event,
    )
    return after, findings


def _remembered(watched: Watched, recent: Sequence[str]) -> bool:
    return not watched.nights or watched.nights[-1].run_id in recent


def _first(night: Night, found: Found) -> Watched:
    counts = [Counts(night.run_id, night.date, found.passed, found.failed)] if found.judged else []
    return Watched(
        identity=found.identity,
        since_run=night.run_id,
        since_date=night.date,
        stage=found.stage,
        nights=counts,
    )


def _next(known: Watched, pair: Pair, tonight: Tonight, again: Again, findings: Findings) -> Watched:
    """The pair after a night that judged it."""
    night, found, suspicion = tonight.night, tonight.night.found[pair], tonight.suspicions.get(pair)
    counts = Counts(night.run_id, night.date, found.passed, found.failed, again.passed, again.failed)
    after = replace(
        known,
        stage=found.stage,
        carried=0.0,
        reruns=known.reruns + again.played,
        rerun_nanousd=_sum(known.rerun_nanousd, again.nanousd),
        nights=[*known.nights, counts][-_KEPT_NIGHTS:],
    )
    change = Change(pair, found, known, suspicion.rates if suspicion else None, again)
    verdict = None
    if suspicion is not None:
        test = _tested(suspicion, again)
        verdict, after.carried = test.verdict, test.score if test.open else 0.0
    if known.state is State.BROKEN:
        if verdict != "changed":
            if len(after.nights) == _KEPT_NIGHTS:
                # The night that broke is what recovery is measured by; it stays.
                after.nights[0] = known.nights[0]
            findings.still_broken.append(change)
            return after
        findings.newly_fixed.append(change)
        after.state, after.nights, after.before = State.SOUND, [*known.before, counts][-_KEPT_NIGHTS:], []
        return _since(after, night)
    if verdict == "changed":
        findings.newly_broken.append(change)
        after.state, after.before, after.nights = State.BROKEN, known.nights, [counts]
        return _since(after, night)
    was_suspect = known.state is State.SUSPECT
    after.state = State.SUSPECT if suspicion is not None and verdict is None else State.SOUND
    if after.state is State.SUSPECT:
        findings.suspects.append(change)
    elif suspicion is not None or was_suspect:
        findings.cleared.append(change)
    return after


def _sum(one: int | None, other: int | None) -> int | None:
    """Money; what is unknown makes the sum unknown."""
    return None if one is None or other is None else one + other


def _since(watched: Watched, night: Night) -> Watched:
    watched.since_run, watched.since_date, watched.carried = night.run_id, night.date, 0.0
    watched.flips += 1
    return watched


def _tested(suspicion: Suspicion, again: Again) -> SequentialTest:
    """The test after all reruns; their order does not matter to the evidence."""
    hits = again.passed if suspicion.recovering else again.failed
    score = suspicion.score + suspicion.rates.evidence(hits, again.passed + again.failed)
    return SequentialTest(suspicion.rates, score, played=again.played)


def _event(known: Event | None, tonight: Tonight, pairs: Mapping[Pair, Watched]) -> Event | None:
    """One thing that befell the suite: begun tonight, or still on."""
    night = tonight.night
    fresh = {case for (case, _), found in tonight.suspicions.items() if not found.recovering}
    ill = {case for (case, _), kept in pairs.items() if kept.state is not State.SOUND}
    if known is not None:
        still = ill.intersection(known.named)
        if rules.suite_event(len(still), night.cases):
            return replace(known, suspects=len(still), cases=night.cases)
    if not tonight.storm:
        return None
    return Event(
        since_run=night.run_id,
        since_date=night.date,
        suspects=len(fresh),
        cases=night.cases,
        named=tuple(sorted(fresh)),
    )


def trend(watched: Watched) -> tuple[int, int]:
    """Passed and judged trials of up to 21 nights since the last change, without reruns."""
    since = [night for night in watched.nights if night.date >= watched.since_date][-rules.WINDOW_NIGHTS :]
    return sum(night.passed for night in since), sum(night.passed + night.failed for night in since)


def label_of(watched: Watched) -> str:
    """The pair's label (``rules.label``)."""
    return rules.label(*trend(watched))
