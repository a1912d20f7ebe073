"""Metrics over the wire, as a collector decodes them; and what happens where there is none."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collectors import attributes, collecting
from nightgate.adapters import otlp
from nightgate.adapters.otlp import check_exporter, endpoint, send
from nightgate.calls import Call, Outcome, Role
from nightgate.errors import InputError
from nightgate.reports.metrics import figures
from nightgate.summaries import Ledger
from rundocs import a_row, a_summary

NOW = datetime(2026, 11, 29, 22, 31, tzinfo=UTC)
BEGAN = NOW - timedelta(seconds=90)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENDPOINT", "PROTOCOL", "TIMEOUT", "HEADERS", "METRICS_TEMPORALITY_PREFERENCE"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_METRICS_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def a_ledger() -> Ledger:
    """Two calls of the agent, one of them throttled and made again, and one of a judge of unknown cost."""
    ledger = Ledger()
    rows: list[dict[str, Any]] = [
        {"outcome": Outcome.THROTTLED, "cost_nanousd": 0, "wait_ms": 0.0},
        {"attempt": 2, "cost_nanousd": 2_500_000, "wait_ms": 1500.0},
        {"role": Role.JUDGE, "model": "scripted:judge", "cost_nanousd": None, "wait_ms": 40.0},
    ]
    for number, row in enumerate(rows):
        whose: dict[str, Any] = {
            "run_id": "r",
            "suite": "support",
            "case_id": "a",
            "trial": 0,
            "evaluator": None,
        }
        what = {"role": Role.AGENT, "model": "scripted:baseline", "attempt": 1, "outcome": Outcome.OK}
        ledger.add(Call(call_id=f"c{number}", ended_at=NOW, **whose, **what | row))
    return ledger


def sent(**more: Any) -> str | None:
    """Send a run's metrics to where the environment says."""
    summary = a_summary(a_row(), trigger="schedule", **more)
    return send(figures(summary, a_ledger()), began=BEGAN, now=NOW)


def test_counts_arrive_by_role_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A throttled model is found without a look into the rows."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)

        assert sent() is None

    agent = {"suite": "support", "trigger": "schedule", "role": "agent", "model": "scripted:baseline"}
    judge = {**agent, "role": "judge", "model": "scripted:judge"}
    found = {
        name: [(attributes(point), point.as_int or point.as_double) for point in metric.sum.data_points]
        for name, metric in collector.metrics.items()
    }
    assert collector.paths == ["/v1/metrics"]
    assert found["nightgate.calls"] == [(agent, 2), (judge, 1)]
    assert found["nightgate.calls.throttled"] == [(agent, 1), (judge, 0)]
    assert found["nightgate.calls.retries"] == [(agent, 1), (judge, 0)]
    assert found["nightgate.calls.unpriced"] == [(agent, 0), (judge, 1)]
    assert found["nightgate.cost"] == [(agent, 0.0025)]


def test_waits_arrive_as_a_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean would hide the one call that waited for all others."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.url}/own/path")

        assert sent() is None

    agent, judge = collector.metrics["nightgate.call.wait"].histogram.data_points
    bounds = list(agent.explicit_bounds)
    held = [bounds[place] for place, count in enumerate(agent.bucket_counts) if count]
    assert (agent.count, agent.sum, agent.min, agent.max) == (2, 1.5, 0.0, 1.5)
    assert held == [0.01, 2.0]
    assert (judge.count, judge.sum) == (1, 0.04)
    assert collector.paths == ["/own/path"]


def test_a_runs_end_arrives_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are of the time since the run began, not since the last look at it."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{collector.url}/")

        assert sent(code=1, verdict="fail") is None

    (run,) = collector.metrics["nightgate.runs"].sum.data_points
    (code,) = collector.metrics["nightgate.run.exit_code"].gauge.data_points
    (wall,) = collector.metrics["nightgate.run.wall"].gauge.data_points
    assert (run.start_time_unix_nano, run.time_unix_nano) == tuple(
        int(when.timestamp()) * 10**9 for when in (BEGAN, NOW)
    )
    assert attributes(run) == {
        "suite": "support", "trigger": "schedule", "complete": True, "verdict": "fail", "exit_code": 1,
    }  # fmt: skip
    assert (code.as_int, wall.as_double) == (1, 3.1)


