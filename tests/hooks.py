"""Receivers on loopback: a Slack-like one that records what it is sent, and one that answers with raw bytes.

Owns starting and ending it. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET_PATH = "/services/T0SECRET/B0SECRET/zyxwvutsrqponmlk1234"


@dataclass
class Hook:
    """A running receiver.

    Attributes:
        url: Its address, with a path that is a secret.
        answers: Status of each answer by number from 0; None hangs until the receiver is closed.
        requests: Every request: method, headers, body as text.
    """

    url: str
    answers: Callable[[int], int | None]
    answer_text: str = "ok"
    requests: list[dict[str, Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    taken: list[dict[str, Any]] = field(default_factory=list)
    """Documents of the requests that were answered with 200."""


@contextlib.contextmanager
def hook(answers: Callable[[int], int | None] = lambda _: 200, *, answer_text: str = "ok") -> Iterator[Hook]:
    """A receiver for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            number = len(found.requests)
            found.requests.append({"method": "POST", "headers": dict(self.headers), "body": body})
            status = found.answers(number)
            if status is None:
                found.closing.wait()
                return
            if status == 200:
                found.taken.append(json.loads(body))
            data = found.answer_text.encode()
            self.send_response(status)
            if status in (301, 302, 303, 307):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            found.requests.append({"method": "GET", "headers": dict(self.headers), "body": ""})
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Hook(f"http://127.0.0.1:{server.server_address[1]}{SECRET_PATH}", answers, answer_text)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield found
    finally:
        found.closing.set()
        server.shutdown()
        server.server_close()


@dataclass
class RawHook:
    """A receiver that speaks no HTTP of its own.

    Attributes:
        url: Its address.
        requests: How many whole requests it has read.
    """

    url: str
    requests: int = 0


@contextlib.contextmanager
def raw_hook(*answers: bytes, hangs: bool = False) -> Iterator[RawHook]:
    """Reads a request, sends an answer's bytes and closes; the last answer stands for all later requests.

    Args:
        answers: One a request.
        hangs: Whether connections stay open until the block ends, instead of being closed.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    found = RawHook(f"http://127.0.0.1:{listening.getsockname()[1]}{SECRET_PATH}")
    closing = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as incoming:
            head = b"".join(iter(incoming.readline, b"\r\n"))
            length = re.search(rb"(?i)content-length: (\d+)", head)
            incoming.read(int(length[1]) if length else 0)
            found.requests += 1
            connection.sendall(answers[min(found.requests, len(answers)) - 1])
            if hangs:
                closing.wait()

    def serve() -> None:
        with contextlib.suppress(OSError):  # closed: the block is over
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield found
    finally:
        closing.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
