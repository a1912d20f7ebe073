"""What a recording says: the user's text, the calls in their order, the answer, and what is missing.

Owns the common shape that every importer fills and that ``drafts`` writes down. Knows no format and
no file. Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.errors import ExitCode, NightgateError

SCHEMA = 1
"""Of the JSON document."""


class NoContentError(NightgateError):
    """The recording is readable, but what was said is not in it: no case can be made of it."""

    exit_code = ExitCode.INCONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something in the source that did not find its way into the draft."""

    where: str
    """Span, event, record or message that it stands in."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A tool call as the model asked for it, with what came back."""

    name: str
    arguments: Any
    """The JSON value that was sent; text where it was no JSON; None where it was not recorded."""
    result: str | None = None
    """Text of the tool's answer; None when none was recorded."""
    status: str | None = None
    """success or error; None when nothing tells."""
    call_id: str = ""
    said: str = ""
    """What the model said in the same message; only the first call of a message has it."""
    step: int = 0
    """Calls of the same step were asked for in parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One turn: what came in, what was done, what came out."""

    source: Mapping[str, Any]
    """Where it is from; ``kind`` and ``about`` are always there."""
    input: str
    calls: tuple[RecordedCall, ...] = ()
    output: str | None = None
    """The final answer; None when none was recorded."""
    offered: tuple[str, ...] = ()
    """Names of the tools that the agent had, where the source tells."""
    unread: tuple[Unread, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    """The case's context, where it is known."""
    masked: int = 0
    """Texts in which something that looked like a credential was masked."""

    def document(self, draft: str) -> dict[str, Any]:
        """The JSON document of the command.

        Args:
            draft: The YAML text made of it.
        """
        return {
            "schema": SCHEMA,
            "source": dict(self.source),
            "input": self.input,
            "tool_calls": [
                {
                    "name": call.name,
                    "arguments": call.arguments,
                    "result": call.result,
                    "status": call.status,
                    "call_id": call.call_id,
                }
                for call in self.calls
            ],
            "output": self.output,
            "unread": [str(item) for item in self.unread],
            "masked": self.masked,
            "draft": draft,
        }
