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
_SECRET_WORDS = frozenset(
    {"key", "apikey", "token", "accesstoken", "secret", "password", "passwd", "pwd", "credential"}
    | {"credentials", "authorization", "auth", "bearer", "signature", "cookie", "headers"}
)
_NO_SECRETS = frozenset({"prompt_cache_key", "cache_key"})
"""Names that sound like a credential and hold none."""

_SECRET_VALUE = re.compile(
    r"^(sk|pk|rk|ghp|gho|ghs|xox[abprs]|hf|gsk)[-_][A-Za-z0-9_-]{8,}|^(AKIA|ASIA)[A-Z0-9]{12,}|^Bearer\s|^ABSK"
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
    # What is wrong is told without the options: a credential among them must not be repeated.
    shown = text.partition("?")[0]
    scheme, colon, rest = text.partition(":")
    if scheme not in SCHEMES or not colon:
        known = ", ".join(SCHEMES)
        guess = did_you_mean(scheme, SCHEMES) if "did you mean" in did_you_mean(scheme, SCHEMES) else ""
        raise ValueError(f"{shown!r} names no model: it starts with one of {known}, then a colon{guess}")
    name, _, query = rest.partition("?")
    if not name or name != name.strip():
        raise ValueError(f"{shown!r} has no model name after {scheme}:")
    if scheme == "scripted" and not _SCRIPT_NAME.fullmatch(name):
        raise ValueError(f"{shown!r}: a script's name is its file name in scripts/ without .yaml")
    if scheme == "import" and not _FACTORY.fullmatch(name):
        raise ValueError(f"{shown!r} must be import:module:factory")
    return ModelSpec(text=text, scheme=scheme, name=name, options=_options(shown, query))


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
    for name, value in pairs:
        if looks_secret(name, value):
            raise ValueError(f"{text!r}: {secret_refused(name)}")
    return options


def looks_secret(name: str, value: object) -> bool:
    """Whether an option holds a credential, by its name or by its value."""
    words = set(re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))
    squeezed = re.sub(r"[^a-z0-9]", "", name.lower())
    if name not in _NO_SECRETS and (words & _SECRET_WORDS or squeezed in _SECRET_WORDS):
        return True
    return isinstance(value, str) and bool(re.search(r"://[^/?#]*@", value) or _SECRET_VALUE.search(value))


def secret_refused(name: str) -> str:
    """Why an option is refused; its value is not repeated."""
    return (
        f"option {name!r} looks like a credential. Credentials come only from the provider's own "
        "environment variables and chains"
    )
