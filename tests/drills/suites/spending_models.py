"""Models with a till: they charge what a test says, fail when it says, and know what is in flight.

The till is the provider's side of the bill. Its money is nano-dollars at a dollar per million tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fault_models import Plain
from strands.types.exceptions import ModelThrottledException

NANOUSD_A_TOKEN = 1_000


@dataclass
class Till:
    """What was charged so far, by all models of a test.

    Attributes:
        tokens: Output tokens of the calls in turn, over and over.
        fates: What becomes of the calls in turn: ok, throttled, garbage.
        cap: Nano-dollars that the run may spend; None: as much as it likes.
    """

    tokens: Sequence[int] = (1,)
    fates: Sequence[str] = ("ok",)
    cap: int | None = None
    charged: int = 0
    calls: int = 0
    answered: int = 0
    flying: dict[int, int] = field(default_factory=dict)
    most_flying: int = 0
    """Highest sum of what calls in flight at one time came to cost."""
    began_over: int = 0
    """Calls that began though the cap was passed already."""

    def begin(self) -> tuple[int, int, str]:
        """A call: its number, its price and its fate."""
        number, self.calls = self.calls, self.calls + 1
        fate = self.fates[number % len(self.fates)]
        tokens = 0 if fate == "throttled" else self.tokens[number % len(self.tokens)]
        self.began_over += self.cap is not None and self.charged > self.cap
        self.flying[number] = tokens * NANOUSD_A_TOKEN
        self.most_flying = max(self.most_flying, sum(self.flying.values()))
        return number, tokens, fate

    def end(self, number: int, *, answered: bool) -> None:
        """Charge it."""
        self.charged += self.flying.pop(number)
        self.answered += answered

    def capped(self, cap: int | None, *, anew: bool = False) -> None:
        """A process with its cap; a resume may find it passed by what was in flight before."""
        self.cap, self.began_over = cap, 0
        if anew:
            self.most_flying = 0


TILL: list[Till] = [Till()]
"""The one of the running test."""


class Spender(Plain):
    """Charges the till; a judge's garbage is an answer like any other, and is paid for."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        till = TILL[0]
        number, tokens, fate = till.begin()
        for _ in range(number % 4):
            await asyncio.sleep(0)
        till.end(number, answered=fate != "throttled")
        if fate == "throttled":
            raise ModelThrottledException("too many at once")
        text = "no object" if fate == "garbage" else self.said
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        usage = {"inputTokens": 0, "outputTokens": tokens, "totalTokens": tokens}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}


def agent() -> Spender:
    """Says one cited sentence."""
    return Spender("Gladly. [KB-1]")


def judge() -> Spender:
    """Says yes."""
    return Spender('{"verdict": "yes", "reason": "so it is"}')


def other_judge() -> Spender:
    """Says yes as well."""
    return judge()
