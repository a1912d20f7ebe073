"""A chat-completions provider on loopback that misbehaves on request.

Owns the wire of OpenAI's streaming API (server-sent events over HTTP/1.1) and a script of faults for
each model name, one step a request. Speaks real HTTP, so that what is tested is the real client and
what it makes of broken streams. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

HOST = "127.0.0.1"
LONGEST_WAIT_S = 30.0
"""Of a step that waits for an event: a test that never sets it must end all the same."""


class Step(Protocol):
    """What one request gets."""

    def play(self, wire: Wire) -> None:
        """Answer the request."""


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
    """

    text: str = "ok"
    calls: Sequence[tuple[str, str]] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = (12, 5)
    cached: int = 0
    fingerprint: str | None = None

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
        for piece in self.text.partition(" "):
            if piece:
                wire.choice({"content": piece})
        for index, (name, arguments) in enumerate(self.calls):
            call = {"index": index, "id": f"call-{wire.number}-{index}", "type": "function"}
            wire.choice({"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]})
            wire.choice({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An HTTP error, with the body that OpenAI sends."""

    status: int
    code: str | None = None
    message: str = "refused by the stand-in"
    headers: Mapping[str, str] = field(default_factory=dict)

    def play(self, wire: Wire) -> None:
        """Send it."""
        body = {"error": {"message": self.message, "type": "standin", "param": None, "code": self.code}}
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


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    model: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    path: str


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


class Wire:
    """One response being written."""

    def __init__(
        self, handler: http.server.BaseHTTPRequestHandler, standin: Standin, model: str, number: int
    ) -> None:
        self._handler, self._standin, self._model, self.number = handler, standin, model, number
        self._begun = False
        self.fingerprint: str | None = None

    def begin(self) -> None:
        """Status and headers of a stream."""
        if self._begun:
            return
        self._begun = True
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def choice(self, delta: Mapping[str, Any], finish: str | None = None) -> None:
        """One chunk of the only choice."""
        self.chunk([{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}])

    def chunk(self, choices: Sequence[Mapping[str, Any]], **more: Any) -> None:
        """One chunk."""
        head = {"id": f"chatcmpl-{self.number}", "object": "chat.completion.chunk", "created": 1}
        head |= {} if self.fingerprint is None else {"system_fingerprint": self.fingerprint}
        self.data(json.dumps({**head, "model": self._model, "choices": choices, **more}))

    def data(self, text: str) -> None:
        """One server-sent event."""
        self._write(f"data: {text}\n\n".encode())

    def end(self) -> None:
        """The end of the body, in good order."""
        self._write(b"")

    def whole(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        """A whole response."""
        data = text.encode()
        self._handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def hang_up(self) -> None:
        """Break the connection in the middle of the body."""
        self._handler.close_connection = True

    def wait(self, until: threading.Event) -> None:
        """Wait for a test's event, or for the end of the server."""
        for _ in range(int(LONGEST_WAIT_S / 0.05)):
            if until.wait(0.05) or self._standin.closing.is_set():
                return

    def _write(self, data: bytes) -> None:
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


@contextlib.contextmanager
def openai_standin() -> Iterator[Standin]:
    """A stand-in on a port of its own, ended with the block."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = str(body.get("model"))
            number, step = standin.take(Request(model, body, dict(self.headers), self.path))
            try:
                step.play(Wire(self, standin, model, number))
            except OSError:  # the client went away first, as timeouts do
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Quiet: the requests are kept."""

    server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    standin = Standin(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield standin
    finally:
        standin.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
