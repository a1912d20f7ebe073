"""Why somebody is told: kinds of causes, what makes two of them the same, and which share a root.

Owns identities and order. One night may bring several causes with one root (a case broke, so the gate
failed); they are one message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What can be wrong, in the order in which it heads a message."""

    SUITE_EVENT = "suite_event"
    """So many cases at once that the cause lies outside of them."""
    GATE_FAILED = "gate_failed"
    """Subject: the evaluator, or ``gate`` for the run as a whole."""
    NEWLY_BROKEN = "newly_broken"
    """Subject: case, evaluator."""
    BUDGET_STOP = "budget_stop"
    EMPTY_RUN = "empty_run"
    """Nothing at all was measured."""
    NO_COMPLETE_RUN = "no_complete_run"
    INCONCLUSIVE = "inconclusive"
    """Subject: the evaluator, ``open`` for a run that did not end, or ``gate``."""
    COVERAGE_HOLE = "coverage_hole"
    """Subject: the evaluator."""
    ATTACK_PASSED = "attack_passed"
    """A planted attack turned a judge. Subject: case, evaluator, attack."""
    JUDGE_DRIFT = "judge_drift"
    QUARANTINE_EXPIRING = "quarantine_expiring"
    """Subject: case, last day, and ``ended`` once it has, or ``void`` where it never held."""
    NEWLY_FIXED = "newly_fixed"
    """Good news without an open cause before it. Subject: case, evaluator."""


class End(StrEnum):
    """How a cause came to its end."""

    MENDED = "mended"
    GONE = "gone"
    """The case, or what it asked for, is no longer in the suite: nothing was repaired."""
    KNOWN = "known"
    """A gate that fails by nothing but cases that are known as flaky by now."""


class Root(StrEnum):
    """What a message is about."""

    REGRESSION = "regression"
    MEASUREMENT = "measurement"
    JUDGE = "judge"
    CARE = "care"


_ROOTS = {
    Kind.SUITE_EVENT: Root.REGRESSION,
    Kind.GATE_FAILED: Root.REGRESSION,
    Kind.NEWLY_BROKEN: Root.REGRESSION,
    Kind.NEWLY_FIXED: Root.REGRESSION,
    Kind.BUDGET_STOP: Root.MEASUREMENT,
    Kind.EMPTY_RUN: Root.MEASUREMENT,
    Kind.NO_COMPLETE_RUN: Root.MEASUREMENT,
    Kind.INCONCLUSIVE: Root.MEASUREMENT,
    Kind.COVERAGE_HOLE: Root.MEASUREMENT,
    Kind.ATTACK_PASSED: Root.JUDGE,
    Kind.JUDGE_DRIFT: Root.JUDGE,
    Kind.QUARANTINE_EXPIRING: Root.CARE,
}
LINE_KINDS = frozenset(
    {Kind.GATE_FAILED, Kind.BUDGET_STOP, Kind.EMPTY_RUN, Kind.INCONCLUSIVE, Kind.COVERAGE_HOLE}
)
"""Kinds that hold for one model and one set of filters: a variant's failure is not the nightly's."""
SERIES_KINDS = frozenset({Kind.SUITE_EVENT, Kind.NEWLY_BROKEN, Kind.NEWLY_FIXED})
"""Kinds that hold for one history of nights: that of scripts, or that of real models."""
_ORDER = {kind: rank for rank, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing to tell; the texts are as they were found, unsafe to show."""

    kind: Kind
    subject: tuple[str, ...] = ()
    text: str = ""
    """One line: what it is, with its figures."""
    figures: str = ""
    """A short form of the figures, as ``3/3 to 0/3``."""
    since: str | None = None
    """The day it began, YYYY-MM-DD, where it is known to be earlier than tonight."""
    line: str = ""
    """Model and filters, or the history of nights, for kinds that hold for them alone."""
    end: End = End.MENDED
    """Of a closing: how it ended."""

    @property
    def root(self) -> Root:
        """Which message it belongs to."""
        return _ROOTS[self.kind]

    @property
    def id(self) -> str:
        """The same for the same cause in every night of a suite.

        >>> Cause(kind=Kind.NEWLY_BROKEN, subject=("a", "E")).id
        'newly_broken-e311e6b54433'
        """
        line = self.line if self.kind in LINE_KINDS | SERIES_KINDS else ""
        told = json.dumps([self.kind.value, list(self.subject), line], ensure_ascii=True)
        return f"{self.kind.value}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"


def in_order(causes: Iterable[Cause]) -> list[Cause]:
    """The gravest first; those of a kind as they came."""
    return sorted(causes, key=lambda cause: _ORDER[cause.kind])
