"""Model specs with typed options: ``scheme:id?option=value``.

Owns the options' types and the canonical text, which is what rows, ledgers and fingerprints carry;
a credential never gets that far. ``cases.specs`` owns which schemes there are. Knows no provider's
library.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from nightgate import prices
from nightgate.cases.specs import SCHEMES, looks_secret, secret_refused
from nightgate.cases.specs import parse_spec as parse_head
from nightgate.errors import InputError

__all__ = ["SCHEMES", "ModelSpec", "canonical", "is_local", "parse_spec"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Which model, from whom, with what parameters."""

    scheme: str
    id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Typed values by name; an explicit None takes a default parameter away."""

    @property
    def base_url(self) -> str | None:
        """Where the provider's API is, if not where it usually is."""
        value = self.options.get("base_url")
        return None if value is None else str(value)

    def __str__(self) -> str:
        return canonical(self)


def parse_spec(text: str) -> ModelSpec:
    """Read a spec text.

    Values are typed as JSON (``0`` an int, ``0.5`` a float, ``true`` a bool, ``null`` nothing);
    what is no JSON is text. ``base_url`` and ``region`` are always text.

    Raises:
        InputError: Names what is wrong and what would be right; never repeats a credential.

    >>> parse_spec("openai:gpt-x?temperature=0").options
    {'temperature': 0}
    """
    head, _, query = text.strip().partition("?")
    try:
        name = parse_head(head)  # without the options: what is wrong there must not be repeated
    except ValueError as error:
        raise InputError(f"model {error}") from error
    if any(char.isspace() for char in name.name):
        raise InputError(f"model {head!r}: an id has no white space")
    options: dict[str, Any] = {}
    for option, value in _pairs(head, query):
        if option in options:
            raise InputError(f"model {head!r}: option {option!r} is given twice")
        options[option] = _typed(head, option, value)
    if name.scripted and options:
        raise InputError(f"model {head!r}: a scripted model takes no options, got {', '.join(options)}")
    return ModelSpec(name.scheme, name.name, options)


def canonical(spec: ModelSpec) -> str:
    """The one text of a spec: options by name, values as JSON; reads back as the same spec."""
    if not spec.options:
        return f"{spec.scheme}:{spec.id}"
    pairs = [f"{name}={quote(_shown(name, spec.options[name]), safe=_SAFE)}" for name in sorted(spec.options)]
    return f"{spec.scheme}:{spec.id}?{'&'.join(pairs)}"


_WHERE = frozenset({"base_url", "region"})
"""Options that say which provider's model it is; all others say how it is asked."""


def provided(spec: ModelSpec) -> str:
    """The text of a provider's model, however it is asked: what its limits are counted by."""
    where = {name: value for name, value in spec.options.items() if name in _WHERE}
    return canonical(ModelSpec(spec.scheme, spec.id, where))


def is_local(spec: ModelSpec) -> bool:
    """Whether the model runs on this machine, where no token is charged."""
    return prices.is_local(spec.scheme, spec.base_url)


def _split(url: str) -> SplitResult | None:
    """The parts of a URL; None for what is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # checked only when it is asked for
    except ValueError:
        return None
    return parts


_SAFE = "/:,{}[]\"'.-_~ "


def _shown(name: str, value: Any) -> str:
    """A value as text that ``_typed`` reads back."""
    if isinstance(value, str) and (name in _TEXTS or _json(value) is _NO_JSON):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _pairs(head: str, query: str) -> list[tuple[str, str]]:
    if not query:
        return []
    try:
        # A plus is a plus here: ids and numbers hold them, and nobody writes blanks that way.
        pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=True)
    except ValueError as error:
        raise InputError(f"model {head!r}: options are written ?name=value&name=value") from error
    for name, value in pairs:
        if not _NAME.fullmatch(name):
            raise InputError(f"model {head!r}: {name!r} is no name of an option")
        _refuse_secret(head, name, value)
    return pairs


def _refuse_secret(head: str, name: str, value: Any) -> None:
    """Specs are stored and shown: a credential in one is refused, and its value not repeated."""
    if looks_secret(name, value):
        raise InputError(f"model {head!r}: {secret_refused(name)}")
    if isinstance(value, Mapping):
        for inner, part in value.items():
            _refuse_secret(head, str(inner), part)
    elif isinstance(value, list):
        for part in value:
            _refuse_secret(head, name, part)


_NO_JSON = object()


def _json(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return _NO_JSON


def _typed(head: str, name: str, text: str) -> Any:
    """An option's value in its type, checked where we know what it has to be."""
    if name in _TEXTS:
        value: Any = text
    else:
        value = _json(text)
        if value is _NO_JSON:
            value = text
        if value is None:
            return None
        _refuse_secret(head, name, value)
    check = _CHECKS.get(name)
    if check is not None:
        fits, wanted = check
        if not fits(value):
            raise InputError(f"model {head!r}: {name} is {wanted}, got {text!r}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_url(value: Any) -> bool:
    parts = _split(str(value))
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)


_TEXTS = frozenset({"base_url", "region"})
_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "base_url": (_is_url, "an address that begins with http:// or https://"),
    "region": (
        lambda v: bool(re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d+", v)),
        "an AWS region such as eu-central-1",
    ),
    "temperature": (
        lambda v: _is_number(v) and v >= 0,
        "a number from 0 up (or null for the provider's own)",
    ),
    "top_p": (lambda v: _is_number(v) and 0 <= v <= 1, "a number from 0 to 1"),
    "max_tokens": (_is_count, "a whole number from 1 up (or null for the provider's own)"),
    "cache_ttl": (lambda v: v in ("5m", "1h"), "5m or 1h, the time that the cache keeps a prompt"),
    "timeout_s": (lambda v: _is_number(v) and v > 0, "a number of seconds above 0"),
}
