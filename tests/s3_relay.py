"""An S3 endpoint in front of a real one, that says when batch files are about to pass.

Owns a loopback relay that forwards every request as it is, signature included, and calls back before a
job's requests are put (``upload``), before its answers are read (``read``) and half way through them
(``half``). Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

HOST = "127.0.0.1"
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "expect", "te", "upgrade"})


class _Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def handle(self) -> None:
        """A client that was killed in the middle is no error of the relay's."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Forward."""
        self._forward()

    def do_PUT(self) -> None:
        """Forward."""
        self._forward()

    def do_HEAD(self) -> None:
        """Forward."""
        self._forward()

    def do_POST(self) -> None:
        """Forward."""
        self._forward()

    def do_DELETE(self) -> None:
        """Forward."""
        self._forward()

    def _forward(self) -> None:
        key = urlsplit(self.path).path
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length) if length else None
        if self.command == "PUT" and key.endswith("input.jsonl"):
            self.server.on("upload")
        answers = self.command == "GET" and key.endswith(".jsonl.out")
        if answers:
            self.server.on("read")
        kept = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
        connection = http.client.HTTPConnection(self.server.target, timeout=60)
        try:
            connection.request(self.command, self.path, sent, kept)
            found = connection.getresponse()
            body = found.read()
        finally:
            connection.close()
        self.send_response(found.status)
        for name, value in found.getheaders():
            if name.lower() not in _HOP_BY_HOP | {"content-length", "date", "server"}:
                self.send_header(name, value)
        self.send_header("Content-Length", found.getheader("Content-Length") or str(len(body)))
        self.end_headers()
        half = len(body) // 2 if answers else 0
        self.wfile.write(body[:half])
        if answers:
            self.wfile.flush()
            self.server.on("half")
        self.wfile.write(body[half:])


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target: str, on: Callable[[str], None]) -> None:
        super().__init__((HOST, 0), _Relay)
        self.target, self.on = target, on


@contextlib.contextmanager
def s3_relay(endpoint: str, on: Callable[[str], None]) -> Iterator[str]:
    """The relay's endpoint.

    Args:
        endpoint: Of the real server, ``http://host:port``.
        on: Called in the relay's thread, before what it says happens.
    """
    server = _Server(urlsplit(endpoint).netloc, on)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
