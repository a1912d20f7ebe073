"""Who is kept out of the gate, until when, and how many at most."""

from __future__ import annotations

import datetime as dt

import pytest

from makers import a_case
from nightgate.cases import Case, Quarantine
from nightgate.cases.quarantines import allowed, faults, holding

DAY = dt.date(2026, 11, 15)


def a_kept_out(case_id: str = "a", *, days: int = 5) -> Case:
    """A case in quarantine for so many days more."""
    until = DAY + dt.timedelta(days=days)
    return a_case(case_id, quarantine=Quarantine(owner="ana", reason="race", until=until.isoformat()))


@pytest.mark.parametrize(("days", "holds"), [(-1, False), (0, True), (14, True), (15, False)])
def test_it_holds_to_its_day_and_for_14_nights_at_most(days: int, holds: bool) -> None:
    """A quarantine for a year is a case that nobody repairs."""
    cases = [a_kept_out(days=days)]

    assert holding(cases, DAY) == (frozenset({"a"}) if holds else frozenset())
    assert bool(list(faults(cases, DAY))) is not holds


@pytest.mark.parametrize(("cases", "most"), [(1, 1), (7, 1), (39, 1), (40, 2), (100, 5)])
def test_at_most_a_twentieth_of_the_cases(cases: int, most: int) -> None:
    """5%, and one where that is none."""
    assert allowed(cases) == most


def test_with_too_many_none_holds_and_all_are_named() -> None:
    """A gate that most of a suite has left would pass whatever happens."""
    cases = [a_kept_out("a"), a_kept_out("b"), *(a_case(f"c{n}") for n in range(18))]

    assert holding(cases, DAY) == frozenset()
    (line,) = faults(cases, DAY)
    assert "2 of 20 cases are in quarantine, at most 1 may be" in line
    assert "'a', 'b'" in line


def test_those_that_are_over_do_not_count_among_too_many() -> None:
    """They gate again anyway."""
    cases = [a_kept_out("a"), a_kept_out("b", days=-3), *(a_case(f"c{n}") for n in range(18))]

    assert holding(cases, DAY) == frozenset({"a"})


def test_one_that_is_over_names_its_owner() -> None:
    """Somebody promised to look."""
    (line,) = faults([a_kept_out(days=-1)], DAY)

    assert "quarantine ended on 2026-11-14, it gates again; ana repairs" in line
