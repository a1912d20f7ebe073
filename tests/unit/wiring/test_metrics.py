"""A run gives out its figures once, and never fails for their sake."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from collectors import attributes, collecting
from nightgate.adapters import otlp
from nightgate.errors import InputError
from nightgate.wiring import run_suite
from nightgate.wiring.metrics import SETTING, check_metrics
from shell import SUPPORT


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", raising=False)


async def test_a_run_goes_to_the_log_and_to_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both forms, one run, the same figures."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv(SETTING, "emf, otlp")

        summary = (await run_suite(SUPPORT, store=tmp_path)).as_dict()

    (emf,) = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith('{"_aws"')]
    (trials,) = collector.metrics["nightgate.trials"].sum.data_points
    (waits,) = collector.metrics["nightgate.call.wait"].histogram.data_points
    assert (trials.as_int, attributes(trials)["ending"]) == (emf["Trials"], "completed")
    assert waits.count == emf["Calls"] == summary["calls"]["total"]
    assert emf["QueueWaitMaxSeconds"] == summary["queue_wait_s"]["max"] == round(waits.max, 3)


async def test_an_unreachable_collector_is_one_line_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run was paid for, and its verdict stands."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening: every connection is refused
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:hunter2@{where}")
        monkeypatch.setenv(SETTING, "otlp")
        monkeypatch.setattr(otlp, "PATIENCE_S", 1.5)

        summary = await run_suite(SUPPORT, store=tmp_path, run_id="unheard")

    err = capsys.readouterr().err
    assert summary.as_dict()["exit_code"] == 0
    why = "ConnectionRefusedError: [Errno 111] Connection refused; the run stands as it is"
    assert err.splitlines() == [
        f"nightgate: metrics of run unheard not sent to http://{where}/v1/metrics: {why}"
    ]


@pytest.mark.parametrize("form", ["prometheus", "emf,prometheus"])
def test_a_form_that_nobody_writes_is_refused(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """A night without figures looks like a night that never ran."""
    monkeypatch.setenv(SETTING, form)

    with pytest.raises(InputError, match="'prometheus': write emf or otlp"):
        check_metrics()


def test_a_missing_exporter_is_found_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at the end of the night."""
    monkeypatch.setenv(SETTING, "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)

    with pytest.raises(InputError, match=r"nightgate\[otel\]"):
        asyncio.run(run_suite(SUPPORT, store=tmp_path))
    assert list(tmp_path.iterdir()) == []


async def test_a_stderr_that_takes_nothing_breaks_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk is full, or nobody reads the pipe any more: the gate and the alerts come after this."""

    class Full:
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setenv(SETTING, "emf")
    monkeypatch.setattr(sys, "stderr", Full())

    assert (await run_suite(SUPPORT, store=tmp_path)).as_dict()["verdict"] == "pass"
