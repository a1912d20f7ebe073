"""Models behind ``import:`` specs: without a price, with a provider's habits, with a storm in them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
from strands.models.model import Model
from strands.types.exceptions import ModelThrottledException


class Plain(Model):
    """Says one cited sentence."""

    def __init__(self, **usage: int) -> None:
        self.usage = {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30, **usage}
        self.calls = 0

    def update_config(self, **model_config: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "plain"}

    async def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        raise RuntimeError("nobody asks for typed answers the old way")
        yield

    async def before(self) -> None:
        """What happens before it answers."""

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        self.calls += 1
        await self.before()
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "Gladly. [KB-1]"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": self.usage, "metrics": {"latencyMs": 0}}}


class OpenAIModel(Plain):
    """Counts cached tokens inside of the input, as the library's class of this name does."""


def unpriced() -> Plain:
    """In no price table."""
    return Plain()


def cache_inside() -> Plain:
    """10 tokens in, 5 of them cached; 20 out."""
    return OpenAIModel(cacheReadInputTokens=5)


def cache_beside() -> Plain:
    """10 tokens in, and 5 cached ones on top; 20 out."""
    return Plain(cacheReadInputTokens=5, totalTokens=35)


class Storm(Plain):
    """Throttles its first 30 calls, and every call beyond four at a time."""

    last: Storm | None = None

    def __init__(self) -> None:
        super().__init__()
        self.in_flight = self.peak = self.served = 0
        Storm.last = self

    async def before(self) -> None:
        if self.calls <= 30 or self.in_flight >= 4:
            raise ModelThrottledException("slow down")
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        for _ in range(20):  # others get their turn meanwhile
            await asyncio.sleep(0)
        self.in_flight -= 1
        self.served += 1


class Pausing(Plain):
    """Never answers its seventh call where ``DRILL_MARK`` names a file; creates the file then."""

    async def before(self) -> None:
        mark = os.environ.get("DRILL_MARK")
        if mark and self.calls == 7:
            Path(mark).touch()  # noqa: ASYNC240 - one file
            await asyncio.Event().wait()


class Client:
    """An HTTP client that outlives a run, as modules hold one for all of their agents."""

    held: httpx.AsyncClient | None = None
    url = ""

    @classmethod
    def get(cls) -> httpx.AsyncClient:
        """The one client of the process."""
        if cls.held is None:
            cls.held = httpx.AsyncClient()
        return cls.held


class Remote(Plain):
    """Asks a server through the client that the module holds."""

    def __init__(self) -> None:
        super().__init__()
        self.client = Client.get()

    async def before(self) -> None:
        (await self.client.get(Client.url)).raise_for_status()
