"""Which values of a recording are secrets, and how one is taken out wherever else it stands.

Owns the names that make a value a secret, and the forms that it has elsewhere: escaped in JSON or in
an address, or as a word of its own. How a credential looks by itself is known to ``rows.redaction``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from nightgate.importers.parts import loaded
from nightgate.rows.redaction import MASK

_ENDING = (
    r"(?:pass_?(?:word|wd|phrase|code)|secret"
    r"|(?:api|access|account|private|secret|auth|signing|encryption)_?key"
    r"|(?:access|auth|api|bearer|refresh|session|csrf|security)_?token"
    r"|(?:^|_)(?:pwd|pin|otp|id_token|authorization|credential|(?:set_|session_)?cookie))"
)
_NAME = re.compile(rf"{_ENDING}s?(?:_(?:confirm|confirmation|repeat|again|old|new))?_?\d*\Z")
_BETWEEN = re.compile(r"[-. ]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HINTS = ("pass", "secret", "key", "token", "pwd", "pin", "otp", "auth", "cred", "cookie")
"""Every name holds one of these; most texts hold none and need not be parsed."""
_NAMED_BY, _VALUE = ("name", "key", "field"), "value"
"""How forms and attributes are listed: ``{"name": "password", "value": ...}``."""
_SHORTEST, _PART = 4, 8
"""Characters of a value that is looked for elsewhere: as a word of its own, and as a part of any text."""


def is_secret_name(name: str) -> bool:
    """Whether what stands under a key is a secret.

    >>> is_secret_name("newPassword"), is_secret_name("X-Api-Key"), is_secret_name("password_hint")
    (True, True, False)
    """
    return _NAME.search(_BETWEEN.sub("_", _HUMP.sub("_", name)).lower()) is not None


def _parts(value: Mapping[Any, Any], *, secret: bool) -> Iterator[tuple[Any, Any, bool]]:
    """Key, value, and whether the value is a secret, for each part of an object.

    An object under a secret name holds one only in its ``value``: a tool's schema describes a password
    and has none.
    """
    named = secret or any(
        is_secret_name(value[name]) for name in _NAMED_BY if isinstance(value.get(name), str)
    )
    for key, item in value.items():
        yield key, item, (named and key == _VALUE) or is_secret_name(str(key))


def named_secrets(values: Iterable[Any]) -> set[str]:
    """The values under secret names, at any depth, also within JSON that stands as text."""
    found: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(value, False) for value in values]
    while waiting:
        value, secret = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(item, told) for _, item, told in _parts(value, secret=secret)]
        elif isinstance(value, list | tuple):
            waiting += [(item, secret) for item in value]
        elif secret and _is_scalar(value):
            found.add(str(value))
        elif isinstance(value, str) and _may_name(value):
            inner = loaded(value)
            if not isinstance(inner, str):
                waiting.append((inner, False))
    return found


def blanked(value: Any, *, secret: bool = False) -> Any:
    """A JSON value with all that stands under secret names masked."""
    if isinstance(value, Mapping):
        return {key: blanked(item, secret=told) for key, item, told in _parts(value, secret=secret)}
    if isinstance(value, list | tuple):
        return [blanked(item, secret=secret) for item in value]
    return MASK if secret and _is_scalar(value) else value


def _may_name(text: str) -> bool:
    low = text.lower() if text[:1] in ("[", "{") else ""
    return any(hint in low for hint in _HINTS)


def blanked_text(text: str) -> str:
    """The same for JSON that stands as text; any other text as it is."""
    inner = loaded(text) if _may_name(text) else text
    if isinstance(inner, str):
        return text
    without = blanked(inner)
    return text if without == inner else json.dumps(without, ensure_ascii=False)


def _is_scalar(value: Any) -> bool:
    """Text or a number, and something in it."""
    return isinstance(value, str | int | float) and not isinstance(value, bool) and bool(str(value).strip())


class Known:
    """Takes known secrets out of texts.

    Args:
        values: The secrets. Those of less than four characters are left alone: they stand in any text.
    """

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in _forms(value.strip())}
        parts = [
            re.escape(form) if len(form) >= _PART else rf"(?<![^\W_]){re.escape(form)}(?![^\W_])"
            for form in sorted(forms, key=lambda form: (-len(form), form))
        ]
        self._pattern = re.compile("|".join(parts)) if parts else None

    def masked(self, text: str) -> str:
        """The text without them."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def _forms(value: str) -> Iterator[str]:
    if len(value) < _SHORTEST or value in MASK or is_secret_name(value):
        return  # a mask, or a placeholder such as "password"
    yield value
    for ascii_only in (False, True):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield from (once, json.dumps(once)[1:-1])
    for safe in ("", "/"):
        yield from (quote(value, safe=safe, errors="replace"), quote_plus(value, safe=safe, errors="replace"))
