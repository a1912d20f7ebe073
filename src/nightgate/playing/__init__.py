"""One trial from the factory to its record.

Owns the play of a single question and the record of any trial; ``endings`` says how one ends,
``talking`` plays conversations. Knows no evaluator and no store.
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
from nightgate.errors import BudgetError, InputError
from nightgate.evaluators.sessions import exchanges, tool_text
from nightgate.plans import Plan, PlannedCase
from nightgate.playing.endings import Play, ended, look_around, raised
from nightgate.playing.talking import talk
from nightgate.ports import AgentFactory, AgentUnderTest, UserModel
from nightgate.trials import Ending, ToolCall, Trial, TrialKey, Usage


async def play(
    plan: Plan,
    planned: PlannedCase,
    case: Case,
    trial: int,
    *,
    factory: AgentFactory,
    model: Any,
    attempt: int,
    user: UserModel | None = None,
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
        user: The simulated user; needed by a case with a persona.

    Raises:
        BudgetError: If the run's cap stopped it: it was not played.
        InputError: If the factory hands out an agent that it may not.
        CancelledError: If the run was stopped.
    """
    scope = _scope(plan, case, trial, attempt)
    gathered = Play()
    started_at, began = datetime.now(UTC), time.monotonic()
    try:
        with scoped(scope):
            if case.persona is not None:
                assert user is not None, "a conversation needs a simulated user"
                ending, error = await talk(gathered, plan, case, factory, model, user, scope)
                worked_s = gathered.agent_s
            else:
                task = asyncio.create_task(_ask(gathered, plan, case, factory, model))
                ending, error = await _to_the_end(task, gathered, scope, plan.timeout_s)
                worked_s = time.monotonic() - began
            if isinstance(scope.fatal, BudgetError):
                raise scope.fatal
            latency_s = worked_s - scope.waited_s
            if ending is not Ending.INFRA_ERROR and gathered.target is not None:
                # The agent code's own fault, if nothing broke before.
                broken = await look_around(gathered, scope)
                if broken is not None and ending is Ending.COMPLETED:
                    ending, error = Ending.AGENT_ERROR, broken
    finally:
        scope.closed = True
        if gathered.target is not None:
            await gathered.target.close()
    return _record(
        plan, planned, case, trial, gathered, scope, ending, error, attempt, started_at, latency_s * 1000
    )


def _scope(plan: Plan, case: Case, trial: int, attempt: int) -> Scope:
    return Scope(
        role=Role.AGENT,
        run_id=plan.run_id,
        suite=plan.suite,
        case_id=case.id,
        trial=trial,
        play=attempt,
        limits=dict(plan.limits),
    )


def not_run(plan: Plan, planned: PlannedCase, case: Case, trial: int, attempt: int, why: str) -> Trial:
    """The record of a trial that was not played."""
    return Trial(
        key=TrialKey(run_id=plan.run_id, suite=plan.suite, case_id=case.id, trial=trial),
        ending=Ending.NOT_RUN,
        case_hash=planned.case_hash,
        agent_fingerprint=planned.agent_fingerprint,
        input=case.first_message or "",
        error=why,
        attempt=attempt,
    )


async def _to_the_end(
    task: asyncio.Task[None], gathered: Play, scope: Scope, timeout_s: float
) -> tuple[Ending, str | None]:
    """Wait for the agent, and type how it ended."""
    try:
        await within(task, timeout_s, scope)
        return ended(gathered, scope)
    except DeadlineError:
        return Ending.AGENT_TIMEOUT, f"no answer within {timeout_s:g} s of working time"
    except InputError:
        raise  # the factory cannot be used at all: exit 2, as if planning had found it
    except Exception as error:  # the user's agent may raise anything; it is typed here
        return raised(error, scope)


async def _ask(gathered: Play, plan: Plan, case: Case, factory: AgentFactory, model: Any) -> None:
    with contained():
        gathered.target = await factory.build(model, case)
        gathered.answer = await gathered.target.say(case.input or "", plan.limits)


def _record(
    plan: Plan,
    planned: PlannedCase,
    case: Case,
    trial: int,
    gathered: Play,
    scope: Scope,
    ending: Ending,
    error: str | None,
    attempt: int,
    started_at: datetime,
    latency_ms: float,
) -> Trial:
    target, answer, conversation = gathered.target, gathered.answer, gathered.talk
    messages = tuple(target.messages) if target is not None else ()
    answered = [call for call in scope.calls if call.stop_reason is not None]
    return Trial(
        key=TrialKey(run_id=plan.run_id, suite=plan.suite, case_id=case.id, trial=trial),
        ending=ending,
        case_hash=planned.case_hash,
        agent_fingerprint=planned.agent_fingerprint,
        input=_first(case, gathered),
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
        turns=1 if conversation is None else conversation.end_turn,
        latency_ms=round(latency_ms, 3),
        wait_ms=round(scope.waited_s * 1000, 3),
        attempt=attempt,
        end_reason=conversation.end_reason and conversation.end_reason.value if conversation else None,
        end_turn=conversation.end_turn if conversation is not None else None,
        user_turns=conversation.end_turn if conversation is not None else None,
        conversation=conversation,
        started_at=started_at,
        ended_at=datetime.now(UTC),
    )


def _first(case: Case, gathered: Play) -> str:
    """The first user message, whoever wrote it."""
    if gathered.talk is not None and gathered.talk.turns:
        return gathered.talk.turns[0].user
    return case.first_message or ""


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
