"""The cost of one call, exact.

Owns the arithmetic from tokens and a price to nano-dollars: fractions, rounded once, half to even,
so that a bill adds up whatever the order. A rate that nobody told is None, and a call with tokens of
that kind costs None, never 0. Imports the standard library only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from nightgate.trials import Usage

NANO: Final = 1_000_000_000
"""Nano-dollars in a dollar."""
_NANOUSD_PER_TOKEN = 1000
"""One dollar per million tokens is a thousand nano-dollars per token."""
KINDS: Final = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
"""Kinds of tokens that a price tells apart: ``cache_write`` here is what is kept five minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongContext:
    """Other rates for calls with a long prompt; all tokens of such a call are charged at them."""

    above: int
    """Input tokens of all kinds that a call may have at the normal rates."""
    input: Decimal | None
    """None: the provider tells no rate for prompts so long."""
    output: Decimal | None
    cache_read: Decimal | None
    cache_write: Decimal | None
    cache_write_1h: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, by kind; None: not known."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write: Decimal | None
    """What stays in the cache for the provider's usual time, five minutes."""
    cache_write_1h: Decimal | None = None
    """What stays there for an hour."""
    long: LongContext | None = None
    source: str = ""
    """Where the figures are from, for people who wonder."""
    batch: Price | None = None
    """The same tokens in the provider's batch queue; None: it has no queue."""

    @property
    def batch_factor(self) -> Decimal | None:
        """What a fresh token costs in the batch queue, over its list price; None: there is no queue."""
        if self.batch is None:
            return None
        pairs = ((self.batch.input, self.input), (self.batch.output, self.output))
        return next((queued / listed for queued, listed in pairs if listed), Decimal(1))

    @property
    def batch_source(self) -> str:
        """Where the batch price is from."""
        return "" if self.batch is None else self.batch.source

    def rates(self, input_tokens: int) -> Price | LongContext:
        """The rates for a call with so many input tokens of all kinds."""
        return self.long if self.long is not None and input_tokens > self.long.above else self


def scaled(price: Price, factor: Decimal, source: str = "") -> Price:
    """All rates of a price, those for long prompts too, times a factor.

    Args:
        price: Its own batch price is left out.
        factor: Such as 0.5.
        source: Where the factor is from.
    """
    long = price.long
    return Price(
        **_times(price, factor),
        long=None if long is None else LongContext(above=long.above, **_times(long, factor)),
        source=source,
    )


def _times(rates: Price | LongContext, factor: Decimal) -> dict[str, Any]:
    told = {kind: getattr(rates, kind) for kind in KINDS}
    return {kind: None if rate is None else rate * factor for kind, rate in told.items()}


_NOTHING: dict[str, Any] = dict.fromkeys(KINDS, Decimal(0))
FREE = Price(**_NOTHING)
"""Known, and nothing: scripts without a price, models on this machine."""


def cost_nanousd(usage: Usage, price: Price) -> int | None:
    """What a call costs, in nano-dollars, rounded half to even; None: nobody told a rate that it needs.

    >>> cost_nanousd(Usage(input=10, output=20), Price(
    ...     input=Decimal("0.10"), output=Decimal("0.50"), cache_read=Decimal(0), cache_write=Decimal(0)))
    11000
    """
    if price is FREE:
        return 0
    rates = price.rates(usage.input + usage.cache_read + usage.cache_write)
    scale, by_kind = _whole_rates(rates)
    hour = usage.cache_write_1h
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write - hour, hour)
    total = 0
    for count, rate in zip(tokens, by_kind, strict=True):
        if not count:
            continue
        if rate is None:
            return None
        total += count * rate
    return total if scale == 1 else round(Fraction(total, scale))


def list_and_batch_nanousd(usage: Usage | None, price: Price | None) -> tuple[int | None, int | None]:
    """What the same tokens cost at list price, and in the provider's batch queue.

    Args:
        usage: None: not known.
        price: List price; None: not known.

    Returns:
        Nano-dollars each; None: not known. The second is None also where there is no queue.
    """
    if price is None or (usage is None and price is not FREE):
        return None, None
    used = Usage() if usage is None else usage
    return cost_nanousd(used, price), None if price.batch is None else cost_nanousd(used, price.batch)


@lru_cache(maxsize=256)
def _whole_rates(rates: Price | LongContext) -> tuple[int, tuple[int | None, ...]]:
    """Nano-dollars a token by kind, as whole numbers over one denominator."""
    told = [getattr(rates, kind) for kind in KINDS]
    exact = [None if rate is None else _NANOUSD_PER_TOKEN * Fraction(rate) for rate in told]
    scale = math.lcm(*(rate.denominator for rate in exact if rate is not None))
    return scale, tuple(None if rate is None else int(rate * scale) for rate in exact)


def estimate_call_nanousd(price: Price, input_tokens: int, max_output_tokens: int) -> int:
    """The most that a call of this size costs, in nano-dollars, rounded up.

    The input counts at its dearest rate, for nobody knows before the call what the cache holds. Rates
    that nobody told are left out: where none is known for a prompt so long, the normal ones stand in.

    Args:
        price: Of the model.
        input_tokens: Tokens of the prompt, or a guess.
        max_output_tokens: The answer's limit, or a guess.
    """
    rates = price.rates(input_tokens)
    asked = (rates.input, rates.cache_read, rates.cache_write, rates.cache_write_1h)
    dearest = max((rate for rate in asked if rate is not None), default=price.input)
    output = price.output if rates.output is None else rates.output
    return math.ceil(
        _NANOUSD_PER_TOKEN
        * (max(0, input_tokens) * Fraction(dearest) + max(0, max_output_tokens) * Fraction(output))
    )
