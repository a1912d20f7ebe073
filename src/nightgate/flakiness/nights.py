"""What the detector looks at and what it keeps: nights, pairs of case and evaluator, their states.

Owns the shapes. Knows no formula and no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Pair = tuple[str, str]
"""(case id, evaluator)."""


class State(StrEnum):
    """What a pair is taken for."""

    SOUND = "sound"
    """As its own baseline says, however often that fails."""
    SUSPECT = "suspect"
    """A night looked like a change and reruns did not decide."""
    BROKEN = "broken"
    """Changed for the worse; its baseline is frozen until it recovers."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What has to be the same for two nights to say something of one thing.

    The agent is no part of it: that it changed is what a break is made of.
    """

    case_hash: str
    evaluator_version: int
    judge_fingerprint: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """What a night found of a pair: judged trials only, so a hole is no evidence."""

    identity: Identity
    passed: int
    failed: int
    stage: str = "regression"

    @property
    def judged(self) -> int:
        """Trials that say something."""
        return self.passed + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One complete run of the whole suite."""

    run_id: str
    date: str
    started_at: str
    """UTC, ISO 8601 with Z."""
    cases: int
    planned_trials: int
    found: Mapping[Pair, Found]


@dataclass(frozen=True, slots=True)
class Counts:
    """A night of a pair, as kept: what was planned, and reruns apart from it."""

    run_id: str
    date: str
    passed: int
    failed: int
    again_passed: int = 0
    again_failed: int = 0


@dataclass(slots=True, kw_only=True)
class Watched:
    """A pair as the detector knows it."""

    identity: Identity
    state: State = State.SOUND
    since_run: str
    """The night of the last change of state, or the first one under this identity."""
    since_date: str
    carried: float = 0.0
    """Evidence that the last night left open."""
    flips: int = 0
    """Changes between broken and sound so far."""
    reruns: int = 0
    """Trials played besides so far, judged or not."""
    rerun_nanousd: int | None = 0
    """What they cost in nano-dollars; None once a part of it is unknown."""
    stage: str = "regression"
    nights: list[Counts] = field(default_factory=list)
    """Oldest first, of this identity; while it is broken, since the break."""
    before: list[Counts] = field(default_factory=list)
    """While it is broken: the nights before, to go on with once it has recovered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """So many suspects that it is one thing."""

    since_run: str
    since_date: str
    suspects: int
    """Cases that are suspect tonight."""
    cases: int
    """Cases of the night."""
    named: tuple[str, ...]
    """The cases it was first seen in."""


@dataclass(slots=True, kw_only=True)
class Book:
    """All that is known of a suite's pairs after some night."""

    through_run: str | None = None
    through_at: str = ""
    """``started_at`` of the newest night that is in."""
    recent: list[str] = field(default_factory=list)
    """Run ids of nights that are in, newest last."""
    pairs: dict[Pair, Watched] = field(default_factory=dict)
    event: Event | None = None
