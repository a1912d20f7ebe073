"""A stored trial -> its last turn, or all of it where it is a conversation with a simulated user.

Owns what a trial's record says of them, and which trials nothing can be learnt from. Knows no store:
the trial is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nightgate.errors import ExitCode, NightgateError
from nightgate.evaluators.sessions import exchanges
from nightgate.importers.records import (
    Exchange,
    NoContentError,
    Recorded,
    RecordedCall,
    Unread,
    says_something,
)
from nightgate.trials import Ending, ToolCall, Trial


class UselessTrialError(NightgateError):
    """The agent never got to answer, so there is no behaviour to make a case of.

    Args:
        trial: The trial.
        why: What ``nothing_learnt`` says of it.
        completed: Numbers of the case's trials in the run that completed; None where nobody looked.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, trial: Trial, why: str, completed: Sequence[int] | None = None) -> None:
        others = [number for number in completed or () if number != trial.key.trial]
        hint = f"; take --trial {others[0]}, which completed" if others else ""
        if completed is not None and not others:
            hint = "; no other trial of the case completed in this run: take another run, or play it again"
        super().__init__(f"{_about(trial)}: {why}; nothing to learn from it, nothing was written{hint}")


_NEVER_WORKED = frozenset({Ending.INFRA_ERROR, Ending.SIMULATOR_ERROR, Ending.CANCELLED, Ending.NOT_RUN})


def nothing_learnt(trial: Trial) -> str | None:
    """Why no case can be made of a trial; None when one can.

    What ended it was not the agent, or the model never answered.
    """
    why = f" ({trial.error})" if trial.error else ""
    if trial.ending in _NEVER_WORKED:
        return f"it ended as {trial.ending}{why}, which says nothing about the agent"
    answered = any(message.get("role") == "assistant" for message in trial.messages)
    if not (answered or trial.output or trial.tool_calls):
        return f"it ended as {trial.ending}{why} without a single answer of the model"
    return None


def recorded_trial(trial: Trial, *, store: str, complete: bool) -> Recorded:
    """The last turn of a trial, or the conversation that it is.

    Args:
        trial: As it was stored.
        store: Address of the store, for the remarks.
        complete: Whether the run was committed.

    Raises:
        UselessTrialError: If the agent never got to work.
        NoContentError: If the user said nothing, or nothing of it was kept.
    """
    key, about = trial.key, _about(trial)
    why = nothing_learnt(trial)
    if why is not None:
        raise UselessTrialError(trial, why)
    recorded = Recorded(
        source={
            "kind": "trial",
            "about": about,
            "store": store,
            "run_id": key.run_id,
            "suite": key.suite,
            "case_id": key.case_id,
            "trial": key.trial,
            "ending": trial.ending.value,
            "complete": complete,
        },
        input="",
        output=trial.output if trial.output or trial.ending is Ending.COMPLETED else None,
        offered=tuple(str(tool["name"]) for tool in trial.tools_offered or () if "name" in tool),
        unread=tuple(_oddities(trial)),
        context=None,
        background=(trial.messages, [call.arguments for call in trial.tool_calls]),
    )
    recorded = _last_turn(recorded, trial) if trial.conversation is None else _whole(recorded, trial)
    if not says_something(recorded.input):
        raise NoContentError(f"{about}: the user said nothing in it; nothing was written")
    return recorded


def _about(trial: Trial) -> str:
    return f"trial {trial.key.trial} of case {trial.key.case_id!r} in run {trial.key.run_id}"


def _last_turn(recorded: Recorded, trial: Trial) -> Recorded:
    starts = [number for number, message in enumerate(trial.messages) if _asks(message)]
    begin = starts[-1] if starts else 0
    earlier = (
        Unread(where="conversation", what="an earlier turn left out:", quote=_text(trial.messages[number]))
        for number in starts[:-1]
    )
    return replace(
        recorded,
        input=_text(trial.messages[begin]) if len(starts) > 1 else trial.input or _first(trial),
        calls=_calls(trial, begin),
        unread=(*recorded.unread, *earlier),
    )


def _whole(recorded: Recorded, trial: Trial) -> Recorded:
    turns = trial.conversation.turns if trial.conversation is not None else []
    exchanges = tuple(Exchange(user=turn.user, agent=turn.agent, calls=turn.tool_calls) for turn in turns)
    opening = exchanges[0].user if exchanges else trial.input
    return replace(recorded, input=opening, calls=_calls(trial, 0), exchanges=exchanges)


def _oddities(trial: Trial) -> list[Unread]:
    found = []
    if trial.ending is not Ending.COMPLETED:
        why = f" ({trial.error})" if trial.error else ""
        found.append(Unread(where="trial", what=f"it ended as {trial.ending}{why}"))
    if not trial.messages:
        what = "no transcript is stored; what was said beside the calls is not known"
        found.append(Unread(where="trial", what=what))
    return found


def _calls(trial: Trial, begin: int) -> tuple[RecordedCall, ...]:
    """The calls of the messages from ``begin`` on, with the arguments as the model sent them."""
    found = exchanges(trial.messages)
    if len(found) != len(trial.tool_calls):  # no transcript, or not all of it
        return tuple(_call(call, step=number) for number, call in enumerate(trial.tool_calls))
    calls: list[RecordedCall] = []
    step, last = -1, -1
    for (order, _, _), call in zip(found, trial.tool_calls, strict=True):
        if order < begin:
            continue
        said = _text(trial.messages[order]) if order != last else ""
        step, last = (step if order == last else step + 1), order
        calls.append(_call(call, said=said, step=step))
    return tuple(calls)


def _call(call: ToolCall, *, step: int, said: str = "") -> RecordedCall:
    return RecordedCall(
        name=call.name,
        arguments=call.arguments,
        result=call.result,
        status=call.status,
        call_id=call.call_id,
        said=said,
        step=step,
    )


def _first(trial: Trial) -> str:
    return next((_text(message) for message in trial.messages if _asks(message)), "")


def _asks(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and any("text" in block for block in message.get("content", ()))


def _text(message: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in message.get("content", ()) if "text" in block)


def with_context(recorded: Recorded, context: Mapping[str, Any]) -> Recorded:
    """The same with the context of the case that the trial played."""
    return replace(recorded, context=context)
