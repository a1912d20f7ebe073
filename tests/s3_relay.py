"""An S3 endpoint in front of a real one: it says when files are about to pass, and has faults when asked to.

Owns a loopback relay that forwards every request as it is, signature included. It calls back before a batch
job's requests are put (``upload``), before its answers are read (``read``), half way through them (``half``),
and before a staged group is put (``staged``). ``Faults`` are what else it does to requests. Imports nothing
of nightgate.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

HOST = "127.0.0.1"
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "expect", "te", "upgrade"})
_CONDITIONS = frozenset({"if-none-match", "if-match"})


@dataclass
class Faults:
    """What the relay does to requests from now on; a test changes it while clients are at work.

    Attributes:
        away: It hangs up on every request.
        refuse: It answers every request with 403 and this code.
        until: After so many requests that were hung up on or refused, all is well again; None: never.
        unconditional: It does every put, whatever its condition, as older servers do.
        ahead_s: So many seconds its clock is ahead.
        hit: Requests that were hung up on or refused.
        client: For ``unconditional``: a client of the real server.
    """

    away: bool = False
    refuse: str | None = None
    until: int | None = None
    unconditional: bool = False
    ahead_s: float = 0.0
    hit: int = 0
    client: Any = None

    def strikes(self) -> bool:
        """Whether the next request is hung up on or refused."""
        if not self.away and self.refuse is None:
            return False
        if self.until is not None and self.hit >= self.until:
            return False
        self.hit += 1
        return True


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
        key, faults = urlsplit(self.path).path, self.server.faults
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length) if length else None
        if self.command == "PUT" and key.endswith("input.jsonl"):
            self.server.on("upload")
        if self.command == "PUT" and "/staging/" in key:
            self.server.on("staged")
        if faults.strikes():
            self._strike(faults)
            return
        if self.command == "PUT" and faults.unconditional and self._conditional():
            bucket, _, name = key.lstrip("/").partition("/")
            put = faults.client.put_object(Bucket=bucket, Key=name, Body=sent or b"")
            self._answer(200, {"ETag": put["ETag"]}, b"")
            return
        self._ask(key, sent)

    def _conditional(self) -> bool:
        return any(name.lower() in _CONDITIONS for name in self.headers)

    def _strike(self, faults: Faults) -> None:
        if faults.refuse is None:
            self.close_connection = True
            return
        text = f"<Error><Code>{faults.refuse}</Code><Message>as asked</Message></Error>"
        self._answer(403, {"Content-Type": "application/xml"}, text.encode())

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Date", self._time(self.date_time_string()))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _time(self, said: str) -> str:
        ahead = timedelta(seconds=self.server.faults.ahead_s)
        return format_datetime(parsedate_to_datetime(said) + ahead, usegmt=True)

    def _ask(self, key: str, sent: bytes | None) -> None:
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
        self.send_response_only(found.status)
        self.send_header("Date", self._time(found.getheader("Date") or self.date_time_string()))
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

    def __init__(self, target: str, on: Callable[[str], None], faults: Faults) -> None:
        super().__init__((HOST, 0), _Relay)
        self.target, self.on, self.faults = target, on, faults


@contextlib.contextmanager
def s3_relay(
    endpoint: str, on: Callable[[str], None] = lambda _: None, faults: Faults | None = None
) -> Iterator[str]:
    """The relay's endpoint.

    Args:
        endpoint: Of the real server, ``http://host:port``.
        on: Called in the relay's thread, before what it says happens.
        faults: What it does to requests; none, unless the caller sets some.
    """
    server = _Server(urlsplit(endpoint).netloc, on, faults or Faults())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
