"""A judge's typed answer that came in another form than it was asked for.

The SDK asks for a rating by a tool. Models answer with a fence around the arguments, a comment behind
them, or the same object in words without any call; the SDK drops those and asks again. Owns the reading
of such answers, by the rules of our own judges' replies, as the call that was asked for, and how often a
rating that fits no schema may be asked for again. Knows no provider and no rating's meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nightgate.calls import Scope
from nightgate.errors import ModelCallError
from nightgate.evaluators.replies import only_object

_STRUCTURED_OUTPUT = "IMPORTANT: This StructuredOutputTool"
"""How the SDK's description of the tool for a typed answer begins."""
_MOST_WRONG = 2
"""Ratings that do not fit their schema; of answers without any the SDK takes as many."""
_WHOLE = frozenset({"end_turn", "tool_use"})
"""Stops of answers that were neither cut nor blocked."""


def as_asked(
    events: Sequence[Any], tool_specs: Sequence[Mapping[str, Any]] | None, messages: Any
) -> Sequence[Any]:
    """An answer as the call of the tool by which it was asked for, where it is one in other words.

    An answer that is as it should be, and one that nobody can read, is left as it is: whether to ask
    again is the SDK's.

    Args:
        events: The whole answer.
        tool_specs: What the model could call.
        messages: What it was shown: an object that is copied from there is no answer.
    """
    asked = next((spec for spec in tool_specs or () if _typed(spec)), None)
    if asked is None:
        return events
    stop = next((event["messageStop"].get("stopReason") for event in events if "messageStop" in event), None)
    calls, said = _content(events)
    name = str(asked["name"])
    if stop not in _WHOLE or len(calls) > 1 or any(tool != name for tool, _ in calls):
        return events
    raw = calls[0][1] if calls else said
    if calls and _is_object(raw):
        return events
    found, _ = only_object(raw, _shown(messages))
    if found is None or not set(asked["inputSchema"]["json"].get("required", ())) <= found.keys():
        return events
    return _called(events, name, found)


def refuse_more(scope: Scope | None, messages: Any, tool_specs: Sequence[Mapping[str, Any]] | None) -> None:
    """End a conversation with a judge that was shown what is wrong with its rating, and gave no better one.

    The SDK would show it again for as long as the judgement may make calls: six where an answer in words is
    asked for twice.

    Args:
        scope: Of the judgement.
        messages: The request.
        tool_specs: What the model may call.

    Raises:
        ModelCallError: Of the judge's own kind.
    """
    asked = next((str(spec["name"]) for spec in tool_specs or () if _typed(spec)), None)
    if asked is None or scope is None:
        return
    blocks = [block for message in messages for block in message.get("content", ())]
    ratings = {block["toolUse"]["toolUseId"] for block in blocks if _names(block, asked)}
    wrong = [
        block["toolResult"]
        for block in blocks
        if "toolResult" in block
        and block["toolResult"].get("status") == "error"
        and block["toolResult"]["toolUseId"] in ratings
    ]
    if len(wrong) >= _MOST_WRONG:
        told = " ".join(str(part.get("text", "")) for part in wrong[-1].get("content", ())).strip()
        scope.fatal = ModelCallError("call_cap", f"judge gave {len(wrong)} ratings that are none: {told}")
        raise scope.fatal


def _names(block: Mapping[str, Any], tool: str) -> bool:
    return "toolUse" in block and block["toolUse"].get("name") == tool


def _typed(spec: Mapping[str, Any]) -> bool:
    return str(spec.get("description", "")).startswith(_STRUCTURED_OUTPUT)


def _content(events: Sequence[Any]) -> tuple[list[tuple[str, str]], str]:
    """Tool calls with their argument texts, and all that was said beside them."""
    calls: list[tuple[str, str]] = []
    said: list[str] = []
    in_call = False
    for event in events:
        if "contentBlockStart" in event:
            tool = event["contentBlockStart"].get("start", {}).get("toolUse")
            in_call = tool is not None
            if tool is not None:
                calls.append((str(tool["name"]), ""))
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"].get("delta", {})
            if in_call and "toolUse" in delta:
                tool_name, text = calls[-1]
                calls[-1] = (tool_name, text + str(delta["toolUse"].get("input", "")))
            elif "text" in delta:
                said.append(delta["text"])
    return calls, "".join(said)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _shown(messages: Any) -> str:
    """Texts of the request, the judge's own turns and what tools said to them left out."""
    return "\n".join(
        str(block["text"])
        for message in messages
        if message.get("role") != "assistant"
        for block in message.get("content", ())
        if "text" in block
    )


def _called(events: Sequence[Any], name: str, found: Mapping[str, Any]) -> list[Any]:
    """The answer's head and its count of tokens around a call with these arguments."""
    use = next((_use_id(event) for event in events if _use_id(event)), None)
    head = [event for event in events if "messageStart" in event]
    tail = [event for event in events if "metadata" in event]
    arguments = json.dumps(found, ensure_ascii=False)
    return [
        *head,
        {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": use or "typed-1"}}}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": "tool_use"}},
        *tail,
    ]


def _use_id(event: Any) -> str | None:
    tool = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
    return None if tool is None else str(tool["toolUseId"])
