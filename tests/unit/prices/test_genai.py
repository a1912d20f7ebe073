"""The built-in table beside genai-prices: two tables that are kept apart, so that a slip in one shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice

from nightgate.prices import Price, PriceTable
from nightgate.prices.costs import KINDS
from nightgate.prices.files import TIER

TABLE = dict(PriceTable.load())
PROVIDERS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic", "bedrock": "aws"}
SNAPSHOT = {provider.id: provider for provider in get_snapshot().providers}
NOW = datetime(2026, 11, 29, tzinfo=UTC)

FREE_WRITES = "AWS's price list bills writes to Nova's cache at 0; genai-prices has no rate, so input's there"
ALL = "long input, long output, long cache_read, long cache_write"
DIFFER = {
    "gpt-5.4 fast": (ALL, "OpenAI sells no priority for long prompts; there the flat rate holds"),
    "gpt-5.4 priority": (ALL, "as for fast"),
    "gpt-5.5 fast": (ALL, "as for fast"),
    "gpt-5.5 priority": (ALL, "as for fast"),
    "us.amazon.nova-micro-v1:0": ("cache_write", FREE_WRITES),
    "us.amazon.nova-lite-v1:0": ("cache_write", FREE_WRITES),
    "us.amazon.nova-pro-v1:0": ("cache_write", FREE_WRITES),
    "us.amazon.nova-2-lite-v1:0": ("cache_write", FREE_WRITES),
    "eu.amazon.nova-2-lite-v1:0": ("cache_write", FREE_WRITES),
    "jp.amazon.nova-2-lite-v1:0": ("cache_write", FREE_WRITES),
    "global.amazon.nova-2-lite-v1:0": ("cache_write", FREE_WRITES),
    "claude-sonnet-4-5": (
        "long input, long output, long cache_read, long cache_write, long cache_write_1h",
        "prompts of more than 200,000 tokens are refused since their beta ended; there the old rates stay",
    ),
}
"""Model and tier -> rates that differ, and why."""
NO_TIERS = "genai-prices has no service tiers of Bedrock"
ONLY_HERE = {
    "us.amazon.nova-pro-v1:0 flex": NO_TIERS,
    "us.amazon.nova-pro-v1:0 priority": NO_TIERS,
    "us.amazon.nova-2-lite-v1:0 flex": NO_TIERS,
    "us.amazon.nova-2-lite-v1:0 priority": NO_TIERS,
}
"""Model and tier that only our table knows."""
BATCH_ONLY_HERE = ("bedrock:",)
"""genai-prices has no batch price of Bedrock, which AWS states as half of the list price."""


def named(pattern: str) -> tuple[str, str, str]:
    """Provider, an id that the pattern holds for, and the tier."""
    glob, _, tier = pattern.partition(TIER)
    scheme, _, name = glob.partition(":")
    dated = name.replace("-20??-??-??", "").replace("-20??????", "").rstrip("*")
    return PROVIDERS[scheme], dated, tier


def shown(pattern: str) -> str:
    """As the lists above name it."""
    _, name, tier = named(pattern)
    return f"{name} {tier}".strip()


def theirs(pattern: str, **context: str) -> ModelPrice | None:
    """Their price of a pattern's model, with the variant of a context over it; None: they have none."""
    provider, name, tier = named(pattern)
    model = SNAPSHOT[provider].find_model(name)
    assert model is not None, f"genai-prices has no {name}: see whether ours is right, and say so here"
    price = model.get_prices(NOW)
    wanted = context or ({"service_tier": tier} if tier else {})
    if not wanted:
        return price
    variants = [variant.prices for variant in model.price_variants or () if variant.when == wanted]
    if not variants:
        return None
    # What a variant does not tell stays as it is.
    told = {name: value for name, value in vars(variants[0]).items() if value is not None}
    return ModelPrice(**{**vars(price), **told})


def differing(ours: Price, other: ModelPrice) -> Iterator[str]:
    """Rates that are not the same, by name."""
    rates = {kind: getattr(other, f"{kind}_mtok", None) for kind in KINDS}
    long_here = ours.long is not None
    long_there = any(hasattr(rate, "tiers") for rate in rates.values())
    for kind, rate in rates.items():
        # A cache kind without a rate is counted as input in both; an hour's writes are unknown in ours.
        counted = rates["input"] if rate is None and kind != "cache_write_1h" else rate
        base = getattr(counted, "base", counted)
        if getattr(ours, kind) != base:
            yield kind
        if not (long_here or long_there):
            continue
        own = getattr(ours.long, kind) if long_here else getattr(ours, kind)
        (tier,) = getattr(counted, "tiers", None) or (None,)
        if own != (base if tier is None else tier.price):
            yield f"long {kind}"
        if tier is not None and ours.long is not None and tier.start != ours.long.above:
            yield f"above {kind}"


def found() -> dict[str, set[str]]:
    """All differences, by model and tier."""
    differences: dict[str, set[str]] = defaultdict(set)
    for pattern, price in TABLE.items():
        other = theirs(pattern)
        if other is not None:
            differences[shown(pattern)] |= set(differing(price, other))
    return {name: parts for name, parts in differences.items() if parts}


def test_all_rates_of_all_models_agree_but_for_those_that_are_named_with_a_reason() -> None:
    """Input, output, cache reads and writes of both times, long prompts, service tiers."""
    assert found() == {name: set(parts.split(", ")) for name, (parts, _) in DIFFER.items()}


def test_the_lines_that_only_our_table_has_are_named() -> None:
    """Nothing is left out of the comparison in silence."""
    assert {shown(pattern) for pattern in TABLE if theirs(pattern) is None} == set(ONLY_HERE)


def test_no_service_tier_that_they_know_is_missing() -> None:
    """Of the models of the table: flex, priority and its other name."""
    missing = set()
    for pattern in TABLE:
        provider, name, tier = named(pattern)
        model = SNAPSHOT[provider].find_model(name)
        if tier or model is None:
            continue
        tiers = {variant.when.get("service_tier") for variant in model.price_variants or ()}
        missing |= {
            (pattern, tier) for tier in tiers - {None, "default"} if f"{pattern}{TIER}{tier}" not in TABLE
        }
    assert not missing


@pytest.mark.parametrize("pattern", [pattern for pattern in TABLE if TIER not in pattern])
def test_batch_prices_agree(pattern: str) -> None:
    """All kinds: cached tokens do not always follow the factor."""
    queued, other = TABLE[pattern].batch, theirs(pattern, processing="batch")
    if pattern.startswith(BATCH_ONLY_HERE):
        assert other is None, "genai-prices knows a batch price of Bedrock now: compare it"
        assert queued is None or TABLE[pattern].batch_factor == Decimal("0.5")
        return
    assert queued is not None
    assert other is not None
    allowed = {part for part in DIFFER.get(shown(pattern), ("", ""))[0].split(", ") if part}
    assert set(differing(queued, other)) - allowed <= unsaid(queued, other)


def unsaid(queued: Price, other: ModelPrice) -> set[str]:
    """Writes to a cache that list neither here nor there: input's rate of the queue, and of the list."""
    told: dict[str, Any] = {kind: getattr(other, f"{kind}_mtok", None) for kind in KINDS}
    same = queued.cache_write == queued.input
    return {"cache_write", "long cache_write"} if told["cache_write"] is None and same else set()
