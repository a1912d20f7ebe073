"""The wire of OpenAI's streaming API (server-sent events over HTTP/1.1), and a server for it on loopback.

Owns how an answer is written and how a server starts and ends. What is answered is its script's business.
Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

S = TypeVar("S", bound="Script")

HOST = "127.0.0.1"
LONGEST_WAIT_S = 30.0
"""Of a step that waits for an event: a test that never sets it must end all the same."""

LOOK_S = 0.5
"""How often a step that waits for time to pass looks whether the server ends."""


class Step(Protocol):
    """What one request gets."""

    def play(self, wire: Wire) -> None:
        """Answer the request."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    model: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    path: str


class Script(Protocol):
    """What decides on the answers of a server.

    Attributes:
        closing: Set when the server ends: whoever waits in a step ends too.
    """

    closing: threading.Event

    def take(self, request: Request) -> tuple[int, Step]:
        """Number and step of a request; from many threads."""


class Wire:
    """One response being written."""

    def __init__(
        self, handler: http.server.BaseHTTPRequestHandler, script: Script, model: str, number: int
    ) -> None:
        self._handler, self._script, self._model, self.number = handler, script, model, number
        self._begun = False
        self.fingerprint: str | None = None
        self.headers: Mapping[str, str] = {}
        """Sent with every status."""
        self.status: int | None = None
        """Of the response, once it has begun."""

    def begin(self) -> None:
        """Status and headers of a stream."""
        if self._begun:
            return
        self._begun, self.status = True, 200
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self._handler.send_header("Transfer-Encoding", "chunked")
        for name, value in self.headers.items():
            self._handler.send_header(name, value)
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
        data, self.status = text.encode(), status
        self._handler.send_response(status)
        for name, value in {**self.headers, **headers, "Content-Length": str(len(data))}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def hang_up(self) -> None:
        """Break the connection in the middle of the body."""
        self._handler.close_connection = True

    def stay(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ConnectionAbortedError: If the client leaves meanwhile, or the server ends.
        """
        self._handler.wfile.flush()
        line = select.poll()
        line.register(self._handler.connection, select.POLLRDHUP)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if line.poll(1000 * min(left, LOOK_S)) or self._script.closing.is_set():
                raise ConnectionAbortedError

    def wait(self, until: threading.Event) -> None:
        """Wait for a test's event, or for the end of the server."""
        self._handler.wfile.flush()
        for _ in range(int(LONGEST_WAIT_S / 0.05)):
            if until.wait(0.05) or self._script.closing.is_set():
                return

    def _write(self, data: bytes) -> None:
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024  # a fleet connects all at once

    def handle_error(self, *_: Any) -> None:
        """Quiet: a client that goes away breaks its connection whenever it likes."""


@contextlib.contextmanager
def served(make: Callable[[int], S]) -> Iterator[S]:
    """A script behind a server of its own, ended with the block.

    Args:
        make: Gets the server's port.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # what needs no time goes out at once: a packet an event would be dear
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = str(body.get("model"))
            number, step = script.take(Request(model, body, dict(self.headers), self.path))
            try:
                step.play(Wire(self, script, model, number))
            except OSError:  # the client went away first, as timeouts do
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Quiet: the requests are kept."""

    server = _Server((HOST, 0), Handler)
    script = make(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        script.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
