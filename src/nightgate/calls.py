"""The ledger's unit: one attempt at one model call, and the scope in which it is made.

Owns who a call is charged to. A ``Scope`` is set by the runner at the start of each trial, user
turn or judgement and read by the metering and by scripted models; nothing else is ambient in the
program. Imports the standard library only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from nightgate.trials import Usage


class Role(StrEnum):
    """On whose account a call goes."""

    AGENT = "agent"
    JUDGE = "judge"
    USER = "user"


class Outcome(StrEnum):
    """How an attempt at a call ended."""

    OK = "ok"
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    AUTH = "auth"
    DISCONNECT = "disconnect"
    CUT = "cut"
    """The stream ended without a stop reason."""
    CONTEXT_OVERFLOW = "context_overflow"
    ERROR = "error"
    EXHAUSTED = "exhausted"
    """A script ran out of steps."""
    UNKNOWN = "unknown"
    """Sent, and nothing heard since: the process ended first."""

    @property
    def transient(self) -> bool:
        """Whether another attempt may help."""
        return self in _TRANSIENT


_TRANSIENT = frozenset(
    {Outcome.THROTTLED, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.DISCONNECT, Outcome.CUT}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One row of the ledger: an attempt, whoever made it and however it ended."""

    call_id: str
    """Unique within the run; a start and an end with one id are one attempt."""
    run_id: str
    suite: str
    role: Role
    case_id: str
    trial: int
    evaluator: str | None
    """Set for judges."""
    model: str
    """The spec text, without credentials."""
    attempt: int
    """Of this call, from 1: 2 and more are retries."""
    outcome: Outcome
    error: str | None = None
    stop_reason: str | None = None
    system_fingerprint: str | None = None
    """What the provider says that it answered with; None where it says nothing."""
    usage: Usage | None = None
    """None when it is unknown."""
    cost_nanousd: int | None = None
    """None when price or tokens are unknown."""
    list_nanousd: int | None = None
    """Of a judge's call: what the same tokens cost at list price; None when that is unknown."""
    batch_nanousd: int | None = None
    """Of a judge's call: what they cost in the provider's batch queue; None also when it has no queue."""
    latency_ms: float | None = None
    first_token_ms: float | None = None
    wait_ms: float = 0.0
    late: bool = False
    """Its answer came after the trial was over: dropped, but paid."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    play: int = 1
    """Which play of the trial: a resumed or taken-over trial counts on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStart:
    """A call was sent. Without an end it becomes a ledger row ``unknown``."""

    call_id: str
    run_id: str
    suite: str
    role: Role
    case_id: str
    trial: int
    evaluator: str | None
    model: str
    attempt: int
    play: int = 1
    started_at: datetime | None = None

    def ended(self, outcome: Outcome, **found: Any) -> Call:
        """The ledger row of this attempt.

        Args:
            outcome: How it ended.
            **found: What else is known of its end, as ``Call`` names it.
        """
        return Call(
            call_id=self.call_id,
            run_id=self.run_id,
            suite=self.suite,
            role=self.role,
            case_id=self.case_id,
            trial=self.trial,
            evaluator=self.evaluator,
            model=self.model,
            attempt=self.attempt,
            play=self.play,
            started_at=self.started_at,
            outcome=outcome,
            **found,
        )


@dataclass(slots=True, kw_only=True)
class Scope:
    """What the calls made inside of it share; one object a trial's play, user or judgement."""

    role: Role
    run_id: str
    suite: str
    case_id: str
    trial: int
    evaluator: str | None = None
    repeat: int = 0
    """In a sweep: which time the same output is judged, from 0."""
    play: int = 1
    calls: list[Call] = field(default_factory=list)
    """Attempts so far, in the order in which they ended."""
    raw_arguments: dict[str, str] = field(default_factory=dict)
    """Tool-use id -> the argument text as the model sent it, where it was no JSON."""
    cursors: dict[int, list[int]] = field(default_factory=dict)
    """A scripted model's place in its script: [step, tries of that step], by model identity."""
    last_reply: str = ""
    """What a judge said last, as it came."""
    waited_s: float = 0.0
    waiting: int = 0
    waiting_since: float = 0.0
    closed: bool = False
    """The trial is over; what still arrives is late."""
    fatal: BaseException | None = None
    """The last model failure after all retries, cleared by the next success."""
    limits: dict[str, Any] = field(default_factory=dict)
    turn_limits: Mapping[str, int] = field(default_factory=dict)
    """``turns``, ``output_tokens``, ``total_tokens`` of the agent's turn, where nobody else keeps them."""
    turn_start: int = 0
    """Attempts before that turn."""
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """What is held for all calls of the scope together, let go when it is closed by ``close``."""

    def close(self) -> None:
        """Its work is over, and what it held is free again."""
        self.closed = True
        self.held.close()

    def start(self, call_id: str, model: str, *, attempt: int, at: datetime) -> CallStart:
        """A call that is sent on this scope's account.

        Args:
            call_id: Unique within the run.
            model: The spec text, without credentials.
            attempt: From 1.
            at: When, aware.
        """
        return CallStart(
            call_id=call_id,
            run_id=self.run_id,
            suite=self.suite,
            role=self.role,
            case_id=self.case_id,
            trial=self.trial,
            evaluator=self.evaluator,
            model=model,
            attempt=attempt,
            play=self.play,
            started_at=at,
        )

    def begin_turn(self, limits: Mapping[str, int]) -> None:
        """Hold the calls from here on, up to the next turn, to ``limits``."""
        self.turn_limits, self.turn_start = dict(limits), len(self.calls)

    def limit_reached(self) -> str | None:
        """The SDK's word for the limit that forbids another call of this turn; None if none does.

        As in the SDK, a limit is looked at between calls: the one that passes it is not cut.
        """
        if not self.turn_limits:
            return None
        answered = [call for call in self.calls[self.turn_start :] if call.outcome is Outcome.OK]
        used = sum((call.usage for call in answered if call.usage is not None), Usage())
        total = used.input + used.output + used.cache_read + used.cache_write
        counts = {"turns": len(answered), "total_tokens": total, "output_tokens": used.output}
        reached = (name for name in counts if name in self.turn_limits)
        return next((f"limit_{name}" for name in reached if counts[name] >= self.turn_limits[name]), None)

    @property
    def usage(self) -> Usage:
        """Known tokens of all attempts."""
        total = Usage()
        for call in self.calls:
            if call.usage is not None:
                total = total + call.usage
        return total

    @property
    def cost_nanousd(self) -> int | None:
        """Cost of all attempts; None once one of them is unknown."""
        total = 0
        for call in self.calls:
            if call.cost_nanousd is None:
                return None
            total += call.cost_nanousd
        return total


_SCOPE: ContextVar[Scope | None] = ContextVar("nightgate_scope", default=None)


def current_scope() -> Scope | None:
    """The scope that a call made here is charged to."""
    return _SCOPE.get()


@contextlib.contextmanager
def scoped(scope: Scope) -> Iterator[Scope]:
    """Charge the calls made inside, also in child tasks and threads, to ``scope``."""
    token = _SCOPE.set(scope)
    try:
        yield scope
    finally:
        _SCOPE.reset(token)
