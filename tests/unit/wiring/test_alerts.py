"""Alerts of a run as commands and flows send them: nothing about them reaches the verdict."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from makers import a_suite
from nightgate.adapters.store.folder import FolderStore
from nightgate.errors import InputError
from nightgate.requests import RunRequest
from nightgate.rows.keys import report_index_key
from nightgate.testing import RecordingChannel
from nightgate.wiring.alerts import alerts_line, check_channels, looked_at, refuse_bad_channels, send_alerts
from nights import green, put_night, red
from shell import SUPPORT


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine."""
    monkeypatch.delenv("NIGHTGATE_ALERT_CHANNELS", raising=False)
    monkeypatch.delenv("NIGHTGATE_REPORT_URL", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def send(store: FolderStore, run_id: str, **more: Any) -> Any:
    """Send a run's alerts."""
    alerts = more.pop("alerts", True)
    request = RunRequest(suite="cases/support", store=store.uri, alerts=alerts)
    return asyncio.run(send_alerts(request, run_id, **more))


def test_the_message_names_the_store_and_the_served_report(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phone opens the link, a shell takes the command."""
    monkeypatch.setenv("NIGHTGATE_REPORT_URL", "https://evals.invalid/{suite}/{run_id}")
    channel = RecordingChannel()

    report = send(store, put_night(store, 1, red(baseline="night-0")), channels={"default": channel})

    body = channel.messages[0].body
    assert f"next: nightgate compare night-0 night-1 --store {store.uri}" in body
    assert "report: https://evals.invalid/support/night-1" in body
    assert alerts_line(report) == "alerts: 1 sent to default (a recording)"


@pytest.mark.parametrize(
    ("pages", "key"), [(True, "runs/night-1/report/index.html"), (False, "runs/night-1/summary.json")]
)
@pytest.mark.parametrize("base", [None, "https://evals.invalid/store/"])
def test_a_message_links_to_the_runs_page_or_else_to_its_summary(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch, base: str | None, pages: bool, key: str
) -> None:
    """In the store's folder, or where that is served; never to a page that was not written."""
    if base is not None:
        monkeypatch.setenv("NIGHTGATE_REPORT_URL", base)
    channel = RecordingChannel()
    run_id = put_night(store, 1, red())
    if pages:
        store.replace(report_index_key(run_id), b"<!doctype html>")

    send(store, run_id, channels={"default": channel})

    link = f"{(base or store.uri).rstrip('/')}/{key}"
    assert f"report: {link}\n" in f"{channel.messages[0].body}\n"
    assert channel.messages[0].facts["report"] == link
    assert base is not None or Path(link).exists()


def test_default_without_configuration_is_the_log_and_that_is_said(
    store: FolderStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Else somebody waits for messages that go nowhere."""
    report = send(store, put_night(store, 1, red()))

    assert "gate FAILED" in caplog.text
    line = alerts_line(report)
    assert line == "alerts: 1 sent to default (the log; NIGHTGATE_ALERT_CHANNELS defines no default)"


def test_a_green_night_says_nothing(store: FolderStore) -> None:
    """No line, no message."""
    assert alerts_line(send(store, put_night(store, 1, green()))) is None


@pytest.mark.parametrize("more", [{"alerts": False}, {}])
def test_nobody_is_told_where_nobody_is_named(store: FolderStore, more: dict[str, Any]) -> None:
    """``--no-alerts``, or a suite without ``alerts:``."""
    run_id = put_night(store, 1, red(), alerts=("default",) if more else ())

    assert send(store, run_id, **more) is None
    assert store.find("alerts/") == []


def test_a_channel_that_cannot_be_built_keeps_its_messages(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without the variable must not lose what the next one can send."""
    monkeypatch.setenv("NIGHTGATE_ALERT_CHANNELS", "default=webhook:NOT_SET_ANYWHERE")

    line = alerts_line(send(store, put_night(store, 1, red())))

    assert line is not None
    assert line.startswith("alerts: 1 NOT delivered to default: ")
    assert "NOT_SET_ANYWHERE is not set" in line


def test_whatever_breaks_is_a_line_and_no_exception(store: FolderStore) -> None:
    """The run has its verdict."""
    put_night(store, 1, red())
    store.replace("alerts/support.json", b'{"schema": 2}')

    report = send(store, "night-1")

    assert report["error"]
    assert alerts_line(report) == (
        "alerts: NOT sent: alerts/support.json: written by a newer nightgate, schema 2; "
        "this one knows 1: upgrade"
    )


def test_an_unknown_channel_is_refused_before_anything_is_spent() -> None:
    """With the nearest name, and not where no alerts are wanted."""
    suite = a_suite(alerts=("defalt",))

    with pytest.raises(InputError, match="did you mean 'default'"):
        refuse_bad_channels(suite, RunRequest(suite="x"))
    refuse_bad_channels(suite, RunRequest(suite="x", alerts=False))


def test_a_target_out_of_reach_is_a_warning_at_the_start_of_a_night(tmp_path: Path) -> None:
    """The night is worth more than its message, which is kept and sent later."""
    request = RunRequest(suite=str(SUPPORT), store=str(tmp_path))

    warnings = asyncio.run(check_channels(request, {"default": RecordingChannel(failures=None)}))

    assert warnings == [
        "alerts: channel default (a recording) is out of reach: this channel was told to fail"
    ]
    assert asyncio.run(check_channels(request, {"default": RecordingChannel()})) == []


def test_doctor_gets_a_row_a_channel_also_for_one_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """One broken definition hides no other."""
    monkeypatch.setenv("NIGHTGATE_ALERT_CHANNELS", "a=webhook:NOT_SET_ANYWHERE b=log:x")

    rows = looked_at(["a", "b", "log"], "suite.yaml")

    assert [(row["channel"], row["ok"]) for row in rows] == [("a", False), ("b", True), ("log", True)]
