"""Message content in every spelling -> texts, tool calls and tool results.

Owns the vocabularies of content blocks: the GenAI conventions' parts, Bedrock's blocks, and the
function calls of chat completions. Knows no span. What it cannot read it tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

REDACTED = frozenset({"[REDACTED]", "<REDACTED>", "REDACTED"})
"""What instrumentations write in the place of content."""
_SILENT = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoningContent", "cachePoint"})
"""Parts that say nothing to the user and do nothing."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    call_id: str
    name: str
    arguments: Any
    """The JSON value; text that is no JSON as it is; None where it was not recorded."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool returned."""

    call_id: str
    text: str | None
    """None where it was not recorded."""
    status: str | None
    name: str = ""
    """Of the tool, where the result tells it."""


@dataclass(slots=True)
class Content:
    """What a message holds."""

    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """What could not be read."""
    redacted: bool = False

    @property
    def text(self) -> str:
        """All that was said, a line each."""
        return "\n".join(self.texts)


def content_of(value: Any) -> Content:
    """Read content: text, JSON text of blocks, one block or a list of them."""
    found = Content()
    _read(value, found)
    return found


def loaded(value: Any) -> Any:
    """JSON text as its value; anything else as it is."""
    if not isinstance(value, str) or value[:1] not in "[{" or not value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def arguments_of(value: Any) -> Any:
    """Arguments as the value that was sent: JSON text is parsed, other text stays text."""
    if not isinstance(value, str):
        return value
    if value in REDACTED:
        return None
    if not value.strip():
        return {}
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def result_text(value: Any) -> str | None:
    """The text of a tool's answer: its blocks, a line each; other JSON as JSON text."""
    if value is None or (isinstance(value, str) and value in REDACTED):
        return None
    parsed = loaded(value)
    if isinstance(parsed, Mapping) and isinstance(parsed.get("content"), list):
        parsed = parsed["content"]
    if isinstance(parsed, list) and parsed and all(_is_result_block(block) for block in parsed):
        return "\n".join(_block_text(block) for block in parsed)
    if isinstance(value, str):
        return value
    return "" if value == [] else json.dumps(value, ensure_ascii=False)


def _is_result_block(block: Any) -> bool:
    return isinstance(block, Mapping) and (
        isinstance(block.get("text"), str)
        or "json" in block
        or (block.get("type") == "text" and isinstance(block.get("content"), str))
    )


def _block_text(block: Mapping[str, Any]) -> str:
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False)
    return str(block["text"] if "text" in block else block["content"])


def _read(value: Any, found: Content) -> None:
    if value is None:
        return
    if isinstance(value, str):
        _read_text(value, found)
    elif isinstance(value, list):
        for block in value:
            _read(block, found)
    elif isinstance(value, Mapping):
        _read_block(value, found)
    else:
        found.odd.append(f"content of type {type(value).__name__}")


def _read_text(value: str, found: Content) -> None:
    if value in REDACTED:
        found.redacted = True
        return
    blocks = loaded(value)
    if isinstance(blocks, list) and blocks and all(_is_block(block) for block in blocks):
        _read(blocks, found)  # content that was written as JSON text
    elif _is_chain_state(blocks):
        found.odd.append("LangChain's own state, not a message; the model's spans hold the messages")
    elif value:
        found.texts.append(value)


def _is_block(block: Any) -> bool:
    """Whether it can be nothing but a content block: a user may well send a JSON list."""
    if not isinstance(block, Mapping):
        return False
    if isinstance(block.get("text"), str) and len(block) == 1:
        return True
    if any(isinstance(block.get(key), Mapping) for key in ("toolUse", "toolResult", "reasoningContent")):
        return True
    return isinstance(block.get("type"), str) and any(
        key in block for key in ("content", "text", "id", "arguments", "response", "tool_use_id", "function")
    )


def _is_chain_state(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and any(key in value for key in ("inputs", "outputs", "output", "input_str"))
        and any(key in value for key in ("kwargs", "tags", "metadata"))
    )


def _read_block(block: Mapping[str, Any], found: Content) -> None:
    kind = block.get("type")
    if kind is not None and not isinstance(kind, str):
        found.odd.append(f"a part whose type is {type(kind).__name__}")
    elif isinstance(block.get("toolUse"), Mapping):
        use = block["toolUse"]
        _call(found, use.get("toolUseId"), use.get("name"), use.get("input"))
    elif isinstance(block.get("toolResult"), Mapping):
        result = block["toolResult"]
        _result(found, result.get("toolUseId"), result.get("content"), _status(result))
    elif kind in ("tool_call", "tool_use", "function_call"):
        arguments = block.get("arguments", block.get("input", block.get("args")))
        _call(found, block.get("id") or block.get("call_id"), block.get("name"), arguments)
    elif isinstance(block.get("function"), Mapping):
        function = block["function"]
        _call(found, block.get("id"), function.get("name"), function.get("arguments"))
    elif kind in ("tool_call_response", "tool_result", "function_call_output"):
        found_id = block.get("id") or block.get("tool_use_id") or block.get("call_id")
        value = next(
            (block[key] for key in ("response", "result", "content", "output") if key in block), None
        )
        _result(found, found_id, value, _status(block), block.get("name"))
    elif kind in _SILENT or any(key in _SILENT for key in block):
        return
    elif kind in (None, "text", "input_text", "output_text", "refusal"):
        _read_plain(block, found)
    else:
        found.odd.append(f"a part of type {kind!r}, which is no text")


def _read_plain(block: Mapping[str, Any], found: Content) -> None:
    for key in ("text", "content", "message", "refusal"):
        if isinstance(block.get(key), str):
            if key == "text" or block.get("type") is not None:
                _say(block[key], found)
            else:
                _read_text(block[key], found)
            return
        if isinstance(block.get(key), list | Mapping):
            _read(block[key], found)
            return
    if block:
        found.odd.append(f"a part with {', '.join(sorted(map(str, block)))[:80]}")


def _say(value: str, found: Content) -> None:
    if value in REDACTED:
        found.redacted = True
    elif value:
        found.texts.append(value)


def _call(found: Content, call_id: Any, name: Any, arguments: Any) -> None:
    if not isinstance(name, str) or not name:
        found.odd.append(f"a tool call {call_id or 'without an id'} without a name")
        return
    found.calls.append(Call(str(call_id or ""), name, arguments_of(arguments)))


def _result(found: Content, call_id: Any, value: Any, status: str | None, name: Any = None) -> None:
    text = result_text(value)
    if text is not None and status is None:
        status = "success"
    found.results.append(Result(str(call_id or ""), text, status, name if isinstance(name, str) else ""))


def _status(block: Mapping[str, Any]) -> str | None:
    if block.get("is_error") is True or block.get("error") not in (None, "", False):
        return "error"
    status = block.get("status")
    return status if status in ("success", "error") else None


def flat_results(message: Mapping[str, Any]) -> Iterator[Result]:
    """The result in a message of role tool that has no parts: ``{"id", "response" or "content"}``."""
    call_id = message.get("id") or message.get("tool_call_id") or message.get("call_id")
    value = next((message[key] for key in ("response", "result", "content") if key in message), None)
    text = result_text(value)
    status = _status(message) or ("success" if text is not None else None)
    name = message.get("name")
    yield Result(str(call_id or ""), text, status, name if isinstance(name, str) else "")
