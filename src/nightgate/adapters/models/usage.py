"""Tokens as providers report them, made into four kinds that never overlap.

Owns the one fact on which every bill hangs: whether cached tokens are part of the reported input
or come on top. Knows no price. Imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from nightgate.adapters.models.specs import ModelSpec
from nightgate.adapters.replies import is_token_count
from nightgate.trials import Usage

CACHE_DETAILS = "cacheDetails"
"""Key of the usage under which Bedrock tells how long written tokens are kept."""
_HOUR = "1h"
_BILLED = ("inputTokens", "outputTokens")
"""Of every call: without them nobody can tell what it cost."""

UsageKind = Literal["inside", "beside"]
"""Cached tokens are ``inside`` the reported input, or ``beside`` it."""

_INSIDE_SCHEMES = frozenset({"openai", "openai-responses", "litellm", "llamacpp"})
_INSIDE_TYPES = frozenset(
    {"OpenAIModel", "OpenAIResponsesModel", "LiteLLMModel", "GeminiModel", "LlamaCppModel", "MistralModel"}
)


def usage_kind(spec: ModelSpec, model: object = None) -> UsageKind:
    """Where the provider of ``spec`` counts cached tokens.

    Args:
        spec: The model's spec.
        model: The built model; for ``import:`` specs its class decides.
    """
    if spec.scheme in _INSIDE_SCHEMES:
        return "inside"
    if spec.scheme == "import" and any(base.__name__ in _INSIDE_TYPES for base in type(model).__mro__):
        return "inside"
    return "beside"


def normalise_usage(raw: Mapping[str, Any], kind: UsageKind, ttl: str | None = None) -> Usage | None:
    """Four counts without overlap from the ``usage`` of Strands' metadata event; None where it tells none.

    How long written tokens are kept is the provider's word, ``cacheDetails``. Where it tells the sum
    alone, they are taken to be kept for the time that the spec asks for, and for five minutes where it
    asks for none.

    Args:
        raw: ``inputTokens``, ``outputTokens``, ``cacheReadInputTokens``, ``cacheWriteInputTokens`` and
            ``cacheDetails`` (a list of ``ttl`` and ``inputTokens``); missing ones are 0, as are cached
            ones that are no count.
        kind: Where cached tokens are.
        ttl: The spec's ``cache_ttl``.

    Returns:
        The counts; None where input and output are missing, or one of them is there and is no count: what
        such an answer cost is unknown, and never nothing.

    >>> normalise_usage({"inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 5}, "inside")
    Usage(input=5, output=20, cache_read=5, cache_write=0, cache_write_1h=0)
    >>> normalise_usage({"inputTokens": None, "outputTokens": None}, "inside") is None
    True
    """
    told_of = [name for name in _BILLED if name in raw]
    if not told_of or not all(is_token_count(raw[name]) for name in told_of):
        return None
    fresh, read, write = (
        _count(raw.get(name)) for name in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    )
    told = _by_ttl(raw.get(CACHE_DETAILS))
    write = max(write, sum(told.values()))
    if kind == "inside":
        fresh = max(0, fresh - read - write)
    return Usage(
        input=fresh,
        output=_count(raw.get("outputTokens")),
        cache_read=read,
        cache_write=write,
        cache_write_1h=told.get(_HOUR, 0) if told else write if ttl == _HOUR else 0,
    )


def _by_ttl(details: Any) -> dict[str, int]:
    """Written tokens by the time that they are kept; empty where the provider does not say."""
    found: dict[str, int] = {}
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and _count(detail.get("inputTokens")):
            ttl = str(detail.get("ttl"))
            found[ttl] = found.get(ttl, 0) + _count(detail["inputTokens"])
    return found


def _count(value: Any) -> int:
    return int(value) if is_token_count(value) else 0
