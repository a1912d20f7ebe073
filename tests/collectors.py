"""An OTLP/HTTP collector on loopback for tests: it decodes what arrives, and answers as it is told."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest


class Collector:
    """What arrived at ``url``."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.requests: list[Any] = []
        self.url = ""

    @property
    def resource(self) -> dict[str, Any]:
        """Attributes of the one resource of the one request."""
        return attributes(self._whole().resource)

    @property
    def metrics(self) -> dict[str, Any]:
        """The metrics of the one request, by name."""
        return {metric.name: metric for scope in self._whole().scope_metrics for metric in scope.metrics}

    def _whole(self) -> Any:
        (request,) = self.requests
        (whole,) = request.resource_metrics
        return whole


def attributes(holder: Any) -> dict[str, Any]:
    """Attributes of a resource or a point as Python values."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in holder.attributes}


@contextlib.contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    """A collector while the block runs; every request gets ``status``."""
    found = Collector(status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.paths.append(self.path)
            found.headers.append({name.lower(): value for name, value in self.headers.items()})
            found.requests.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
