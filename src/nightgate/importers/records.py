"""What a recording says: the user's text, the calls in their order, the answer, and what is missing.

Owns the common shape that every importer fills and that ``drafts`` writes down. Knows no format and
no file. Imports nothing heavy.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.errors import ExitCode, NightgateError

SCHEMA = 1
"""Of the JSON document."""
_SHOWN, _LOOKED_AT = 80, 4000


class NoContentError(NightgateError):
    """The recording is readable, but what was said is not in it: no case can be made of it."""

    exit_code = ExitCode.INCONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something in the source that did not find its way into the draft."""

    where: str
    """Span, event, record or message that it stands in."""
    what: str
    quote: str | None = None
    """A text that ``what`` ends with, in full: it is shortened only after credentials were masked."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}{'' if self.quote is None else f' {short(self.quote)}'}"


def short(text: str) -> str:
    """One line of a text, for messages."""
    begin = text[:_LOOKED_AT]
    line = " ".join(begin.split())
    return repr(line if len(line) <= _SHOWN and begin == text else line[: _SHOWN - 1] + "…")


def says_something(text: str) -> bool:
    """Whether there is anything to see in a text: neither blanks nor invisible marks alone."""
    return any(not char.isspace() and unicodedata.category(char) not in ("Cc", "Cf") for char in text)


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
class Exchange:
    """One user message of a conversation and what answered it."""

    user: str
    agent: str
    calls: int
    """Tool calls that were made in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One turn, or one whole conversation: what came in, what was done, what came out."""

    source: Mapping[str, Any]
    """Where it is from; ``kind`` and ``about`` are always there."""
    input: str
    calls: tuple[RecordedCall, ...] = ()
    output: str | None = None
    """The final answer; None when none was recorded."""
    offered: tuple[str, ...] = ()
    """Names of the tools that the agent had, where the source tells."""
    unread: tuple[Unread, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    """Conversations only: all of it. ``input`` is the first user message, ``calls`` those of all turns."""
    context: Mapping[str, Any] | None = field(default_factory=dict)
    """The case's context; None where nothing tells whether it has one."""
    background: tuple[Any, ...] = field(default=(), repr=False)
    """The rest of the recording: looked through for credentials, never written anywhere."""
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
            "conversation": [{"user": exchange.user, "agent": exchange.agent} for exchange in self.exchanges],
            "unread": [str(item) for item in self.unread],
            "masked": self.masked,
            "draft": draft,
        }
