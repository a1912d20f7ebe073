"""Model specs: the text that names a model for agent, judge and user alike.

Owns the grammar ``scheme:name?option=value``. Knows no provider: ``wiring`` builds models from it.
Imports the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from nightgate.cases.problems import did_you_mean

SCHEMES = (
    "scripted",
    "bedrock",
    "openai",
    "openai-responses",
    "anthropic",
    "ollama",
    "llamacpp",
    "litellm",
    "import",
)
_SCRIPT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FACTORY = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model spec, taken apart."""

    text: str
    """As written."""
    scheme: str
    name: str
    """Model id, script name, or ``module:factory``."""
    options: Mapping[str, str]

    @property
    def scripted(self) -> bool:
        """Whether it is a script: offline, deterministic, free."""
        return self.scheme == "scripted"


def parse_spec(text: str) -> ModelSpec:
    """Take a model spec apart.

    Raises:
        ValueError: If the scheme is unknown, the name is empty or malformed, or an option is there
            twice or has no value.

    >>> spec = parse_spec("openai:gpt-x?base_url=http://127.0.0.1:8080/v1&temperature=0")
    >>> spec.scheme, spec.name, dict(spec.options)
    ('openai', 'gpt-x', {'base_url': 'http://127.0.0.1:8080/v1', 'temperature': '0'})
    """
    scheme, colon, rest = text.partition(":")
    if scheme not in SCHEMES or not colon:
        known = ", ".join(SCHEMES)
        guess = did_you_mean(scheme, SCHEMES) if "did you mean" in did_you_mean(scheme, SCHEMES) else ""
        raise ValueError(f"{text!r} names no model: it starts with one of {known}, then a colon{guess}")
    name, _, query = rest.partition("?")
    if not name or name != name.strip():
        raise ValueError(f"{text!r} has no model name after {scheme}:")
    if scheme == "scripted" and not _SCRIPT_NAME.fullmatch(name):
        raise ValueError(f"{text!r}: a script's name is its file name in scripts/ without .yaml")
    if scheme == "import" and not _FACTORY.fullmatch(name):
        raise ValueError(f"{text!r} must be import:module:factory")
    return ModelSpec(text=text, scheme=scheme, name=name, options=_options(text, query))


def _options(text: str, query: str) -> dict[str, str]:
    if not query:
        return {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        raise ValueError(f"{text!r}: options are written ?name=value&name=value") from None
    options = dict(pairs)
    if len(options) != len(pairs):
        raise ValueError(f"{text!r} gives an option twice")
    return options
