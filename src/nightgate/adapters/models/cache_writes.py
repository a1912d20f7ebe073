"""How long Anthropic keeps the tokens that were written to its cache: the SDK hands on their sum alone.

Owns the listening: a client whose streams are overheard, and the usage with the split put back, in the
form in which Bedrock tells it. Knows nothing of specs and prices; needs no provider's library.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from nightgate.adapters.models.usage import CACHE_DETAILS

_PARTS = {"5m": "ephemeral_5m_input_tokens", "1h": "ephemeral_1h_input_tokens"}


class WritesHeard:
    """What one call's answers say of written tokens: one answer, or several that go on with each other."""

    def __init__(self) -> None:
        self._written = dict.fromkeys(_PARTS, 0)

    def hear(self, message: Any) -> None:
        """Count a whole answer."""
        split = getattr(getattr(message, "usage", None), "cache_creation", None)
        for ttl, name in _PARTS.items():
            count = getattr(split, name, None)
            self._written[ttl] += count if isinstance(count, int) else 0

    def told(self, event: Any) -> Any:
        """A stream event, with the split beside the sum where it holds the usage."""
        metadata = event.get("metadata") if isinstance(event, dict) else None
        if not metadata or "usage" not in metadata or not any(self._written.values()):
            return event
        details = [{"ttl": ttl, "inputTokens": count} for ttl, count in self._written.items() if count]
        return {"metadata": {**metadata, "usage": {**metadata["usage"], CACHE_DETAILS: details}}}


class Overheard:
    """The part of Anthropic's client by which the SDK's model streams, with its answers listened to.

    Args:
        client: The real one.
        heard: Of the call.
    """

    def __init__(self, client: Any, heard: WritesHeard) -> None:
        self._client, self._heard = client, heard
        self.messages = self

    @contextlib.asynccontextmanager
    async def stream(self, **request: Any) -> AsyncIterator[Any]:
        """As the client's ``messages.stream``."""
        async with self._client.messages.stream(**request) as stream:
            yield _Stream(stream, self._heard)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


class _Stream:
    """A message stream whose final message is listened to."""

    def __init__(self, stream: Any, heard: WritesHeard) -> None:
        self._stream, self._heard = stream, heard

    def __aiter__(self) -> AsyncIterator[Any]:
        events: AsyncIterator[Any] = aiter(self._stream)
        return events

    async def get_final_message(self) -> Any:
        """As the stream's."""
        message = await self._stream.get_final_message()
        self._heard.hear(message)
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def listening(model_class: type) -> type:
    """The SDK's Anthropic model, as a class whose usage tells how long written tokens are kept.

    Args:
        model_class: ``strands.models.anthropic.AnthropicModel``, which needs Anthropic's library.
    """

    class ListeningModel(model_class):  # type: ignore[misc]
        """Each call asks a client of its own that is listened to."""

        async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            """As the SDK's."""
            heard = WritesHeard()
            call = object.__new__(type(self))  # the SDK's method asks its own object for the client
            call.__dict__.update(self.__dict__, client=Overheard(self.client, heard))
            events = super(ListeningModel, call).stream(*args, **kwargs)
            async with contextlib.aclosing(events):
                async for event in events:
                    yield heard.told(event)

    ListeningModel.__name__ = model_class.__name__
    return ListeningModel
