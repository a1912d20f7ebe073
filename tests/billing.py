"""A provider on loopback that keeps its own bill: what it would charge for every answer that it gave.

Owns the wire of OpenAI's chat completions as far as a bill needs it, usage that differs by question and a
little by call, and faults to order by model name. Speaks real HTTP. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from batch_standin import Answer, JsonObject, Raw, completion, serving

INPUT, CACHED, OUTPUT = 2000, 500, 8000
"""Nano-dollars a token, as in ``PRICES``."""
PRICES = """\
version: house
prices:
  - models: ["openai:house-*"]
    input: 2
    output: 8
    cache_read: 0.5
    batch: {factor: 0.5, as_of: 2026-11-29, source: contract}
    as_of: 2026-11-29
    source: contract
"""
SERVER_ERROR = 500


@dataclass
class Biller:
    """The provider.

    Attributes:
        on: Asked with each request, by model: a status refuses it, a ``Raw`` is said as it is, None is
            the usual answer. May wait.
    """

    on: Callable[[str, int], int | Raw | None] = lambda _model, _number: None
    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by model, refused ones too."""
    billed: dict[str, list[int]] = field(default_factory=dict)
    """Nano-dollars of each answer, by model."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def spec(self, name: str) -> str:
        """A model's spec."""
        return f"openai:house-{name}?base_url={self.url}/v1"

    def usd(self, *names: str) -> float:
        """The bill of some models, or of all."""
        wanted = [f"house-{name}" for name in names] or list(self.billed)
        return sum(sum(self.billed.get(name, ())) for name in wanted) / 1e9

    def route(self, method: str, path: str, query: dict[str, str], raw: bytes, headers: Any) -> Answer:
        """One request."""
        body = json.loads(raw)
        model = body["model"]
        with self.lock:
            self.asked[model] += 1
            number = self.asked[model]
        ordered = self.on(model, number)
        if isinstance(ordered, int):
            error = {"error": {"message": "refused", "type": "standin", "code": None}}
            return ordered, "application/json", json.dumps(error).encode()
        # A judge gets its verdict by what it was asked; an agent with tools would call one for ever.
        usual = Raw("Gladly. [KB-1]") if "agent" in model else None
        whole = completion(body, ordered or usual)
        whole["usage"] = self._bill(body, number)
        return 200, "text/event-stream", _streamed(whole)

    def _bill(self, body: JsonObject, number: int) -> JsonObject:
        """Tokens of an answer, by what was asked and a little by chance; put on the bill."""
        first = _share(json.dumps(body["messages"][:2], sort_keys=True))
        chance = 0.95 + 0.1 * _share(f"{body['model']} {number}")
        prompt, answer = int((400 + 4000 * first) * chance), int((20 + 300 * first) * chance)
        cached = prompt // 4
        with self.lock:
            nanousd = (prompt - cached) * INPUT + cached * CACHED + answer * OUTPUT
            self.billed.setdefault(body["model"], []).append(nanousd)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


def _share(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def _streamed(whole: JsonObject) -> bytes:
    choice = whole["choices"][0]
    message = choice["message"]
    delta: JsonObject = {"role": "assistant", "content": message.get("content")}
    if message.get("tool_calls"):
        delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(message["tool_calls"])]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**head, "choices": [], "usage": whole["usage"]},
    ]
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n").encode()


@contextlib.contextmanager
def biller() -> Iterator[Biller]:
    """The provider, for the time of the block."""
    provider = Biller()
    with serving(provider.route) as url:
        provider.url = url
        yield provider
