"""One play of one case: its key, its ending, what was said, called and left behind.

Owns the meaning of an ending and the shape of a trial's record. Knows no agent framework, no
evaluator and no store: the runner fills a ``Trial``, evaluators read it, ``rows`` stores it.
Imports ``talks`` and the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from nightgate.talks import Talk


class Ending(StrEnum):
    """How a trial ended; exactly one of these (contract, section 2)."""

    COMPLETED = "completed"
    AGENT_ERROR = "agent_error"
    """Factory or agent code raised, or the context overflowed: the agent's own fault."""
    AGENT_TIMEOUT = "agent_timeout"
    AGENT_TRUNCATED = "agent_truncated"
    """Stopped by max_tokens or by one of the suite's limits."""
    AGENT_BLOCKED = "agent_blocked"
    """Stopped by a guardrail or a content filter."""
    SIMULATOR_ERROR = "simulator_error"
    INFRA_ERROR = "infra_error"
    """The agent's model could not be reached or paid for, after all retries."""
    CANCELLED = "cancelled"
    """Stopped by a person or the machine while it ran."""
    NOT_RUN = "not_run"

    @property
    def agent_fault(self) -> bool:
        """Whether every evaluator with a threshold fails on it."""
        return self in _AGENT_FAULTS

    @property
    def played(self) -> bool:
        """Whether the trial is over for good: a resume never plays it again."""
        return self not in (Ending.CANCELLED, Ending.NOT_RUN)


_AGENT_FAULTS = frozenset(
    {Ending.AGENT_ERROR, Ending.AGENT_TIMEOUT, Ending.AGENT_TRUNCATED, Ending.AGENT_BLOCKED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialKey:
    """Which play of which case, in which run; the identity that nothing may be paid for twice."""

    run_id: str
    suite: str
    case_id: str
    """Verbatim, any Unicode text."""
    trial: int
    """From 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call that the model asked for, whatever came back, offered or not."""

    name: str
    arguments: Any
    """The JSON value that arrived; text that is no JSON is kept as text."""
    result: str | None = None
    """Text of the tool's answer; None when none came back."""
    status: str | None = None
    """``success`` or ``error`` as the tool reported it; None when no answer came back."""
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls, in four kinds that never overlap.

    Providers disagree whether cached tokens are part of the input; the metering makes ``input``
    the uncached rest before it builds a ``Usage``.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    """However long it is kept."""
    cache_write_1h: int = 0
    """Of ``cache_write``: what is kept for an hour, which costs more."""

    @property
    def total(self) -> int:
        """All four kinds together."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A finished play, as evaluators see it and as one row of the trials table stores it."""

    key: TrialKey
    ending: Ending
    case_hash: str = ""
    agent_fingerprint: str = ""
    input: str = ""
    """The first user message."""
    output: str = ""
    """Text of the agent's last answer; empty when there was none."""
    error: str | None = None
    """What ended the trial, for every ending but ``completed``."""
    stop_reason: str | None = None
    """As the agent framework reported it."""
    messages: tuple[Mapping[str, Any], ...] = ()
    """The log of all messages (role, content blocks), also those a window dropped later."""
    tool_calls: tuple[ToolCall, ...] = ()
    tools_offered: tuple[Mapping[str, Any], ...] | None = ()
    """Name, description and input schema of each tool that the agent had; None when the target, or a
    part of it, shows no agent, so that nobody could record all that was called."""
    system_prompt: str | None = None
    final_state: Mapping[str, Any] | None = None
    """The target's state after the play; None when it offers none."""
    usage: Usage = field(default_factory=Usage)
    """Tokens of the agent's own calls."""
    cost_nanousd: int | None = 0
    """The agent's cost in 1e-9 US dollars; None once a call's price or tokens are unknown."""
    calls: int = 0
    """Model calls of the agent, retries left out."""
    turns: int = 0
    latency_ms: float | None = None
    """Wall time of the play without waiting for rate limits; None when it never began."""
    wait_ms: float = 0.0
    """Time spent waiting: rate limit, in-flight slot, back-off."""
    attempt: int = 1
    reused_from: str | None = None
    """The run that this trial was taken over from."""
    end_reason: str | None = None
    """Conversations only: goal_met, user_satisfied, user_abandoned, turn_limit or stalled."""
    end_turn: int | None = None
    user_turns: int | None = None
    conversation: Talk | None = None
    """Conversations only: turns, what was asked and given, what the simulator did."""
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def recorded(self) -> bool:
        """Whether all calls can be seen: where not, "no such call was seen" says nothing about the agent."""
        return self.tools_offered is not None and bool(self.tool_calls or self.messages)
