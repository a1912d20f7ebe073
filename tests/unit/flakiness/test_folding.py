"""States over nights: what changes them, and what must not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

import pytest

from nightgate.flakiness import (
    Again,
    Book,
    Findings,
    Found,
    Identity,
    Night,
    Pair,
    Reruns,
    State,
    close_night,
    label_of,
    open_night,
)

SAME = Identity("h", 1, None)
A = ("a", "E")


@dataclass
class Nights:
    """A book and its nights."""

    book: Book = field(default_factory=Book)
    count: int = 0

    def play(self, *, again: dict[Pair, Again] | None = None, **counts: tuple[int, int]) -> Findings:
        """A night with (passed, failed) by case."""
        return self.see({(case, "E"): Found(SAME, *found) for case, found in counts.items()}, again)

    def see(self, found: dict[Pair, Found], again: dict[Pair, Again] | None = None) -> Findings:
        """A night as found."""
        day = (date(2026, 11, 1) + timedelta(days=self.count)).isoformat()
        night = Night(
            run_id=f"n{self.count}",
            date=day,
            started_at=f"{day}T22:00:00Z",
            cases=len(found),
            planned_trials=3 * len(found),
            found=found,
        )
        self.count += 1
        self.book, findings = close_night(self.book, open_night(self.book, night), again or {})
        return findings


def steady(nights: int = 8) -> Nights:
    """A case that always passed."""
    past = Nights()
    for _ in range(nights):
        past.play(a=(3, 0))
    return past


def names(changes: list) -> list[str]:
    """Cases of changes."""
    return [change.pair[0] for change in changes]


def test_three_failures_of_a_steady_case_are_a_break() -> None:
    """No rerun is needed where the night itself decides."""
    assert names(steady().play(a=(0, 3)).newly_broken) == ["a"]


def test_a_break_is_told_once() -> None:
    """People stop reading what repeats itself."""
    past = steady()
    past.play(a=(0, 3))

    second = past.play(a=(0, 3))

    assert (names(second.newly_broken), names(second.still_broken)) == ([], ["a"])


def test_a_suspect_that_reruns_clear_is_no_break_and_stays_counted() -> None:
    """Its failures are evidence of what it is: the next baseline knows them."""
    past = steady()

    found = past.play(a=(2, 1), again={A: Again(passed=6, played=6)})

    assert (names(found.cleared), names(found.newly_broken)) == (["a"], [])
    assert past.book.pairs[A].nights[-1].again_passed == 6


def test_reruns_can_decide_what_the_night_could_not() -> None:
    """One failure of three and three of four reruns."""
    found = steady().play(a=(2, 1), again={A: Again(passed=1, failed=3, played=4)})

    assert names(found.newly_broken) == ["a"]


def test_what_reruns_leave_open_is_a_suspect_without_a_message() -> None:
    """Ten reruns, three of them failed: neither one nor the other."""
    past = steady()

    found = past.play(a=(2, 1), again={A: Again(passed=8, failed=2, played=10)})

    assert (names(found.suspects), names(found.newly_broken)) == (["a"], [])
    assert past.book.pairs[A].state is State.SUSPECT


def test_evidence_without_reruns_is_carried_to_the_next_night() -> None:
    """A suite without budget for reruns must not stay suspect for ever."""
    past = steady()
    past.play(a=(1, 2))

    assert names(past.play(a=(1, 2)).newly_broken) == ["a"]


def test_recovery_is_told_once_and_the_old_baseline_goes_on() -> None:
    """What it was before is what it is held against again."""
    past = steady()
    past.play(a=(0, 3))
    past.play(a=(0, 3))

    fixed = past.play(a=(3, 0), again={A: Again(passed=2, played=2)})

    assert names(fixed.newly_fixed) == ["a"]
    assert [night.run_id for night in past.book.pairs[A].nights] == [*(f"n{n}" for n in range(8)), "n10"]
    assert names(past.play(a=(3, 0)).newly_fixed) == []


def test_the_baseline_of_a_broken_case_is_frozen() -> None:
    """A fortnight of failures must not make failing the normal thing."""
    past = steady()
    past.play(a=(0, 3))
    before = list(past.book.pairs[A].before)
    for _ in range(30):
        past.play(a=(0, 3))

    assert past.book.pairs[A].before == before


def test_a_case_that_always_failed_never_breaks() -> None:
    """It was told as failed by the gate all along; nothing is new about it."""
    past = Nights()

    told = [past.play(a=(0, 3)) for _ in range(30)]

    assert not any(found.newly_broken or found.suspects for found in told)
    assert label_of(past.book.pairs[A]) == "stable fail"


def test_a_steady_two_of_three_is_flaky_and_no_news() -> None:
    """Thirty nights, at most one message."""
    past = Nights()

    told = [past.play(a=(2, 1), again={A: Again(passed=7, failed=3, played=10)}) for _ in range(30)]

    assert sum(len(found.newly_broken) for found in told) <= 1
    assert label_of(past.book.pairs[A]) == "flaky"


@pytest.mark.parametrize(
    "other", [Identity("edited", 1, None), Identity("h", 2, None), Identity("h", 1, "another judge")]
)
def test_another_text_evaluator_or_judge_starts_anew(other: Identity) -> None:
    """Nights of two things are no history of one."""
    past = steady()

    found = past.see({A: Found(other, 0, 3)})

    assert not found.newly_broken
    assert [night.run_id for night in past.book.pairs[A].nights] == ["n8"]


def test_a_broken_case_that_is_edited_is_told_as_reset() -> None:
    """Whoever was told that it broke has to hear that this is over."""
    past = steady()
    past.play(a=(0, 3))

    found = past.see({A: Found(Identity("edited", 1, None), 3, 0)})

    assert [pair for pair, _ in found.reset] == [A]


def test_a_night_without_a_finding_changes_nothing() -> None:
    """Infrastructure that is down says nothing of the agent."""
    past = steady()
    past.play(a=(0, 3))
    before = past.book.pairs[A]

    found = past.play(a=(0, 0))

    assert past.book.pairs[A] == before
    assert names(found.still_broken) == ["a"]


def test_a_hole_in_a_suspicion_keeps_it() -> None:
    """An outage the night after must not clear what looked broken."""
    past = steady()
    past.play(a=(1, 2))
    past.play(a=(0, 0))

    assert past.book.pairs[A].state is State.SUSPECT


def many(passed: int, failed: int, ill: int, whole: int = 20) -> dict[str, tuple[int, int]]:
    """Counts of a suite of which ``ill`` cases are as given and the rest pass."""
    return {f"c{n:02d}": (passed, failed) if n < ill else (3, 0) for n in range(whole)}


def test_a_fifth_of_the_suite_at_once_is_one_event_without_reruns() -> None:
    """A search index that is down is one cause, and reruns would say the same twenty times."""
    past = Nights()
    for _ in range(8):
        past.play(**many(3, 0, 0))
    night = Night(
        run_id="x",
        date="2026-11-09",
        started_at="2026-11-09T22:00:00Z",
        cases=20,
        planned_trials=60,
        found={(case, "E"): Found(SAME, *found) for case, found in many(1, 2, 5).items()},
    )

    tonight = open_night(past.book, night)
    book, found = close_night(past.book, tonight, {})

    assert tonight.storm
    assert Reruns(tonight).next_cases() == []
    assert found.event is not None
    assert (found.event.suspects, found.event.cases, found.newly_broken) == (5, 20, [])
    assert book.event == found.event


def test_an_event_lasts_until_its_cases_are_well() -> None:
    """It is one thing from its first night to its last."""
    past = Nights()
    for _ in range(8):
        past.play(**many(3, 0, 0))
    first = past.play(**many(1, 2, 5)).event
    second = past.play(**many(1, 2, 5)).event
    over = past.play(**many(3, 0, 0)).event

    assert first is not None
    assert second is not None
    assert second.since_run == first.since_run
    assert over is None or over.since_run == first.since_run


def test_four_of_twenty_are_four_cases() -> None:
    """Under five nothing is an event."""
    past = Nights()
    for _ in range(8):
        past.play(**many(3, 0, 0))

    assert past.play(**many(0, 3, 4)).event is None


def test_the_book_that_is_given_stays_as_it_is() -> None:
    """A decision that is taken again, after a store refused, must start from the same."""
    past = steady()
    before = past.book

    past.play(a=(0, 3))

    assert before.pairs[A].state is State.SOUND
    assert before.through_run == "n7"


def test_reruns_of_a_recovering_case_count_passes() -> None:
    """The test is mirrored: what speaks for a change is a pass."""
    past = steady()
    past.play(a=(0, 3))
    past.play(a=(0, 3))
    night = Night(
        run_id="x",
        date="2026-11-20",
        started_at="2026-11-20T22:00:00Z",
        cases=1,
        planned_trials=3,
        found={A: Found(SAME, 2, 1)},
    )
    reruns = Reruns(open_night(past.book, night))
    played = 0
    while reruns.next_cases() == ["a"]:
        reruns.add("a", {"E": True})
        played += 1

    assert 0 < played < 10


def test_a_night_of_reruns_never_plays_more_than_its_share() -> None:
    """Ten at least, a fifth of the night else."""
    past = Nights()
    for _ in range(8):
        past.play(**many(3, 0, 0, 40))
    night = Night(
        run_id="x",
        date="2026-11-20",
        started_at="2026-11-20T22:00:00Z",
        cases=40,
        planned_trials=120,
        found={(case, "E"): Found(SAME, *found) for case, found in many(2, 1, 6, 40).items()},
    )
    reruns = Reruns(open_night(past.book, night))
    played = 0
    while cases := reruns.next_cases():
        for case in cases:
            reruns.add(case, {"E": None})
            played += 1

    assert played == 24


def test_a_case_that_passed_half_of_its_trials_cannot_break() -> None:
    """Newly broken means that more than half passed before."""
    past = Nights()
    for _ in range(8):
        past.play(a=(2, 2))

    findings = past.play(a=(0, 4), again={A: Again(passed=0, failed=10, played=10)})

    assert not findings.newly_broken


def test_the_nights_of_a_break_do_not_make_it_one_that_failed_before() -> None:
    """The two newest nights are left out of what is known of a case."""
    past = steady(4)
    past.play(a=(0, 3))
    past.play(a=(0, 3))

    assert past.book.pairs[A].state is State.BROKEN
