"""A stored trial -> one turn.

Owns what a trial's record says of its last turn. Knows no store: the trial is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nightgate.evaluators.sessions import exchanges
from nightgate.importers.chains import short
from nightgate.importers.records import NoContentError, Recorded, RecordedCall, Unread
from nightgate.trials import Ending, ToolCall, Trial


def recorded_trial(trial: Trial, *, store: str, complete: bool) -> Recorded:
    """The last turn of a trial.

    Args:
        trial: As it was stored.
        store: Address of the store, for the remarks.
        complete: Whether the run was committed.

    Raises:
        NoContentError: If the trial has neither messages nor an input.
    """
    key = trial.key
    about = f"trial {key.trial} of case {key.case_id!r} in run {key.run_id}"
    if not trial.input and not trial.messages:
        raise NoContentError(
            f"{about}: nothing was said in it ({trial.error or trial.ending}); nothing written"
        )
    unread = _oddities(trial)
    starts = [number for number, message in enumerate(trial.messages) if _asks(message)]
    begin = starts[-1] if starts else 0
    for number in starts[:-1]:
        text = short(_text(trial.messages[number]))
        unread.append(Unread(where="conversation", what=f"an earlier turn left out: {text}"))
    return Recorded(
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
        input=_text(trial.messages[begin]) if len(starts) > 1 else trial.input or _first(trial),
        calls=_calls(trial, begin),
        output=trial.output if trial.output or trial.ending is Ending.COMPLETED else None,
        offered=tuple(str(tool["name"]) for tool in trial.tools_offered or () if "name" in tool),
        unread=tuple(unread),
    )


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
