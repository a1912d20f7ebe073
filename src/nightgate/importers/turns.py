"""Spans of one trace -> the last turn of its conversation.

Owns what a turn is: from the first user message after anything that is none, to the answer. How
spans become a conversation is in ``chains``, which calls were made in ``calls``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.importers.calls import calls_of
from nightgate.importers.chains import (
    Item,
    Reading,
    conversations,
    main_conversation,
    own_spans,
)
from nightgate.importers.messages import talk_of
from nightgate.importers.parts import loaded
from nightgate.importers.records import Recorded, says_something
from nightgate.importers.spans import Span
from nightgate.importers.tools import execution_of, is_execution


def last_turn(spans: Sequence[Span], source: Mapping[str, Any]) -> tuple[Recorded | None, Reading]:
    """The last turn of a trace.

    Args:
        spans: Of one trace, in any order.
        source: Where they are from.

    Returns:
        The turn, or None where no user's text was recorded; and what was noticed.
    """
    reading = Reading()
    ordered = own_spans(sorted(spans, key=lambda span: span.start), reading)
    agents = [span for span in ordered if span.is_agent]
    talking = [span for span in ordered if not span.is_agent and not is_execution(span)]
    items = _conversation(talking, agents, reading)
    begin = _turn(items, reading)
    if begin is None:
        return None, reading
    turn = items[begin:]
    executions = [execution_of(span) for span in ordered if is_execution(span)]
    calls = calls_of(turn, items[:begin], executions, reading)
    output = _answer(turn)
    if output is None:
        output = _agents_answer(agents)
        reading.note("final answer", "none was recorded" if output is None else "taken from the agent's span")
    return (
        Recorded(
            source=source,
            input=turn[0].text,
            calls=calls,
            output=output,
            offered=_offered(ordered),
            unread=tuple(reading.unread),
            background=tuple(part for span in spans for part in _raw(span)),
        ),
        reading,
    )


def _conversation(talking: Sequence[Span], agents: Sequence[Span], reading: Reading) -> list[Item]:
    """What was said, from the model calls where they tell it, else from the agent's own span."""
    spoken = main_conversation(conversations(talking, reading), reading)
    if spoken and any(_asks(item) for item in spoken):
        return spoken
    outside = main_conversation(conversations(agents, reading), reading)
    if not spoken:
        return outside
    # The model calls tell everything but what the user said.
    return [*[item for item in outside if _asks(item)][-1:], *spoken]


def _asks(item: Item) -> bool:
    return item.kind == "user" and says_something(item.text)


def _turn(items: Sequence[Item], reading: Reading) -> int | None:
    """Where the last turn begins: the first user message after anything that is none.

    Returns:
        Its place; None where no user said anything in that turn.
    """
    if not any(item.kind == "user" for item in items):
        return None
    starts = [
        index
        for index, item in enumerate(items)
        if item.kind == "user" and (index == 0 or items[index - 1].kind != "user")
    ]
    for index in starts[:-1]:
        reading.note("conversation", "an earlier turn left out:", quote=items[index].text)
    begin = next((index for index in range(starts[-1], len(items)) if _asks(items[index])), None)
    if begin is None:
        reading.blank = True
        return None
    for item in items[begin + 1 :]:
        if _asks(item):
            reading.note("conversation", "a second user message left out:", quote=item.text)
    return begin


def _raw(span: Span) -> Iterator[Any]:
    """All that a span carries."""
    yield span.attributes
    for event in span.events:
        yield from (event.data, event.body)


def _answer(turn: Sequence[Item]) -> str | None:
    """The last thing that the agent said, unless it went on calling tools."""
    for item in reversed(turn):
        if item.kind == "assistant":
            return item.text
        if item.kind == "call":
            return None
    return None


def _agents_answer(agents: Sequence[Span]) -> str | None:
    for span in reversed(agents):
        for message in reversed(talk_of(span).outputs):
            if message.content.text:
                return message.content.text
    return None


def _offered(spans: Sequence[Span]) -> tuple[str, ...]:
    """Names of the tools that the agent had."""
    for span in spans:
        for key in ("gen_ai.tool.definitions", "gen_ai.agent.tools"):
            tools = loaded(span.attributes.get(key))
            if isinstance(tools, list) and tools:
                names = (_tool_name(tool) for tool in tools)
                return tuple(dict.fromkeys(name for name in names if name))
    return ()


def _tool_name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        tool = (inner if isinstance(inner, Mapping) else tool).get("name")
    return tool if isinstance(tool, str) else ""
