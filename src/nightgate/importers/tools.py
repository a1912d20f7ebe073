"""Spans in which a tool ran -> name, arguments, result and status.

Owns the places in which instrumentations keep a tool's input and output. Which call of the
conversation it was is found out by ``turns``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.importers.parts import arguments_of, content_of, loaded, result_text
from nightgate.importers.spans import EXECUTE_TOOL, Span, first

_ARGUMENTS = ("gen_ai.tool.call.arguments", "gen_ai.tool.input")
_RESULTS = ("gen_ai.tool.call.result", "gen_ai.tool.output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One tool that ran."""

    call_id: str
    name: str
    """Empty where it was not recorded."""
    arguments: Any
    """None where they were not recorded."""
    result: str | None
    status: str | None
    start: int
    end: int
    where: str


def is_execution(span: Span) -> bool:
    """Whether a tool ran in the span; log events without their span tell it by what they hold."""
    if span.is_tool:
        return True
    if span.operation or span.name:
        return False
    sent = [message for event in span.events for message in _messages(event.body, "input")]
    if len(sent) != 1 or sent[0].get("role") != "tool":
        return False
    return not content_of(sent[0].get("content")).results


def execution_of(span: Span) -> Execution:
    """What a tool span says."""
    arguments, result, call_id = _recorded(span)
    name = span.attributes.get("gen_ai.tool.name")
    if not name and span.name.startswith(f"{EXECUTE_TOOL} "):
        name = span.name.removeprefix(f"{EXECUTE_TOOL} ")
    text = result_text(result)
    error = span.error
    if error is not None and text is None:
        text = error
    told = span.attributes.get("gen_ai.tool.status")
    known = text is not None or told == "success"
    return Execution(
        call_id=str(span.attributes.get("gen_ai.tool.call.id") or call_id or ""),
        name=str(name or ""),
        arguments=arguments_of(arguments),
        result=text,
        status="error" if error is not None else "success" if known else None,
        start=span.start,
        end=span.end,
        where=span.where,
    )


def _recorded(span: Span) -> tuple[Any, Any, Any]:
    """Arguments, result and call id as they stand in the span or its events."""
    arguments: Any = first(span.attributes, *_ARGUMENTS)
    result: Any = first(span.attributes, *_RESULTS)
    call_id: Any = None
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            values = {**event.data, **(event.body if isinstance(event.body, Mapping) else {})}
            arguments = values.get("content") if arguments is None else arguments
            call_id = call_id or values.get("id")
        elif event.name == "gen_ai.choice":
            values = {**event.data, **(event.body if isinstance(event.body, Mapping) else {})}
            result = values.get("message") if result is None else result
            call_id = call_id or values.get("id")
        for side in ("input", "output"):
            for message in (*_messages(event.data, side), *_messages(event.body, side)):
                value, found_id = _inner(message)
                if side == "input" and arguments is None:
                    arguments = value
                elif side == "output" and result is None:
                    result = value
                call_id = call_id or found_id
    return arguments, result, call_id


def _messages(data: Any, side: str) -> Iterator[Mapping[str, Any]]:
    """The messages of one side, in an event's attributes or in a log event's body."""
    if not isinstance(data, Mapping):
        return
    found = loaded(data.get(f"gen_ai.{side}.messages", data.get(side)))
    if isinstance(found, Mapping):
        found = found.get("messages")
    if isinstance(found, list):
        yield from (message for message in found if isinstance(message, Mapping))


def _inner(message: Mapping[str, Any]) -> tuple[Any, Any]:
    """What a tool's message carries, and the call's id."""
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, Mapping):
            continue
        for key in ("arguments", "response", "result", "content"):
            if key in part:
                return part[key], part.get("id")
    content = message.get("content")
    if isinstance(content, Mapping) and any(key in content for key in ("content", "message")):
        return content.get("content", content.get("message")), content.get("id")
    return content, message.get("id")
