"""The cost of one call, exact.

Owns the arithmetic from tokens and a price to nano-dollars: fractions, rounded once, half to even,
so that a bill adds up whatever the order. Imports the standard library only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from nightgate.trials import Usage

_NANOUSD_PER_TOKEN = 1000
"""One dollar per million tokens is a thousand nano-dollars per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongContext:
    """Other rates for calls with a long prompt; all tokens of such a call are charged at them."""

    above: int
    """Input tokens of all kinds that a call may have at the normal rates."""
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, by kind."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    long: LongContext | None = None
    source: str = ""
    """Where the figures are from, for people who wonder."""
    batch_factor: Decimal | None = None
    """What a token costs in the provider's batch queue, over its list price; None: it has no queue."""
    batch_source: str = ""
    """Where that is from."""

    def rates(self, input_tokens: int) -> Price | LongContext:
        """The rates for a call with so many input tokens of all kinds."""
        return self.long if self.long is not None and input_tokens > self.long.above else self


FREE = Price(input=Decimal(0), output=Decimal(0), cache_read=Decimal(0), cache_write=Decimal(0))
"""Known, and nothing: scripts without a price, models on this machine."""


def cost_nanousd(usage: Usage, price: Price) -> int:
    """What a call costs, in nano-dollars, rounded half to even.

    >>> cost_nanousd(Usage(input=10, output=20), Price(
    ...     input=Decimal("0.10"), output=Decimal("0.50"), cache_read=Decimal(0), cache_write=Decimal(0)))
    11000
    """
    if price is FREE:
        return 0
    rates = price.rates(usage.input + usage.cache_read + usage.cache_write)
    scale, (inputs, outputs, reads, writes) = _whole_rates(rates)
    total = usage.input * inputs + usage.output * outputs
    total += usage.cache_read * reads + usage.cache_write * writes
    return total if scale == 1 else round(Fraction(total, scale))


@lru_cache(maxsize=256)
def _whole_rates(rates: Price | LongContext) -> tuple[int, tuple[int, int, int, int]]:
    """Nano-dollars a token by kind, as whole numbers over one denominator."""
    kinds = (rates.input, rates.output, rates.cache_read, rates.cache_write)
    exact = [_NANOUSD_PER_TOKEN * Fraction(rate) for rate in kinds]
    scale = math.lcm(*(rate.denominator for rate in exact))
    first, second, third, fourth = (int(rate * scale) for rate in exact)
    return scale, (first, second, third, fourth)


def estimate_call_nanousd(price: Price, input_tokens: int, max_output_tokens: int) -> int:
    """The most that a call of this size costs, in nano-dollars, rounded up.

    The input counts at its dearest rate, for nobody knows before the call what the cache holds.

    Args:
        price: Of the model.
        input_tokens: Tokens of the prompt, or a guess.
        max_output_tokens: The answer's limit, or a guess.
    """
    rates = price.rates(input_tokens)
    dearest = max(rates.input, rates.cache_read, rates.cache_write)
    return math.ceil(
        _NANOUSD_PER_TOKEN
        * (max(0, input_tokens) * Fraction(dearest) + max(0, max_output_tokens) * Fraction(rates.output))
    )
