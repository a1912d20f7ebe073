"""A Slack-like receiver on loopback: records what it is sent, and answers as it is told.

Owns starting and ending it. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import json
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
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        found.closing.set()
        server.shutdown()
        server.server_close()
