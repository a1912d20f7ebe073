"""A provider's stream as it is read: events, stop reason, tokens, and what the SDK would lose.

Owns the reading of one attempt's events. Knows nothing of retries, prices or scopes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.trials import Usage

SYSTEM_FINGERPRINT = "system_fingerprint"
"""Key under which a stop event carries it, among the fields that the SDK leaves to the provider."""


@dataclass(slots=True)
class Reply:
    """What one attempt brought.

    Args:
        normalise: Makes the provider's token counts into four kinds that do not overlap; None where they
            cannot be read.
    """

    normalise: Callable[[Mapping[str, Any]], Usage | None]
    events: list[Any] = field(default_factory=list)
    usage: Usage | None = None
    stop_reason: str | None = None
    first_token_ms: float | None = None
    system_fingerprint: str | None = None
    """What the provider says that it answered with, where the adapter hands it on."""
    _sent: dict[str, list[str]] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)
    _tool: str | None = None

    def take(self, event: Any, elapsed_ms: float) -> None:
        """Read one event, ``elapsed_ms`` after the call was sent."""
        self.events.append(event)
        if not isinstance(event, dict):
            return
        if "contentBlockStart" in event:
            tool = event["contentBlockStart"].get("start", {}).get("toolUse")
            self._tool = tool["toolUseId"] if tool else None
            if self._tool is not None:
                self._sent[self._tool] = []
        elif "contentBlockDelta" in event:
            if self.first_token_ms is None:
                self.first_token_ms = elapsed_ms
            self._piece(event["contentBlockDelta"].get("delta", {}))
        elif "messageStop" in event:
            self.stop_reason = event["messageStop"].get("stopReason")
            beside = event["messageStop"].get("additionalModelResponseFields")
            told = beside.get(SYSTEM_FINGERPRINT) if isinstance(beside, Mapping) else None
            self.system_fingerprint = told if isinstance(told, str) and told else None
        elif "metadata" in event and "usage" in event["metadata"]:
            told = event["metadata"]["usage"]
            self.usage = self.normalise(told) if isinstance(told, Mapping) else None
            self.events[-1] = {**event, "metadata": {**event["metadata"], "usage": _summable(told)}}

    def _piece(self, delta: Mapping[str, Any]) -> None:
        piece = delta.get("text") or delta.get("toolUse", {}).get("input", "")
        self._text.append(piece if isinstance(piece, str) else str(piece))
        if self._tool is not None and "toolUse" in delta:
            self._sent[self._tool].append(self._text[-1])

    @property
    def text(self) -> str:
        """All that was said: texts and the arguments of tools."""
        return "".join(self._text)

    @property
    def odd_arguments(self) -> dict[str, str]:
        """Argument texts that are no JSON object, by tool-use id: the SDK drops those."""
        texts = {use: "".join(pieces) for use, pieces in self._sent.items()}
        return {use: text for use, text in texts.items() if not _is_object(text)}


def is_token_count(value: Any) -> bool:
    """Whether a provider's word is a number of tokens: null, text, NaN and negative numbers are none."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def _summable(told: Any) -> dict[str, Any]:
    """Token counts as the SDK can add them up: what is no count broke an agent that had its answer."""
    counts = dict(told) if isinstance(told, Mapping) else {}
    return {
        name: value if not name.endswith("Tokens") or is_token_count(value) else 0
        for name, value in counts.items()
    }


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def with_fingerprint(event: Any, told: Any) -> Any:
    """A stream event that carries the provider's fingerprint, if it is the stop event and there is one."""
    if not isinstance(told, str) or not told or "messageStop" not in event:
        return event
    stop = event["messageStop"]
    beside = {**(stop.get("additionalModelResponseFields") or {}), SYSTEM_FINGERPRINT: told}
    return {**event, "messageStop": {**stop, "additionalModelResponseFields": beside}}


def text_length(messages: Any) -> int:
    """Characters in the texts of a request; a guess of its size for the budget's reserve."""
    total = 0
    for message in messages:
        for block in message.get("content", ()):
            if "text" in block:
                total += len(block["text"])
            elif "toolResult" in block:
                total += sum(len(str(part)) for part in block["toolResult"].get("content", ()))
            else:
                total += len(str(block))
    return total
