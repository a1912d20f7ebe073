"""Figures for machines: a metric that is not there was not measured."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from nightgate.reports.metrics import emf
from rundocs import a_row, a_summary

NOW = datetime(2026, 11, 29, 22, 31, tzinfo=UTC)


def line(**more: Any) -> dict[str, Any]:
    """The line of a run, read again."""
    found: dict[str, Any] = json.loads(emf(a_summary(a_row(), **more), NOW))
    return found


def test_every_metric_that_is_declared_has_its_value() -> None:
    """CloudWatch drops a line whose declaration names what is not there."""
    found = line(calls={"total": 18, "retries": 2, "late": 0, "throttled": 1})
    (directive,) = found["_aws"]["CloudWatchMetrics"]
    names = [metric["Name"] for metric in directive["Metrics"]]

    assert {name: found[name] for name in names} == {
        "RunsCompleted": 1,
        "RunsFailed": 0,
        "Trials": 9,
        "Calls": 18,
        "Throttles": 1,
        "Retries": 2,
        "CostUSD": 0.75,
        "WallSeconds": 3.1,
    }
    assert found["_aws"]["Timestamp"] == int(NOW.timestamp() * 1000)


def test_an_unknown_cost_is_left_out() -> None:
    """A zero would be a measurement."""
    assert "CostUSD" not in line(cost_usd={"total": None})


def test_a_run_that_is_open_did_not_complete() -> None:
    """The alarm for the night that never ran counts those that did."""
    found = line(complete=False, verdict="inconclusive", code=3)

    assert (found["RunsCompleted"], found["RunsFailed"]) == (0, 1)


def test_figures_stand_with_and_without_the_suite() -> None:
    """One alarm watches all, another one suite."""
    (directive,) = line()["_aws"]["CloudWatchMetrics"]

    assert directive["Dimensions"] == [[], ["suite"]]
    assert directive["Namespace"] == "nightgate"
