"""The messages of many spans -> one conversation each.

Owns how the same message, seen in many spans, counts once: every model call repeats the history
before it, so conversations are laid over each other. Owns also which conversation is the agent's
own, not that of an agent behind one of its tools. Knows no tool spans and no turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nightgate.importers.messages import Message, talk_of
from nightgate.importers.overlaps import Overlaps
from nightgate.importers.records import Unread
from nightgate.importers.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was said or done."""

    kind: str
    """user, assistant, call or result."""
    text: str = ""
    call_id: str = ""
    name: str = ""
    arguments: Any = None
    status: str | None = None
    said: str = ""
    message: tuple[str, int] = ("", 0)
    """The message that it was first seen in; calls of one message are parallel."""
    start: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same thing in two spans."""
        # A result's name does not count: not every span repeats it.
        name = "" if self.kind == "result" else self.name
        if self.kind in ("call", "result") and self.call_id:
            return self.kind, f"{self.call_id} {name}"
        return self.kind, f"{name} {' '.join(self.text.split())} {self.arguments!r}"


@dataclass(slots=True)
class Chain:
    """A conversation, as far as spans tell it."""

    items: list[Item]
    first: int
    last: int
    """Start of its first and of its last span, in the order of spans."""


@dataclass(slots=True)
class Reading:
    """What was found on the way."""

    unread: list[Unread] = field(default_factory=list)
    redacted: bool = False
    blank: bool = False
    """Whether the user's message was recorded and says nothing."""
    known: set[Unread] = field(default_factory=set)

    def note(self, where: str, what: str, quote: str | None = None) -> None:
        """Tell something once."""
        item = Unread(where=where, what=what, quote=quote)
        if item not in self.known:
            self.known.add(item)
            self.unread.append(item)


def own_spans(spans: Sequence[Span], reading: Reading) -> list[Span]:
    """Without what happened inside a tool: an agent behind a tool has calls of its own."""
    by_id = {span.span_id: span for span in spans if span.span_id}
    own = []
    hidden: dict[str, int] = {}
    for span in spans:
        tool = _tool_above(span, by_id)
        if tool is None:
            own.append(span)
        elif span.is_genai:
            hidden[tool.where] = hidden.get(tool.where, 0) + 1
    for where, count in hidden.items():
        reading.note(where, f"{count} spans inside it left out: they are the tool's own doing")
    return own


def _tool_above(span: Span, by_id: Mapping[str, Span]) -> Span | None:
    seen = {span.span_id}
    found = None
    above = by_id.get(span.parent_id)
    while above is not None and above.span_id not in seen:
        if above.is_tool:
            found = above
        seen.add(above.span_id)
        above = by_id.get(above.parent_id)
    return found


def conversations(spans: Sequence[Span], reading: Reading) -> list[Chain]:
    """The conversations of spans that are sorted by start."""
    chains: list[Chain] = []
    overlaps = Overlaps()
    for place, span in enumerate(spans):
        talk = talk_of(span)
        reading.redacted |= talk.redacted
        for odd in talk.odd:
            reading.note(span.where, odd)
        items = _items([*talk.inputs, *talk.outputs], span, reading)
        if not items:
            continue
        keys = [item.key for item in items]
        found = overlaps.find(keys)
        if found is None and chains and not any(item.kind == "user" for item in items):
            # A service that keeps the history itself is sent only what is new.
            found = len(chains) - 1, len(chains[-1].items)
        if found is None:
            overlaps.add(keys)
            chains.append(Chain(items, place, place))
            continue
        number, begin = found
        chain = chains[number]
        shared = min(len(chain.items) - begin, len(items))
        _fill(chain.items, begin, items[:shared])
        chain.items += items[shared:]
        chain.last = place
        overlaps.extend(number, keys[shared:])
    return [chains[number] for number in overlaps.outer()]


def _items(messages: list[Message], span: Span, reading: Reading) -> list[Item]:
    found: list[Item] = []
    for number, message in enumerate(messages):
        content, place = message.content, (span.span_id, number)
        if content.results:
            results = [
                Item(
                    kind="result",
                    call_id=result.call_id,
                    name=result.name,
                    text=result.text or "",
                    status=result.status,
                )
                for result in content.results
            ]
            found += results
            if content.text:
                reading.note(span.where, "text beside tool results left out:", quote=content.text)
            if not content.calls:
                continue
        elif content.text and not content.calls and message.role in ("user", "assistant"):
            found.append(Item(kind=message.role, text=content.text, message=place))
        found += [
            Item(
                kind="call",
                call_id=call.call_id,
                name=call.name,
                arguments=call.arguments,
                said=content.text if first and not content.results else "",
                message=place,
                start=span.start,
            )
            for first, call in ((index == 0, call) for index, call in enumerate(content.calls))
        ]
    return _sorted_results(found)


def _sorted_results(items: list[Item]) -> list[Item]:
    """Parallel results in one order: some histories have them as they came in."""
    found: list[Item] = []
    run: list[Item] = []
    for item in items:
        if item.kind == "result":
            run.append(item)
            continue
        found += sorted(run, key=lambda result: result.call_id)
        run = []
        found.append(item)
    return found + sorted(run, key=lambda result: result.call_id)


def _fill(known: list[Item], begin: int, again: list[Item]) -> None:
    """Take what the first sight of an item lacked."""
    for offset, item in enumerate(again):
        old = known[begin + offset]
        if old.kind == "call" and old.arguments is None and item.arguments is not None:
            known[begin + offset] = replace(old, arguments=item.arguments)
        elif old.kind == "result" and not old.text and item.text:
            known[begin + offset] = replace(old, text=item.text, status=item.status)


def main_conversation(chains: Sequence[Chain], reading: Reading) -> list[Item]:
    """The agent's own conversation: the last that does not lie within another's time.

    Args:
        chains: By the start of their first span.
        reading: Gets those that are left out.
    """
    outer: list[Chain] = []
    for chain in chains:
        if all(chain.last >= other.last for other in outer[-1:]):
            outer.append(chain)
    speaking = [chain for chain in outer if any(item.kind == "user" for item in chain.items)] or outer
    if not speaking:
        return []
    for chain in chains:
        if chain is not speaking[-1]:
            begins = next((item.text for item in chain.items if item.text), "")
            reading.note("trace", "another conversation left out; it begins with", quote=begins)
    return speaking[-1].items
