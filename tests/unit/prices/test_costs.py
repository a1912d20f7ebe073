"""Money is exact: fractions, rounded once."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.prices import (
    FREE,
    LongContext,
    Price,
    cost_nanousd,
    estimate_call_nanousd,
    list_and_batch_nanousd,
    scaled,
)
from nightgate.trials import Usage

RATES = st.decimals(0, 1000, places=6, allow_nan=False, allow_infinity=False)
TOKENS = st.integers(0, 10**9)
PRICES = st.builds(
    Price, input=RATES, output=RATES, cache_read=RATES, cache_write=RATES, cache_write_1h=RATES
)
USAGES = st.builds(Usage, input=TOKENS, output=TOKENS, cache_read=TOKENS, cache_write=TOKENS)


def cost(usage: Usage, price: Price) -> int:
    """Of rates that are all known."""
    found = cost_nanousd(usage, price)
    assert found is not None
    return found


def a_price(**rates: str) -> Price:
    kinds = {"input": "0", "output": "0", "cache_read": "0", "cache_write": "0"} | rates
    return Price(**{kind: Decimal(rate) for kind, rate in kinds.items()})


def test_each_kind_has_its_own_price() -> None:
    """One dollar a million is a thousand nano-dollars a token."""
    price = a_price(input="1", output="5", cache_read="0.1", cache_write="1.25")
    usage = Usage(input=10, output=20, cache_read=5, cache_write=4)
    assert cost_nanousd(usage, price) == 10_000 + 100_000 + 500 + 5_000


@pytest.mark.parametrize(("rate", "nanousd"), [("0.0005", 0), ("0.0015", 2), ("0.0025", 2), ("0.0035", 4)])
def test_half_a_nano_dollar_rounds_to_even(rate: str, nanousd: int) -> None:
    """So that roundings cancel over a run."""
    assert cost_nanousd(Usage(input=1), a_price(input=rate)) == nanousd


@given(USAGES, PRICES)
def test_the_cost_is_within_half_a_nano_dollar_of_the_exact_one(usage: Usage, price: Price) -> None:
    """No float comes near it, whatever the sizes."""
    exact = 1000 * sum(
        Fraction(getattr(price, kind)) * getattr(usage, kind)
        for kind in ("input", "output", "cache_read", "cache_write")
    )
    assert abs(cost(usage, price) - exact) <= Fraction(1, 2)


@given(USAGES)
def test_what_is_free_costs_nothing(usage: Usage) -> None:
    """Known, and nothing: not unknown."""
    assert cost_nanousd(usage, FREE) == 0


LONG = Price(
    input=Decimal(1),
    output=Decimal(5),
    cache_read=Decimal(1),
    cache_write=Decimal(1),
    long=LongContext(
        above=100, input=Decimal(2), output=Decimal(7), cache_read=Decimal(2), cache_write=Decimal(2)
    ),
)


@pytest.mark.parametrize(
    ("usage", "nanousd"),
    [
        (Usage(input=100, output=1), 105_000),
        (Usage(input=101, output=1), 209_000),
        (Usage(input=50, cache_read=51, output=1), 209_000),
        (Usage(input=1, output=500), 2_501_000),
    ],
)
def test_a_long_prompt_is_charged_at_its_own_rates(usage: Usage, nanousd: int) -> None:
    """All tokens of such a call, and cached ones make a prompt long too."""
    assert cost_nanousd(usage, LONG) == nanousd


@given(PRICES, TOKENS, TOKENS, st.integers(0, 3))
def test_no_call_of_the_estimated_size_costs_more(price: Price, tokens: int, output: int, kind: int) -> None:
    """Whatever part of the prompt is read from or written to the cache."""
    part = tokens // (kind + 1)
    usage = Usage(input=part, cache_read=(tokens - part) // 2, output=output)
    rest = tokens - usage.input - usage.cache_read
    usage += Usage(cache_write=rest, cache_write_1h=rest // 3)
    assert cost(usage, price) <= estimate_call_nanousd(price, tokens, output)


def test_writes_that_are_kept_an_hour_have_their_own_price() -> None:
    """They are part of what was written."""
    price = a_price(input="1", cache_write="1.25", cache_write_1h="2")
    assert cost_nanousd(Usage(cache_write=10, cache_write_1h=4), price) == 6 * 1250 + 4 * 2000


@given(USAGES, st.sampled_from(["cache_read", "cache_write", "cache_write_1h"]))
def test_a_call_costs_none_just_when_it_has_tokens_of_an_unknown_rate(usage: Usage, kind: str) -> None:
    """Unknown is never 0, and a rate that is not needed hides nothing."""
    price = replace(a_price(input="1", output="2", cache_write_1h="3"), **{kind: None})
    used = replace(usage, cache_write_1h=usage.cache_write // 2)
    counts = {
        "cache_read": used.cache_read,
        "cache_write": used.cache_write - used.cache_write_1h,
        "cache_write_1h": used.cache_write_1h,
    }
    assert (cost_nanousd(used, price) is None) == bool(counts[kind])


def test_an_unknown_rate_does_not_lift_the_reserve() -> None:
    """The dearest that is known is held; for a prompt of unknown rates the normal ones."""
    unknown = LongContext(above=100, input=None, output=None, cache_read=None, cache_write=None)
    price = replace(a_price(input="1", output="5", cache_write="2"), cache_read=None, long=unknown)
    assert estimate_call_nanousd(price, 100, 1) == 100 * 2000 + 5000
    assert estimate_call_nanousd(price, 101, 1) == 101 * 1000 + 5000


def test_list_and_batch_price_stand_beside_each_other() -> None:
    """Null where nobody knows, or there is no queue; nothing stays nothing."""
    price = a_price(input="1", output="5")
    queued = replace(price, batch=scaled(price, Decimal("0.5")))
    usage = Usage(input=2, output=2)
    assert list_and_batch_nanousd(usage, queued) == (12_000, 6_000)
    assert list_and_batch_nanousd(usage, price) == (12_000, None)
    assert list_and_batch_nanousd(None, queued) == list_and_batch_nanousd(usage, None) == (None, None)
    assert list_and_batch_nanousd(None, FREE) == (0, None)
