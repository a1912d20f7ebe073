"""Credentials out of a recording, before any of it is printed or written.

Owns which texts of a recording are looked at: all of them, and what is found in one is taken out of
every other. What looks like a credential is known to ``rows.redaction``, which names make a value
one to ``secret_values``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nightgate.importers.records import Recorded, Unread
from nightgate.importers.secret_values import Known, blanked, blanked_text, named_secrets
from nightgate.rows.redaction import (
    MASK,
    credentials,
    may_hold_secret,
    redact_text,
    redact_texts,
    secrets_in,
)

_Text = Callable[[str], str]


def masked(recorded: Recorded, literals: Sequence[str] | None = None) -> Recorded:
    """The recording with credentials masked; ``masked`` counts the texts in which there were any.

    Args:
        recorded: As it was read.
        literals: Values to mask besides; those of the environment unless given.
    """
    return Mask(recorded, literals).recorded


def clean(text: str) -> str:
    """One text with what looks like a credential masked, for messages that are no recording."""
    values = credentials()
    return redact_text(text, literals=values) if may_hold_secret(_encodable(text).encode(), values) else text


class Mask:
    """What is masked in a recording, and in what else is written beside it.

    Args:
        recorded: As it was read.
        literals: Values to mask besides; those of the environment unless given.
    """

    def __init__(self, recorded: Recorded, literals: Sequence[str] | None = None) -> None:
        self._literals = credentials() if literals is None else tuple(literals)
        self._count = 0
        seen: dict[str, None] = {}

        def see(value: Any) -> Any:
            seen.update(dict.fromkeys(_strings(value)))
            return value

        _each(recorded, see, see)
        data = [call.arguments for call in recorded.calls] + [recorded.context]
        everything = (*data, *recorded.background, *seen)
        named = named_secrets(everything)
        suspects = [text for text in map(_encodable, seen) if self._suspect(text)]
        redacted = redact_texts(suspects, literals=self._literals) if suspects else []
        self._clean = dict(zip(suspects, redacted, strict=True))
        # As JSON text, too: there a name stands before the value.
        whole = (_encodable(json.dumps(blanked(value), ensure_ascii=False)) for value in data)
        spoken = (text for part in recorded.background for text in _strings(part))
        told = [text for text in (*whole, *map(_encodable, spoken)) if self._suspect(text)]
        found = {_unescaped(value) for value in secrets_in([*suspects, *told])}
        # A pattern ends at a blank; where the name told the whole value, its first word is none.
        found = {value for value in found if not any(name.startswith(f"{value} ") for name in named)}
        self._known = Known({*named, *found, *self._literals})
        changed = _each(recorded, self._counted, self._data)
        self.recorded = replace(changed, masked=self._count, background=())

    def text(self, text: str) -> str:
        """A text that is written beside the recording, without what was masked in it."""
        whole = _encodable(text)
        redacted = redact_text(whole, literals=self._literals) if self._suspect(whole) else whole
        return self._known.masked(redacted)

    def _suspect(self, text: str) -> bool:
        return may_hold_secret(text.encode(), self._literals)

    def _counted(self, text: str) -> str:
        whole = _encodable(text)
        found = self._known.masked(blanked_text(self._clean.get(whole, whole)))
        self._count += found != whole
        return found

    def _data(self, value: Any) -> Any:
        """A JSON value, its keys included."""
        without = blanked(value)
        self._count += without is not value and without != value
        return self._leaves(without)

    def _leaves(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._counted(str(key)): self._leaves(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._leaves(item) for item in value]
        if isinstance(value, str):
            return self._counted(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return MASK if self._known.masked(str(value)) == MASK else value
        return value


def _each(recorded: Recorded, text: _Text, data: Callable[[Any], Any]) -> Recorded:
    """The recording with every text and every JSON value of it replaced."""

    def maybe(value: str | None) -> str | None:
        return None if value is None else text(value)

    return replace(
        recorded,
        source={key: text(item) if isinstance(item, str) else item for key, item in recorded.source.items()},
        input=text(recorded.input),
        calls=tuple(
            replace(
                call,
                name=text(call.name),
                arguments=data(call.arguments),
                result=maybe(call.result),
                said=text(call.said),
                call_id=text(call.call_id),
            )
            for call in recorded.calls
        ),
        output=maybe(recorded.output),
        offered=tuple(map(text, recorded.offered)),
        unread=tuple(
            Unread(where=text(item.where), what=text(item.what), quote=maybe(item.quote))
            for item in recorded.unread
        ),
        exchanges=tuple(
            replace(exchange, user=text(exchange.user), agent=text(exchange.agent))
            for exchange in recorded.exchanges
        ),
        context=None if recorded.context is None else data(dict(recorded.context)),
    )


def _strings(value: Any) -> Iterator[str]:
    """All texts of a JSON value, its keys included."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += [*map(str, item), *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item


def _unescaped(value: str) -> str:
    """A secret that was found in JSON text, as it was before."""
    try:
        plain = json.loads(f'"{value}"')
    except ValueError:
        return value
    return str(plain)


def _encodable(value: str) -> str:
    """Half a surrogate pair can be stored nowhere."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
