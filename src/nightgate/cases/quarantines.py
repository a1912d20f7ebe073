"""Quarantine: which cases keep running without gating, and until when.

Owns the rule. A quarantine holds from its writing to its day, for 14 nights at most, and for at most 5% of
the cases (one in a small suite). One that asks for more does not hold: its case gates, which is the safe
side. Knows no run and no verdict.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from nightgate.cases.models import Case, Quarantine

LONGEST_NIGHTS = 14
_SHARE = 20
"""One case of so many may be in quarantine."""


def allowed(cases: int) -> int:
    """How many cases of a suite may be in quarantine at a time.

    >>> allowed(7), allowed(39), allowed(100)
    (1, 1, 5)
    """
    return max(1, cases // _SHARE)


def holding(cases: Sequence[Case], day: dt.date) -> frozenset[str]:
    """Ids of the cases whose quarantine holds on a day; none where too many ask for it."""
    asked = [case.id for case in cases if case.quarantine is not None and _in_time(case.quarantine, day)]
    return frozenset(asked if len(asked) <= allowed(len(cases)) else ())


def faults(cases: Sequence[Case], day: dt.date) -> Iterator[str]:
    """What keeps a quarantine from holding, one line each; for people."""
    listed = [(case, case.quarantine) for case in cases if case.quarantine is not None]
    for case, quarantine in listed:
        start = f"{case.where}: case {case.id!r}"
        left = (quarantine.until - day).days
        if left < 0:
            yield (
                f"{start}: quarantine ended on {quarantine.until}, it gates again; "
                f"{quarantine.owner} repairs, extends or drops it"
            )
        elif left > LONGEST_NIGHTS:
            yield (
                f"{start}: quarantine until {quarantine.until} is {left} nights away, so it does not hold "
                f"and the case gates; write {day + dt.timedelta(days=LONGEST_NIGHTS)} or sooner"
            )
    asked = [case.id for case, quarantine in listed if _in_time(quarantine, day)]
    most = allowed(len(cases))
    if len(asked) > most:
        yield (
            f"{len(asked)} of {len(cases)} cases are in quarantine, at most {most} may be (5%), so none "
            f"holds and all gate: {', '.join(map(repr, asked))}"
        )


def fault(days_left: int) -> str:
    """Why a quarantine whose day has not passed does not hold.

    >>> fault(61)
    'its day is 61 nights away, 14 at most'
    """
    if days_left > LONGEST_NIGHTS:
        return f"its day is {days_left} nights away, {LONGEST_NIGHTS} at most"
    return "more than 5% of the cases are in quarantine, so none is"


def _in_time(quarantine: Quarantine, day: dt.date) -> bool:
    return 0 <= (quarantine.until - day).days <= LONGEST_NIGHTS
