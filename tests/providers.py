"""A provider of models on loopback with a provider's limits and bad days, and its own count of all of it.

Owns the limits (a rate for all clients, a daily quota) and the record of what was asked and how it was
answered; faults are ``providerfaults``'. What an answer says follows from the request alone, so two runs hear
the same. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from live import wires
from live.openai_standin import Say
from live.wires import HOST, Step, Wire
from providerfaults import After, Fault, Hang, Request, Slow, Storm, Struck, exhaust, throttle

__all__ = ["Fault", "Hang", "Provider", "Request", "Slow", "Storm", "answer_of", "provider"]

TEXTS = ("Gladly. Here it is. [KB-1]", "It is like this. [KB-1]", "As far as we know: yes. [KB-1]")
"""What it says, one of them a request."""


class Provider:
    """What a provider allows, and what it has seen; made by ``provider``.

    Attributes:
        base_url: For ``openai:ID?base_url=...``: a server on this machine, free and retried at once.
        far_url: The same with ``env`` set, as a server elsewhere, with a provider's price and patience.
        requests: All of them, in order of arrival.
        peak: The most that were in flight at once.
        closing: Set at the end.
    """

    far_url = "http://provider.invalid/v1"

    def __init__(
        self,
        port: int,
        *,
        latency_s: float,
        bucket: _Bucket | None,
        retry_after_s: float | None,
        daily: int | None,
        faults: Sequence[Fault],
        answer: Callable[[Mapping[str, Any]], Say],
    ) -> None:
        self.base_url = f"http://{HOST}:{port}/v1"
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self.peak = 0
        self._port, self._latency_s, self._answer = port, latency_s, answer
        self._bucket, self._retry_after_s, self._daily = bucket, retry_after_s, daily
        self._faults = [Struck(fault) for fault in faults]
        self._in_flight = self._admitted = 0
        self._lock = threading.Lock()

    @property
    def env(self) -> dict[str, str]:
        """For processes that ask it: a key, and the way to ``far_url``."""
        here = f"{HOST},localhost"
        proxy = f"http://{HOST}:{self._port}"
        return {
            "OPENAI_API_KEY": "dummy",
            "HTTP_PROXY": proxy,
            "http_proxy": proxy,
            "NO_PROXY": here,
            "no_proxy": here,
        }

    def count(self, status: int | None) -> int:
        """How many requests were answered so; None: not at all."""
        return sum(request.status == status for request in list(self.requests))

    def next_day(self, daily: int | None = None) -> None:
        """Begin to count for the quota anew.

        Args:
            daily: The quota from here on; None: there is none.
        """
        with self._lock:
            self._admitted, self._daily = 0, daily

    def take(self, asked: wires.Request) -> tuple[int, Step]:
        """Number and step of a request."""
        prompt, answer = _last_prompt(asked.body), self._answer(asked.body)
        with self._lock:
            request = Request(
                number=len(self.requests) + 1,
                at=time.monotonic(),
                model=asked.model,
                headers=asked.headers,
                prompt=prompt,
            )
            self.requests.append(request)
            self._in_flight += 1
            self.peak = max(self.peak, self._in_flight)
            step = self._step(request, replace(answer, fingerprint=request.id))
            return request.number, _Kept(self, request, step)

    def ended(self, request: Request, status: int | None, *, delivered: bool) -> None:
        """Nothing more comes of a request."""
        with self._lock:
            self._in_flight -= 1
            request.status, request.delivered = status, delivered
            request.ended_at = time.monotonic()

    def _step(self, request: Request, answer: Say) -> Step:
        """As limits and faults have it; under the lock."""
        fault = next((fault for fault in self._faults if fault.strikes(request)), None)
        if fault is not None and fault.kind.refuses:
            return fault.kind.step(request, answer)
        if self._daily is not None and self._admitted >= self._daily:
            return exhaust(request)
        if self._bucket is not None and not self._bucket.take(request.at):
            return throttle(request, self._retry_after_s)
        self._admitted += 1
        return After(self._latency_s, answer if fault is None else fault.kind.step(request, answer))


@contextlib.contextmanager
def provider(
    *,
    latency_s: float = 0.2,
    per_second: float | None = None,
    burst: float | None = None,
    retry_after_s: float | None = None,
    daily: int | None = None,
    faults: Sequence[Fault] = (),
    answer: Callable[[Mapping[str, Any]], Say] | None = None,
) -> Iterator[Provider]:
    """A provider on a port of its own, ended with the block.

    Args:
        latency_s: Of each answer, until its first word.
        per_second: Requests answered in a second, of all clients together; more are refused with 429.
        burst: So many at once after a pause; None: a second's worth.
        retry_after_s: What such a refusal asks to wait; None: it does not say.
        daily: Requests answered in all, until ``next_day``; more are refused as OpenAI refuses them.
        faults: The first that strikes a request decides on it.
        answer: What a request's body is answered with; None: ``answer_of``.
    """

    def make(port: int) -> Provider:
        return Provider(
            port,
            latency_s=latency_s,
            bucket=None if per_second is None else _Bucket(per_second, burst or max(1.0, per_second)),
            retry_after_s=retry_after_s,
            daily=daily,
            faults=faults,
            answer=answer or answer_of,
        )

    with wires.served(make) as served:
        yield served


def answer_of(body: Mapping[str, Any]) -> Say:
    """One of ``TEXTS``, after one call of the first tool where there is one and it was not called yet."""
    prompt = _last_prompt(body)
    dice = hashlib.sha256(prompt.encode()).digest()[0]
    tokens = len(json.dumps(body["messages"])) // 4
    tools = body.get("tools") or ()
    if tools and body["messages"][-1]["role"] == "user":
        function = tools[0]["function"]
        arguments = dict.fromkeys(function.get("parameters", {}).get("required", ()), prompt)
        return Say(text="", calls=[(function["name"], json.dumps(arguments))], usage=(tokens, 10))
    return Say(text=TEXTS[dice % len(TEXTS)], usage=(tokens, 20))


def _last_prompt(body: Mapping[str, Any]) -> str:
    """Text of the last message of a user, which comes whole or in parts."""
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            content = message["content"]
            return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    return ""


class _Bucket:
    """Tokens for all clients: ``rate`` more each second, ``burst`` at the most."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst, self._tokens, self._at = rate, burst, burst, 0.0

    def take(self, now: float) -> bool:
        """Whether there is one."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


@dataclass(frozen=True, slots=True)
class _Kept:
    """A step, with the record of what became of it."""

    provider: Provider
    request: Request
    step: Step

    def play(self, wire: Wire) -> None:
        wire.headers = {"x-request-id": self.request.id}
        delivered = False
        try:
            self.step.play(wire)
            delivered = True
        finally:
            self.provider.ended(self.request, wire.status, delivered=delivered)
