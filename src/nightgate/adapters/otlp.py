"""A run's metrics over OTLP/HTTP, to wherever the usual ``OTEL_EXPORTER_OTLP_*`` variables say.

Owns the wire and its patience. The points are made of what the run's ledger counted, so that a run counts
once, whichever workers played it, and no meter provider of the process is touched. Without the extra
``otel`` there is nothing to send with.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nightgate.errors import InputError
from nightgate.reports.metrics import Figure, Kind, Point
from nightgate.summaries import BOUNDS_S, Waits
from nightgate.version import VERSION

PATIENCE_S = 4.0
"""How long a collector is tried; a shorter ``OTEL_EXPORTER_OTLP_TIMEOUT`` holds."""
_GRACE_S = 1.0
"""For what no timeout of a request covers, such as a name that nobody resolves."""
_PROTOCOL = "http/protobuf"
_LOGGER = "opentelemetry.exporter.otlp.proto.http.metric_exporter"


def check_exporter() -> None:
    """Look at what sending needs, before anything is spent; nothing is sent.

    Raises:
        InputError: If the library is missing, or a variable asks for what is not spoken here.
    """
    name, value = _variable("PROTOCOL", _PROTOCOL)
    if value != _PROTOCOL:
        own = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
        msg = f"{name}={value!r}: metrics go over {_PROTOCOL} alone; set {own}={_PROTOCOL}"
        raise InputError(msg)
    name, value = _variable("ENDPOINT", "http://localhost:4318")
    if not value.startswith(("http://", "https://")):
        msg = f"{name}: begin it with http:// or https://"
        raise InputError(msg)
    try:
        import opentelemetry.exporter.otlp.proto.http.metric_exporter  # noqa: F401
    except ImportError as error:
        msg = (
            f"NIGHTGATE_METRICS=otlp: the exporter is not installed ({error}); "
            "install it with: pip install 'nightgate[otel]'"
        )
        raise InputError(msg) from error


def send(figures: Sequence[Figure], *, began: datetime, now: datetime) -> str | None:
    """Send the metrics of a run that ended. Never raises, and never takes longer than a few seconds.

    Args:
        figures: Its metrics.
        began: When the run started, aware: counts are of the time since.
        now: When it ended, aware.

    Returns:
        Why they did not arrive, as far as anybody knows; None when they did.
    """
    reasons: list[str] = []

    def whole() -> None:
        try:
            reasons.extend(_sent(figures, began, now))
        except Exception as error:  # a wrong certificate, an exporter that changed: the run has its verdict
            reasons.append(f"{type(error).__name__}: {error}")

    # Not the loop's pool: whoever hangs in a name server must not be waited for at the end.
    thread = threading.Thread(target=whole, name="otlp-metrics", daemon=True)
    thread.start()
    thread.join(PATIENCE_S + _GRACE_S)
    if thread.is_alive():
        return f"no answer within {PATIENCE_S + _GRACE_S:g} s"
    return reasons[0] if reasons else None


def endpoint() -> str:
    """Where metrics go, for people; without what stands in it before an ``@``."""
    name, value = _variable("ENDPOINT", "http://localhost:4318")
    scheme, _, rest = value.partition("://")
    where = f"{scheme}://{rest.rpartition('@')[2]}"
    return where if "METRICS" in name else f"{where.removesuffix('/')}/v1/metrics"


def _variable(what: str, default: str) -> tuple[str, str]:
    """The variable that holds for metrics, and its value: their own, the general one, or the default."""
    names = (f"OTEL_EXPORTER_OTLP_METRICS_{what}", f"OTEL_EXPORTER_OTLP_{what}")
    name = next((name for name in names if os.environ.get(name)), names[1])
    return name, os.environ.get(name) or default


def _sent(figures: Sequence[Figure], began: datetime, now: datetime) -> list[str]:
    """Send, and give why it failed: nothing where it did not."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricExportResult

    heard = _Heard()
    logger = logging.getLogger(_LOGGER)
    logger.addFilter(heard)
    try:
        exporter = OTLPMetricExporter(timeout=_patience_s())
        result = exporter.export(_data(figures, _nanos(began), _nanos(now)))
        exporter.shutdown()
    finally:
        logger.removeFilter(heard)
    if result is MetricExportResult.SUCCESS:
        return []
    return heard.reasons or ["refused"]


class _Heard(logging.Filter):
    """What the exporter would have logged in this thread: it is told once, by whoever asked for it."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True  # another exporter of this process
        raised = [arg for arg in record.args or () if isinstance(arg, BaseException)]
        self.reasons.append(_root(raised[0]) if raised else record.getMessage())
        return False


def _root(error: BaseException) -> str:
    """The innermost cause: HTTP clients wrap "connection refused" several times."""
    inner: Any = error
    while isinstance(inner, BaseException):
        error = inner
        wrapped = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
        inner = getattr(error, "reason", None) or wrapped or error.__cause__
    return f"{type(error).__name__}: {error}"


def _patience_s() -> float:
    try:
        return min(PATIENCE_S, float(_variable("TIMEOUT", str(PATIENCE_S))[1]))
    except ValueError:
        return PATIENCE_S


def _nanos(when: datetime) -> int:
    return int(when.timestamp() * 1_000_000) * 1000


def _data(figures: Sequence[Figure], began: int, now: int) -> Any:
    """The request's content, as the SDK's own readers would have collected it."""
    from opentelemetry.sdk.metrics.export import Metric, MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    ours = Resource({"service.name": "nightgate", "service.version": VERSION})
    resource = ours.merge(OTELResourceDetector().detect())
    metrics = [
        Metric(
            name=figure.name,
            description=figure.text,
            unit=figure.unit,
            data=_points(figure, min(began, now), now),
        )
        for figure in figures
    ]
    scope = ScopeMetrics(scope=InstrumentationScope("nightgate", VERSION), metrics=metrics, schema_url="")
    return MetricsData([ResourceMetrics(resource=resource, scope_metrics=[scope], schema_url="")])


def _points(figure: Figure, began: int, now: int) -> Any:
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Histogram,
        NumberDataPoint,
        Sum,
    )

    # A run is all there is to its series: since its start, or since the last export, is the same count.
    preferred = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "").strip().lower()
    delta = preferred in ("delta", "lowmemory")
    temporality = AggregationTemporality.DELTA if delta else AggregationTemporality.CUMULATIVE
    if figure.kind is Kind.HISTOGRAM:
        waits = [_histogram_point(point, began, now) for point in figure.points]
        return Histogram(data_points=waits, aggregation_temporality=temporality)
    points = [
        NumberDataPoint(
            attributes=dict(point.attributes),
            start_time_unix_nano=began,
            time_unix_nano=now,
            value=_number(point),
        )
        for point in figure.points
    ]
    if figure.kind is Kind.GAUGE:
        return Gauge(data_points=points)
    return Sum(data_points=points, aggregation_temporality=temporality, is_monotonic=True)


def _number(point: Point) -> float:
    assert not isinstance(point.value, Waits)
    return point.value


def _histogram_point(point: Point, began: int, now: int) -> Any:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    assert isinstance(point.value, Waits)
    return HistogramDataPoint(
        attributes=dict(point.attributes),
        start_time_unix_nano=began,
        time_unix_nano=now,
        count=len(point.value.seconds),
        sum=point.value.total_s,
        bucket_counts=point.value.buckets(),
        explicit_bounds=BOUNDS_S,
        min=min(point.value.seconds),
        max=max(point.value.seconds),
    )
