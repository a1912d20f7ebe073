"""The SDK's OpenAI models, with one HTTP client an event loop and no hidden cuts.

The SDK builds a client for every call (27 ms of CPU, mostly TLS set-up) because a client must not
cross event loops; here each loop gets its own and keeps it. The SDK also ends a stream that was
cut off as if the model had stopped; here that raises. Knows nothing of specs: ``build`` fills the
arguments.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import httpx
import openai
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel

from nightgate.adapters.failures import StreamCutError
from nightgate.adapters.replies import SYSTEM_FINGERPRINT, with_fingerprint

C = TypeVar("C")

_CUT = "the stream ended without a finish reason"
_LAST_LINE_S = 0.2
_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=256)


class _PerLoop(Generic[C]):
    """One object an event loop; those of closed loops are dropped."""

    def __init__(self, build: Callable[[], C]) -> None:
        self._build = build
        self._built: dict[asyncio.AbstractEventLoop, C] = {}

    def get(self) -> C:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        found = self._built.get(loop)
        if found is None:
            for other in [other for other in self._built if other.is_closed()]:
                del self._built[other]
            found = self._built[loop] = self._build()
        return found

    def take(self) -> C | None:
        """Give up the running loop's own, if it has one."""
        return self._built.pop(asyncio.get_running_loop(), None)


class _Ear:
    """What one call hears of its provider's set-up."""

    heard: str | None = None

    def hear(self, answer: Any) -> None:
        """Note the fingerprint of a chunk or of a whole answer; not every chunk has it."""
        self.heard = getattr(answer, SYSTEM_FINGERPRINT, None) or self.heard


class _Overheard:
    """The part of a client by which the SDK's model streams, with its answers listened to.

    Args:
        client: The real one.
        ear: Of the call.
    """

    def __init__(self, client: Any, ear: _Ear) -> None:
        self._client, self._ear = client, ear
        self.chat = self.completions = self

    async def create(self, **request: Any) -> Any:
        """As the client's ``chat.completions.create``."""
        answer = await self._client.chat.completions.create(**request)
        if not request.get("stream"):
            self._ear.hear(answer)
            return answer
        return self._chunks(answer)

    async def _chunks(self, answer: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for chunk in answer:
            self._ear.hear(chunk)
            yield chunk


class SharedOpenAIModel(OpenAIModel):
    """Chat Completions over a shared client.

    Args:
        client_args: For ``openai.AsyncOpenAI``.
        config: As of the SDK's model.
    """

    def __init__(self, client_args: dict[str, Any], **config: Any) -> None:
        super().__init__(client_args=client_args, **config)
        self._ear: _Ear | None = None
        self._clients = _PerLoop(
            lambda: openai.AsyncOpenAI(http_client=_http_client(client_args), **client_args)
        )

    @contextlib.asynccontextmanager
    async def _get_client(self) -> AsyncIterator[Any]:
        yield self._clients.get() if self._ear is None else _Overheard(self._clients.get(), self._ear)

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """As the SDK's, with the provider's system fingerprint on the stop event: the SDK drops it."""
        call = copy.copy(self)  # the SDK's method asks its own object for a client: each call has its ear
        call._ear = _Ear()  # noqa: SLF001 - of the same class
        async with contextlib.aclosing(super(SharedOpenAIModel, call).stream(*args, **kwargs)) as events:
            async for event in events:
                yield with_fingerprint(event, call._ear.heard)  # noqa: SLF001 - of the same class

    def format_chunk(self, event: dict[str, Any], **kwargs: Any) -> Any:
        """Refuse the stop that the SDK makes up: ``end_turn`` is no finish reason of the API."""
        if event["chunk_type"] == "message_stop" and event["data"] == "end_turn":
            raise StreamCutError(_CUT)
        return super().format_chunk(event, **kwargs)

    async def aclose(self) -> None:
        """Close the running loop's client."""
        client = self._clients.take()
        if client is not None:
            await client.close()


class _Body(httpx.AsyncByteStream):
    """A body of which the SDK leaves the last line unread, which would cost its connection.

    Args:
        stream: The body as it comes from the connection.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._parts: AsyncIterator[bytes] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._parts = aiter(self._stream)
        async for part in self._parts:
            yield part

    async def aclose(self) -> None:
        """Read what is left, if it is there already, and close."""
        parts, self._parts = self._parts, None
        try:
            if parts is not None:
                with contextlib.suppress(Exception):  # a connection that cannot be kept is closed below
                    async with asyncio.timeout(_LAST_LINE_S):
                        async for _ in parts:
                            pass
        finally:
            await self._stream.aclose()


class _Borrowed(httpx.AsyncBaseTransport):
    """One call's way over a shared client: closing it ends the call's answers, not the client.

    Args:
        shared: Where requests go.
    """

    def __init__(self, shared: httpx.AsyncClient) -> None:
        self._shared = shared
        self._bodies: list[_Body] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send over the shared client."""
        response = await self._shared.send(request, stream=True)
        body = _Body(response.stream)
        self._bodies.append(body)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        """End what is still open."""
        for body in self._bodies:
            await body.aclose()


class SharedOpenAIResponsesModel(OpenAIResponsesModel):
    """The Responses API over a shared HTTP client.

    Args:
        client_args: For ``openai.AsyncOpenAI``.
        config: As of the SDK's model.
    """

    def __init__(self, client_args: dict[str, Any], **config: Any) -> None:
        super().__init__(client_args=client_args, **config)
        self._http = _PerLoop(lambda: _http_client(client_args))

    def _resolve_client_args(self) -> dict[str, Any]:
        # The SDK closes the client that it makes of this after each call, and with it the transport.
        transport = _Borrowed(self._http.get())
        borrowed = httpx.AsyncClient(
            transport=transport,
            timeout=self.client_args.get("timeout"),
            trust_env=False,
            follow_redirects=True,
        )
        return {**self.client_args, "http_client": borrowed}

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """As the SDK's, but a stop counts only with the usage that every whole response ends with."""
        stop: Any = None
        async with contextlib.aclosing(super().stream(*args, **kwargs)) as events:
            async for event in events:
                if "messageStop" in event:
                    stop = event
                    continue
                if stop is not None and "metadata" in event:
                    yield stop
                    stop = None
                yield event
        if stop is not None:
            raise StreamCutError("the stream ended before the response was complete")

    async def aclose(self) -> None:
        """Close the running loop's HTTP client."""
        client = self._http.take()
        if client is not None:
            await client.aclose()


def _http_client(client_args: dict[str, Any]) -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=client_args.get("timeout"), limits=_LIMITS)
