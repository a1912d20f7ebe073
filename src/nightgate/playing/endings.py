"""How a trial ends: which exception or stop reason becomes which ending (contract, section 2).

Owns the mapping, told apart by facts. Knows no evaluator.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from nightgate.calls import Scope
from nightgate.deadlines import DeadlineError, within
from nightgate.errors import ModelCallError
from nightgate.ports import AgentUnderTest, Answer
from nightgate.talks import Talk
from nightgate.trials import Ending

_TRUNCATED = frozenset({"max_tokens", "limit_turns", "limit_output_tokens", "limit_total_tokens"})
_BLOCKED = frozenset({"guardrail_intervened", "content_filtered"})
STATE_S = 10.0
"""Working time of a target's state(), beyond the trial's own."""


class Play:
    """What one play has gathered so far; survives its own cancellation."""

    def __init__(self) -> None:
        self.target: AgentUnderTest | None = None
        self.answer: Answer | None = None
        self.state: Mapping[str, Any] | None = None
        self.talk: Talk | None = None
        """Conversations only."""
        self.agent_s = 0.0
        """Conversations only: seconds of the agent's turns, waiting included."""


def ended(gathered: Play, scope: Scope) -> tuple[Ending, str | None]:
    """The ending of an agent that came back with an answer."""
    assert gathered.target is not None
    assert gathered.answer is not None
    stop = gathered.answer.stop_reason or ""
    if isinstance(scope.fatal, ModelCallError):
        # The agent's code swallowed a failed call and answered something: not its own doing.
        return raised(scope.fatal, scope)
    if stop in _TRUNCATED:
        return Ending.AGENT_TRUNCATED, f"stopped by {stop}"
    if stop in _BLOCKED:
        return Ending.AGENT_BLOCKED, f"stopped by {stop}"
    if not gathered.target.single and not scope.calls:
        return Ending.AGENT_ERROR, (
            "the target answered without one call of the model it was given: build it around `model`"
        )
    return Ending.COMPLETED, None


def raised(error: BaseException, scope: Scope) -> tuple[Ending, str]:
    """The ending of an agent that raised."""
    cause: BaseException = scope.fatal if isinstance(scope.fatal, ModelCallError) else error
    if isinstance(cause, ModelCallError):
        if cause.kind == "call_cap":
            return Ending.AGENT_TRUNCATED, str(cause)
        return Ending.INFRA_ERROR, str(cause)
    return Ending.AGENT_ERROR, f"{type(error).__name__}: {error}"


async def look_around(gathered: Play, scope: Scope) -> str | None:
    """Read the target's state into ``gathered``; what broke, if it did: that is the agent code's fault."""
    assert gathered.target is not None
    try:
        gathered.state = await within(asyncio.create_task(gathered.target.state()), STATE_S, scope)
        json.dumps(gathered.state)
    except DeadlineError:
        return f"state() took longer than {STATE_S:g} s"
    except Exception as error:  # the user's code
        gathered.state = None
        return f"state() raised {type(error).__name__}: {error}"
    return None