def test_no_attribute_names_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run would be a series of its own, for ever."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)

        sent()

    assert "support-1" not in str(collector.requests)
    assert collector.resource["service.name"] == "nightgate"


@pytest.mark.parametrize(("asked", "temporality"), [("", 2), ("cumulative", 2), ("delta", 1)])
def test_the_usual_variables_say_how_and_to_whom(
    monkeypatch: pytest.MonkeyPatch, asked: str, temporality: int
) -> None:
    """What other programs of the machine are told holds here as well."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=evals")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", asked)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=ci")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "evals")

        sent()

    assert collector.headers[0]["x-tenant"] == "evals"
    assert collector.metrics["nightgate.calls"].sum.aggregation_temporality == temporality
    assert collector.metrics["nightgate.call.wait"].histogram.aggregation_temporality == temporality
    assert collector.resource["deployment.environment"] == "ci"
    assert collector.resource["service.name"] == "evals"


def test_a_collector_that_refuses_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Told by whoever asked, not by a library on the way."""
    with collecting(status=401) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)

        why = sent()

    assert why is not None
    assert "401" in why
    assert caplog.records == []


def test_nobody_at_the_address_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words of the system, not of three libraries around it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening: every connection is refused
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setattr(otlp, "PATIENCE_S", 1.5)

        why = sent()

    assert why is not None
    assert why.startswith("ConnectionRefusedError")


def test_a_collector_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends when it ends."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(otlp, "PATIENCE_S", 0.3)
        began = time.monotonic()

        why = sent()

    assert why is not None
    assert time.monotonic() - began < otlp.PATIENCE_S + otlp._GRACE_S + 1


def test_what_no_timeout_covers_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server may hang for a minute, and requests do not count that."""
    free = threading.Event()
    monkeypatch.setattr(otlp, "PATIENCE_S", 0.05)
    monkeypatch.setattr(otlp, "_GRACE_S", 0.05)
    monkeypatch.setattr(otlp, "_sent", lambda *_: free.wait(30) and [])

    why = sent()
    free.set()

    assert why == "no answer within 0.1 s"


def test_an_exporter_that_breaks_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a later version of the library raises, the run has its verdict."""

    def broken(*_: Any) -> list[str]:
        raise TypeError("no such argument")

    monkeypatch.setattr(otlp, "_sent", broken)

    assert sent() == "TypeError: no such argument"


def test_another_exporter_of_the_process_still_logs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A user's own telemetry has its own trouble to tell."""
    told = threading.Event()

    def meanwhile(*_: Any) -> Any:
        thread = threading.Thread(target=logging.getLogger(otlp._LOGGER).error, args=("theirs",))
        thread.start()
        thread.join()
        told.set()
        raise RuntimeError("ours")

    monkeypatch.setattr(otlp, "_data", meanwhile)

    assert sent() == "RuntimeError: ours"
    assert told.is_set()
    assert [record.message for record in caplog.records] == ["theirs"]


def test_a_missing_exporter_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found before anything is spent, with the line that mends it."""
    monkeypatch.setitem(sys.modules, otlp._LOGGER, None)  # as if it were not installed

    with pytest.raises(InputError, match=r"pip install 'nightgate\[otel\]'"):
        check_exporter()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
    ],
)
def test_what_is_not_spoken_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Else the run is paid for, and its figures go nowhere."""
    monkeypatch.setenv(name, value)

    with pytest.raises(InputError, match=name):
        check_exporter()


def test_the_address_is_told_without_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in a log."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://me:hunter2@collector:4318")

    assert endpoint() == "https://collector:4318/v1/metrics"
