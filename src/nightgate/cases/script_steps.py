"""One answer of a scripted model: what it says, calls or fails with.

Owns the keys of a step and which of them go together. ``raise`` is a word of Python, so the key
``raise`` is the attribute ``raise_``; all other attributes are named as the keys. Knows no script:
``cases.scripts`` says which step plays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nightgate.cases.fields import (
    CHOICE,
    Breach,
    Count,
    Delay,
    Flag,
    Money,
    Name,
    Record,
    Regex,
    Shown,
    Text,
    Whole,
    json_value,
)
from nightgate.cases.nodes import Plain

Raise = Literal["throttled", "server_error", "timeout", "auth", "context_overflow", "error"]
Stop = Literal["max_tokens", "guardrail_intervened", "content_filtered"]


def _arguments(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.source or {}
    if isinstance(value, str | Mapping):
        return json_value(value)
    raise ValueError("must be a mapping, or text that is sent as it is")


class ScriptCall(Record):
    """One tool call of a step."""

    name: Name
    arguments: Annotated[Mapping[str, Any] | str, BeforeValidator(_arguments)]
    """A JSON object, or text that is sent as it is, also when it is no JSON."""


class ScriptUsage(Record):
    """Tokens that a step claims to have used; the four kinds do not overlap."""

    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0


class ScriptPrice(Record):
    """US dollars per million tokens."""

    input: Money = Decimal(0)
    output: Money = Decimal(0)
    cache_read: Money = Decimal(0)
    cache_write: Money = Decimal(0)


def _calls(value: Any) -> Any:
    """``{tool: arguments}`` or a list of such mappings -> the calls of one model turn."""
    mappings = value if isinstance(value, list | tuple) else [value]
    calls: list[Any] = []
    for mapping in mappings:
        if isinstance(mapping, ScriptCall):
            calls.append(mapping)
        elif isinstance(mapping, Mapping):
            calls.extend({"name": tool, "arguments": given} for tool, given in mapping.items())
        else:
            message = "must be {tool: {argument: value}} or a list of such mappings"
            raise ValueError(message)  # noqa: TRY004 - pydantic wants ValueError
    if not calls:
        raise ValueError("names no tool")
    return tuple(calls)


def _fields(value: Any) -> Any:
    if isinstance(value, Plain):
        value = value.source
    if isinstance(value, Mapping):
        return json_value(value)
    if value in ("best", "worst", None):
        return value
    raise ValueError(f"must be best, worst or a mapping, not {value!r}")


_CALLED: dict[str, Any] = {"type": "object", "minProperties": 1}
_CALL_SCHEMA: dict[str, Any] = {"anyOf": [_CALLED, {"type": "array", "items": _CALLED, "minItems": 1}]}


class Step(Record):
    """One answer of a model, or one way in which a call ends badly."""

    call: Annotated[tuple[ScriptCall, ...], BeforeValidator(_calls), Shown(_CALL_SCHEMA)] = ()
    """Tool calls asked for in parallel, in this one answer."""
    say: Text | None = None
    """Text of the answer; "" is an empty message; None is none."""
    fields: Annotated[
        Mapping[str, Any] | Literal["best", "worst"] | None,
        BeforeValidator(_fields),
        Shown({"anyOf": [{"enum": ["best", "worst"]}, {"type": "object"}]}),
    ] = None
    """Values for the schema that the caller asks for, or its best or worst rating."""
    raw: Text | None = None
    """The reply as it arrives where a schema was asked for, whether it fits or not."""
    usage: ScriptUsage | None = None
    delay_s: Delay = 0.0
    stop: Annotated[Stop, CHOICE] | None = None
    """Stop reason; None is the natural one."""
    cut: Flag = False
    """The stream ends without a stop."""
    raise_: Annotated[Raise, CHOICE] | None = Field(default=None, alias="raise")
    times: Whole | None = None
    """How many tries end so before the step answers or the next one is played; None: all of them."""

    def breaches(self) -> Iterator[Breach]:
        """Parts that do nothing or exclude each other."""
        bad = self.cut or self.raise_ is not None
        answers = self.call or self.say is not None or self.fields is not None or self.raw is not None
        if not (bad or answers or self.stop):
            does = ("say", "call", "fields", "raw", "stop", "cut", "raise")
            yield Breach(f"does nothing: give {', '.join(does[:-1])} or {does[-1]}", lacks=does)
        if self.times is not None and not bad:
            message = "times counts how often raise or cut happens, and there is neither"
            yield Breach(message, lacks=("raise", "cut"))
        if self.cut and self.raise_ is not None:
            yield Breach("cut and raise are two endings of one call; write two steps")
        if self.fields is not None and self.raw is not None:
            yield Breach("fields and raw are two replies; keep one")


class Choice(Step):
    """A step of ``first_match``: it plays when the judge is shown what it looks for."""

    sees: Regex | None = None
    """Pattern looked for in all that the judge is shown in this call; case, accents and runs of white
    space make no difference. None fits always."""
