"""The messages of a span, wherever its instrumentation put them.

Owns the places: attributes, the details event, one event a message, and the bodies of log events.
What a message holds is read by ``parts``. Decides nothing about turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.importers.parts import Content, content_of, flat_results, loaded
from nightgate.importers.spans import Event, Span

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_PREFIX, _SUFFIX = "gen_ai.", ".message"
_CHOICE = "gen_ai.choice"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``role`` is user, assistant, tool, system or something else as it was written."""

    role: str
    content: Content


@dataclass(slots=True)
class Talk:
    """What went into a span and what came out of it."""

    inputs: list[Message] = field(default_factory=list)
    outputs: list[Message] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """What could not be read."""
    redacted: bool = False

    def take(self, side: list[Message], messages: Iterator[Message]) -> None:
        """Add messages to one of the two sides."""
        for message in messages:
            self.odd += message.content.odd
            self.redacted |= message.content.redacted
            side.append(message)


def talk_of(span: Span) -> Talk:
    """All messages of a span."""
    found = Talk()
    for event in span.events:
        _take_event(event, found)
    # Some write the same content twice, into the span and into an event.
    for key, side in ((_INPUT, found.inputs), (_OUTPUT, found.outputs)):
        if key in span.attributes and not side:
            found.take(side, _listed(span.attributes[key], found))
    return found


def _take_event(event: Event, found: Talk) -> None:
    data = event.data
    if _INPUT in data:
        found.take(found.inputs, _listed(data[_INPUT], found))
    if _OUTPUT in data:
        found.take(found.outputs, _listed(data[_OUTPUT], found))
    body = event.body if isinstance(event.body, Mapping) else {}
    both = False
    for key, side in (("input", found.inputs), ("output", found.outputs)):
        part = body.get(key, body.get(f"gen_ai.{key}.messages"))
        if part is not None:
            both = True
            messages = part.get("messages") if isinstance(part, Mapping) else part
            found.take(side, _listed(messages, found))
    if both:
        return
    values = {**data, **body} if body else data
    if event.name == _CHOICE:
        found.take(found.outputs, _choice(values))
    elif event.name.startswith(_PREFIX) and event.name.endswith(_SUFFIX):
        role = event.name[len(_PREFIX) : -len(_SUFFIX)]
        found.take(found.inputs, _message({**values, "role": role}))


def _choice(values: Mapping[str, Any]) -> Iterator[Message]:
    message = loaded(values.get("message"))
    inner = (
        message if isinstance(message, Mapping) and ("tool_calls" in message or "content" in message) else {}
    )
    yield from _message({"role": "assistant", "content": values.get("message"), **inner})
    if "tool.result" in values:
        yield Message("tool", content_of(values["tool.result"]))


def _listed(value: Any, found: Talk) -> Iterator[Message]:
    messages = loaded(value)
    if isinstance(messages, str):
        content = content_of(messages)
        if content.redacted:
            found.redacted = True
        elif messages:
            found.odd.append(f"messages that are no list: {messages[:60]!r}")
        return
    if isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, list):
        if messages is not None:
            found.odd.append(f"messages that are no list, but {type(messages).__name__}")
        return
    for message in messages:
        if isinstance(message, Mapping):
            yield from _message(message)
        else:
            found.odd.append("a message that is no object")


def _message(message: Mapping[str, Any]) -> Iterator[Message]:
    role = str(message.get("role") or "unknown")
    if role in ("human", "ai"):
        role = {"human": "user", "ai": "assistant"}[role]
    if "parts" in message:
        yield Message(role, content_of(message["parts"]))
        return
    content = content_of(message.get("content"))
    if role == "tool" and not content.results:
        content = Content(odd=content.odd, redacted=content.redacted)
        content.results += flat_results(_unwrapped(message))
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        more = content_of([{"type": "tool_call", **call} for call in calls if isinstance(call, Mapping)])
        content.calls += more.calls
        content.odd += more.odd
    inner = message.get("content")
    yield Message(role, content)
    if isinstance(inner, Mapping) and "tool.result" in inner:
        yield Message("tool", content_of(inner["tool.result"]))


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message whose content is an object with content and id of its own, as ADOT writes them."""
    inner = message.get("content")
    if isinstance(inner, Mapping) and ("content" in inner or "message" in inner):
        return {
            "content": inner.get("content", inner.get("message")),
            "id": inner.get("id"),
            **_rest(message),
        }
    return message


def _rest(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in ("content", "id")}
