"""What a conversation leaves behind: turns, ending, what the simulator did wrong.

Owns the record that evaluators, reports and the trials table read. Plain data, JSON both ways.
Imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class EndReason(StrEnum):
    """Why a conversation ended: exactly one, and it is a result."""

    GOAL_MET = "goal_met"
    """The target's state is what the persona wanted, checked after an agent turn."""
    USER_SATISFIED = "user_satisfied"
    """The user said so; the state does not confirm it."""
    USER_ABANDONED = "user_abandoned"
    """Patience used up, or the user left."""
    TURN_LIMIT = "turn_limit"
    STALLED = "stalled"
    """The agent neither spoke nor acted, or both sides went in a circle."""


@dataclass(slots=True, kw_only=True)
class TurnNote:
    """One user message and the agent's turn that answered it."""

    turn: int
    """From 1."""
    user: str
    """As delivered."""
    agent: str = ""
    tool_calls: int = 0
    given: list[str] = field(default_factory=list)
    """Withheld facts that this user message gave for the first time."""
    asked: list[str] = field(default_factory=list)
    """Withheld facts that the agent asked for."""
    re_asked: list[str] = field(default_factory=list)
    """Those of them that the user had given before."""
    success: bool = False
    """Whether the state is what the persona wants, after this turn."""
    forbidden: bool = False
    """Whether the state is what must never be."""


@dataclass(slots=True, kw_only=True)
class SimulatorNotes:
    """What the simulated user did against its rules; reported beside the scores, never gated."""

    leaks: int = 0
    """Messages in which a fact that nobody had asked for was taken out."""
    regenerations: int = 0
    """Drafts that were asked for again."""
    repeats: int = 0
    """Messages, or facts in them, that had been said before."""
    cuts: int = 0
    """Messages shortened to two sentences."""
    faults: list[str] = field(default_factory=list)
    """Contradictions of its own goal."""
    tokens: dict[str, int] = field(default_factory=dict)
    cost_nanousd: int | None = 0
    calls: int = 0


@dataclass(slots=True, kw_only=True)
class Talk:
    """A whole conversation."""

    end_reason: EndReason | None = None
    """None when it broke off: the trial's ending says why."""
    turns: list[TurnNote] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    """Names of the facts that the persona withholds."""
    attempts: int = 0
    """Different messages of the user: how often it tried."""
    simulator: SimulatorNotes = field(default_factory=SimulatorNotes)
    transport: bool = False
    """Whether it broke off because the simulator's model could not be reached: not its own fault."""

    @property
    def end_turn(self) -> int:
        """The turn in which it ended, from 1; 0 when nothing was said."""
        return len(self.turns)

    @property
    def asked(self) -> set[str]:
        """Withheld facts that the agent asked for at least once."""
        return {name for turn in self.turns for name in turn.asked}

    @property
    def efficiency(self) -> float:
        """Least possible user messages (one, and one a withheld fact) over those it took; at most 1."""
        return min(1.0, (1 + len(self.withheld)) / self.end_turn) if self.turns else 0.0

    @property
    def yielded_in(self) -> int | None:
        """The first turn after which the forbidden state was there."""
        return next((turn.turn for turn in self.turns if turn.forbidden), None)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON for the record and the trials table."""
        return asdict(self) | {"end_reason": self.end_reason.value if self.end_reason else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Talk:
        """Read it again; keys that this version does not know are left out."""
        reason = data.get("end_reason")
        return cls(
            end_reason=EndReason(reason) if reason else None,
            turns=[TurnNote(**_known(TurnNote, turn)) for turn in data.get("turns", ())],
            withheld=list(data.get("withheld", ())),
            attempts=data.get("attempts", 0),
            transport=data.get("transport", False),
            simulator=SimulatorNotes(**_known(SimulatorNotes, data.get("simulator", {}))),
        )


def _known(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in kind.__dataclass_fields__ if name in data}
