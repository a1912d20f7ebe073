"""A trial's messages as steps that people read: who spoke, which tool was called with what, what came back.

Owns the reading of stored messages, which hold what a provider, an agent and its tools left there: what is
not understood is shown as it is stored. Knows no markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightgate.reports.pages.texts import Text, Texts
from nightgate.talks import TurnNote
from nightgate.trials import ToolCall, Trial


@dataclass(slots=True, kw_only=True)
class Said:
    """A step: a text that somebody said, or a tool call with its answer."""

    who: str
    """user, agent, reasoning, call or other."""
    text: Text | None = None
    """What was said; of a call its arguments."""
    name: str = ""
    """Of the tool, or what the block is called."""
    result: Text | None = None
    """Of a call: what came back; None when nothing did."""
    status: str | None = None
    """Of a call: success or error, as the tool reported it."""
    turn: TurnNote | None = None
    """Of a user's message in a conversation: what was asked and given in it."""


def steps(trial: Trial, texts: Texts) -> list[Said]:
    """What happened in a trial, in order.

    Args:
        trial: As it was stored.
        texts: Of the page that shows it.
    """
    if not trial.messages:
        return list(_without_messages(trial, texts))
    notes = {note.turn: note for note in trial.conversation.turns} if trial.conversation is not None else {}
    found: list[Said] = []
    calls: dict[str, Said] = {}
    turn = 0
    for message in trial.messages:
        role = str(message.get("role"))
        spoken = False
        for block in _blocks(message):
            said = _said(role, block, texts, calls)
            if said is None:
                continue
            if said.who == "user" and not spoken:
                turn, spoken = turn + 1, True
                said.turn = notes.get(turn)
            found.append(said)
    return found


def _without_messages(trial: Trial, texts: Texts) -> Iterator[Said]:
    """What the trial's own row tells where no transcript is stored, or none can be read."""
    if trial.input:
        yield Said(who="user", text=texts(trial.input))
    for call in trial.tool_calls:
        yield _call(call, texts)
    if trial.output:
        yield Said(who="agent", text=texts(trial.output))


def _call(call: ToolCall, texts: Texts) -> Said:
    return Said(
        who="call",
        name=call.name,
        text=texts.json(call.arguments),
        result=texts(call.result),
        status=call.status,
    )


def _blocks(message: Mapping[str, Any]) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list | tuple) else [content]


def _said(role: str, block: Any, texts: Texts, calls: dict[str, Said]) -> Said | None:
    if isinstance(block, str):
        return Said(who=_speaker(role), text=texts(block))
    if not isinstance(block, Mapping):
        return None if block is None else Said(who="other", name=role, text=texts.json(block))
    if isinstance(block.get("text"), str):
        return Said(who=_speaker(role), text=texts(block["text"]))
    if isinstance(use := block.get("toolUse"), Mapping):
        said = Said(who="call", name=str(use.get("name")), text=texts.json(use.get("input")))
        calls[str(use.get("toolUseId"))] = said
        return said
    if isinstance(answer := block.get("toolResult"), Mapping):
        return _answered(answer, texts, calls)
    if isinstance(thought := block.get("reasoningContent"), Mapping):
        inner = thought.get("reasoningText")
        text = inner.get("text") if isinstance(inner, Mapping) else None
        return Said(who="reasoning", text=texts.json(text if text is not None else dict(thought)))
    return Said(who="other", name=", ".join(map(str, block)) or "empty", text=texts.json(dict(block)))


def _answered(answer: Mapping[str, Any], texts: Texts, calls: dict[str, Said]) -> Said | None:
    """A tool's answer stands with its call; one that belongs to none stands for itself."""
    call = calls.get(str(answer.get("toolUseId")))
    result = _result(answer.get("content"), texts)
    status = None if answer.get("status") is None else str(answer["status"])
    if call is None or call.result is not None:
        return Said(who="call", name="answer without a call", result=result, status=status)
    call.result, call.status = result, status
    return None


def _result(content: Any, texts: Texts) -> Text | None:
    parts = content if isinstance(content, list | tuple) else [content]
    told = [
        part["text"] if isinstance(part, Mapping) and isinstance(part.get("text"), str) else part
        for part in parts
    ]
    if all(isinstance(part, str) for part in told):
        return texts("\n".join(told))
    return texts.json(
        [part["json"] if isinstance(part, Mapping) and set(part) == {"json"} else part for part in told]
    )


def _speaker(role: str) -> str:
    return {"user": "user", "assistant": "agent"}.get(role, "other")
