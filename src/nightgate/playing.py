"""One trial from the factory to its record.

Owns how a trial ends: which exception, stop reason or deadline becomes which ending (contract,
section 2), told apart by facts. Knows no evaluator and no store.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nightgate.calls import Role, Scope, scoped
from nightgate.cases import Case
from nightgate.deadlines import DeadlineError, contained, within
from nightgate.errors import BudgetError, InputError, ModelCallError
from nightgate.evaluators.sessions import exchanges, tool_text
from nightgate.plans import Plan, PlannedCase
from nightgate.ports import AgentFactory, AgentUnderTest, Answer
from nightgate.trials import Ending, ToolCall, Trial, TrialKey, Usage

_TRUNCATED = frozenset({"max_tokens", "limit_turns", "limit_output_tokens", "limit_total_tokens"})
_BLOCKED = frozenset({"guardrail_intervened", "content_filtered"})
_STATE_S = 10.0
"""Working time of a target's state(), beyond the trial's own."""


class _Play:
    """What one play has gathered so far; survives its own cancellation."""

    def __init__(self) -> None:
        self.target: AgentUnderTest | None = None
        self.answer: Answer | None = None
        self.state: Mapping[str, Any] | None = None


async def play(
    plan: Plan,
    planned: PlannedCase,
    case: Case,
    trial: int,
    *,
    factory: AgentFactory,
    model: Any,
    attempt: int,
) -> Trial:
    """Play one trial to its end.

    Args:
        plan: The run's plan: deadline and limits.
        planned: The case as planned.
        case: The case.
        trial: From 0.
        factory: Builds the fresh agent.
        model: The metered model under test.
        attempt: Which play of this trial it is, from 1.

    Raises:
        BudgetError: If the run's cap stopped it: it was not played.
        InputError: If the factory hands out an agent that it may not.
        CancelledError: If the run was stopped.
    """
    scope = Scope(
        role=Role.AGENT,
        run_id=plan.run_id,
        suite=plan.suite,
        case_id=case.id,
        trial=trial,
        play=attempt,
        limits=dict(plan.limits),
    )
    gathered = _Play()
    started_at, began = datetime.now(UTC), time.monotonic()
    try:
        with scoped(scope):
            task = asyncio.create_task(_converse(gathered, plan, case, factory, model))
            ending, error = await _to_the_end(task, gathered, scope, plan.timeout_s)
            if isinstance(scope.fatal, BudgetError):
                raise scope.fatal
            latency_s = time.monotonic() - began - scope.waited_s
            if ending is not Ending.INFRA_ERROR and gathered.target is not None:
                ending, error = await _look_around(gathered, scope, ending, error)
    finally:
        scope.closed = True
        if gathered.target is not None:
            await gathered.target.close()
    return _record(
        plan, planned, case, trial, gathered, scope, ending, error, attempt, started_at, latency_s * 1000
    )


async def _to_the_end(
    task: asyncio.Task[None], gathered: _Play, scope: Scope, timeout_s: float
) -> tuple[Ending, str | None]:
    """Wait for the agent, and type how it ended."""
    try:
        await within(task, timeout_s, scope)
        return _ended(gathered, scope)
    except DeadlineError:
        return Ending.AGENT_TIMEOUT, f"no answer within {timeout_s:g} s of working time"
    except InputError:
        raise  # the factory cannot be used at all: exit 2, as if planning had found it
    except Exception as raised:  # the user's agent may raise anything; it is typed here
        return _raised(raised, scope)


async def _converse(gathered: _Play, plan: Plan, case: Case, factory: AgentFactory, model: Any) -> None:
    with contained():
        gathered.target = await factory.build(model, case)
        gathered.answer = await gathered.target.say(case.input or "", plan.limits)


async def _look_around(
    gathered: _Play, scope: Scope, ending: Ending, error: str | None
) -> tuple[Ending, str | None]:
    """Read the target's state; a state() that breaks is the agent code's fault, if nothing broke before."""
    assert gathered.target is not None
    broken: str | None = None
    try:
        gathered.state = await within(asyncio.create_task(gathered.target.state()), _STATE_S, scope)
        json.dumps(gathered.state)
    except DeadlineError:
        broken = f"state() took longer than {_STATE_S:g} s"
    except Exception as raised:  # the user's code again
        gathered.state = None
        broken = f"state() raised {type(raised).__name__}: {raised}"
    if broken is None or ending is not Ending.COMPLETED:
        return ending, error
    return Ending.AGENT_ERROR, broken


def _ended(gathered: _Play, scope: Scope) -> tuple[Ending, str | None]:
    """The ending of an agent that came back with an answer."""
    assert gathered.target is not None
    assert gathered.answer is not None
    stop = gathered.answer.stop_reason or ""
    if isinstance(scope.fatal, ModelCallError):
        # The agent's code swallowed a failed call and answered something: not its own doing.
        return _raised(scope.fatal, scope)
    if stop in _TRUNCATED:
        return Ending.AGENT_TRUNCATED, f"stopped by {stop}"
    if stop in _BLOCKED:
        return Ending.AGENT_BLOCKED, f"stopped by {stop}"
    if not gathered.target.single and not scope.calls:
        return Ending.AGENT_ERROR, (
            "the target answered without one call of the model it was given: build it around `model`"
        )
    return Ending.COMPLETED, None


def _raised(error: BaseException, scope: Scope) -> tuple[Ending, str]:
    """The ending of an agent that raised."""
    cause: BaseException = scope.fatal if isinstance(scope.fatal, ModelCallError) else error
    if isinstance(cause, ModelCallError):
        if cause.kind == "call_cap":
            return Ending.AGENT_TRUNCATED, str(cause)
        return Ending.INFRA_ERROR, str(cause)
    return Ending.AGENT_ERROR, f"{type(error).__name__}: {error}"


def _record(
    plan: Plan,
    planned: PlannedCase,
    case: Case,
    trial: int,
    gathered: _Play,
    scope: Scope,
    ending: Ending,
    error: str | None,
    attempt: int,
    started_at: datetime,
    latency_ms: float,
) -> Trial:
    target, answer = gathered.target, gathered.answer
    messages = tuple(target.messages) if target is not None else ()
    answered = [call for call in scope.calls if call.stop_reason is not None]
    return Trial(
        key=TrialKey(run_id=plan.run_id, suite=plan.suite, case_id=case.id, trial=trial),
        ending=ending,
        case_hash=planned.case_hash,
        agent_fingerprint=planned.agent_fingerprint,
        input=case.input or "",
        output=answer.text if answer is not None else "",
        error=error,
        stop_reason=answer.stop_reason if answer is not None else None,
        messages=messages,
        tool_calls=tool_calls(messages, scope.raw_arguments),
        tools_offered=_offered(target),
        system_prompt=target.system_prompt if target is not None else None,
        final_state=gathered.state,
        usage=sum((call.usage for call in scope.calls if call.usage is not None), Usage()),
        cost_nanousd=scope.cost_nanousd,
        calls=len(answered),
        turns=1,
        latency_ms=round(latency_ms, 3),
        wait_ms=round(scope.waited_s * 1000, 3),
        attempt=attempt,
        started_at=started_at,
        ended_at=datetime.now(UTC),
    )


def _offered(target: AgentUnderTest | None) -> tuple[Mapping[str, Any], ...] | None:
    tools = target.tools if target is not None else ()
    return None if tools is None else tuple(tools)


def tool_calls(messages: Sequence[Mapping[str, Any]], raw: Mapping[str, str]) -> tuple[ToolCall, ...]:
    """The calls that the model asked for, in order, each with what came back.

    Args:
        messages: The message log.
        raw: Argument text by tool-use id, as the model sent it: the SDK replaces what is no JSON by
            an empty object, and a check must see what the model really wrote.
    """
    return tuple(
        ToolCall(
            name=use["name"],
            arguments=_arguments(use["input"], raw.get(use["toolUseId"])),
            result=tool_text(result) if result is not None else None,
            status=result.get("status") if result is not None else None,
            call_id=use["toolUseId"],
        )
        for _, use, result in exchanges(messages)
    )


def _arguments(parsed: Any, raw: str | None) -> Any:
    if parsed or raw is None or not raw.strip():
        return parsed
    try:
        return json.loads(raw)
    except ValueError:
        return raw
