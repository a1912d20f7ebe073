"""A chat-completions provider on loopback that misbehaves on request.

Owns a script of faults for each model name, one step a request; the wire is ``wires``'. Speaks real HTTP,
so that what is tested is the real client and what it makes of broken streams. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from live.wires import HOST, Request, Step, Wire, served


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A whole answer: text, tool calls, a finish reason and the usage that ends every stream.

    Attributes:
        text: Sent in pieces.
        calls: Tool calls as (name, argument text); the argument text is sent as it is.
        finish: The finish reason; None for what the content implies.
        usage: Prompt and completion tokens; None leaves the usage out.
        cached: Of the prompt tokens, as OpenAI counts them: inside.
        fingerprint: The system fingerprint that every chunk carries; None leaves it out.
        every_s: Seconds before each word, and before a tool call's arguments.
    """

    text: str = "ok"
    calls: Sequence[tuple[str, str]] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = (12, 5)
    cached: int = 0
    fingerprint: str | None = None
    every_s: float = 0.0

    def play(self, wire: Wire) -> None:
        """Stream it."""
        wire.fingerprint = self.fingerprint
        wire.begin()
        self.say(wire)
        wire.choice({}, self.finish or ("tool_calls" if self.calls else "stop"))
        if self.usage is not None:
            prompt, completion = self.usage
            wire.chunk(
                [],
                usage={
                    "prompt_tokens": prompt,
                    "completion_tokens": completion,
                    "total_tokens": prompt + completion,
                    "prompt_tokens_details": {"cached_tokens": self.cached},
                },
            )
        wire.data("[DONE]")
        wire.end()

    def say(self, wire: Wire) -> None:
        """The content without its end."""
        for piece in re.findall(r"\S+\s*", self.text) if self.every_s else self.text.partition(" "):
            if piece:
                wire.stay(self.every_s)
                wire.choice({"content": piece})
        for index, (name, arguments) in enumerate(self.calls):
            call = {"index": index, "id": f"call-{wire.number}-{index}", "type": "function"}
            wire.choice({"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]})
            wire.stay(self.every_s)
            wire.choice({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An HTTP error, with the body that OpenAI sends."""

    status: int
    code: str | None = None
    message: str = "refused by the stand-in"
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "standin"
    """What the body calls the error's type."""

    def play(self, wire: Wire) -> None:
        """Send it."""
        body = {"error": {"message": self.message, "type": self.kind, "param": None, "code": self.code}}
        wire.whole(self.status, json.dumps(body), {"Content-Type": "application/json", **self.headers})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A stream that ends in the middle of an answer.

    Attributes:
        abrupt: The connection breaks; otherwise the body ends in good order, only too early.
    """

    text: str = "I was about to"
    abrupt: bool = False

    def play(self, wire: Wire) -> None:
        """Begin, and stop."""
        wire.begin()
        Say(text=self.text).say(wire)
        if self.abrupt:
            wire.hang_up()
        else:
            wire.end()


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """A stream with one event whose data is ``data``, after a good first piece."""

    data: str = '{"choices": [{"delta":'

    def play(self, wire: Wire) -> None:
        """Send it."""
        wire.begin()
        wire.choice({"content": "so"})
        wire.data(self.data)
        wire.end()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """No stream at all but a page, as a proxy sends it, with a 200."""

    html: str = "<html><body>Please log in</body></html>"

    def play(self, wire: Wire) -> None:
        """Send it."""
        wire.whole(200, self.html, {"Content-Type": "text/html"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Another step, once ``until`` is set.

    Attributes:
        headers_first: The response has begun already while it waits for its first token; only for a
            ``then`` that streams.
    """

    until: threading.Event
    then: Step = field(default_factory=Say)
    headers_first: bool = True

    def play(self, wire: Wire) -> None:
        """Wait, then answer."""
        if self.headers_first:
            wire.begin()
        wire.wait(self.until)
        self.then.play(wire)


class Standin:
    """The server's script and what it has seen; made by ``openai_standin``.

    Attributes:
        requests: All of them, in order of arrival.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[Request] = []
        self._scripts: dict[str, list[Step]] = {}
        self._lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """What a client calls its base URL."""
        return f"http://{HOST}:{self.port}/v1"

    def plays(self, model: str, *steps: Step, options: str = "") -> str:
        """Give a model its steps, one a request, the last one for ever; returns the model's spec."""
        self._scripts[model] = list(steps)
        return f"openai:{model}?base_url={self.url}{options}"

    def asked(self, model: str) -> int:
        """How many requests a model got."""
        return sum(1 for request in self.requests if request.model == model)

    def take(self, request: Request) -> tuple[int, Step]:
        """Number and step of a request."""
        with self._lock:
            self.requests.append(request)
            steps = self._scripts.get(request.model)
            if not steps:
                return len(self.requests), Refuse(status=404, code="model_not_found", message=request.model)
            return len(self.requests), steps.pop(0) if len(steps) > 1 else steps[0]


@contextlib.contextmanager
def openai_standin() -> Iterator[Standin]:
    """A stand-in on a port of its own, ended with the block."""
    with served(Standin) as standin:
        yield standin
