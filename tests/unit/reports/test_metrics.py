"""Figures for machines: a metric that is not there was not measured."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from nightgate.reports.metrics import Figure, emf, figures
from nightgate.summaries import Ledger
from rundocs import a_row, a_summary

NOW = datetime(2026, 11, 29, 22, 31, tzinfo=UTC)


def line(**more: Any) -> dict[str, Any]:
    """The line of a run, read again."""
    found: dict[str, Any] = json.loads(emf(a_summary(a_row(), **more), NOW))
    return found


def test_every_metric_that_is_declared_has_its_value() -> None:
    """CloudWatch drops a line whose declaration names what is not there."""
    waits = {"p50": 0.1, "p95": 4.0, "max": 30.5, "total": 61.0}
    found = line(calls={"total": 18, "retries": 2, "late": 0, "throttled": 1}, queue_wait_s=waits)
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
        "QueueWaitP50Seconds": 0.1,
        "QueueWaitP95Seconds": 4.0,
        "QueueWaitMaxSeconds": 30.5,
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


def by_name(**more: Any) -> dict[str, Figure]:
    """The metrics of a run without a call."""
    found = figures(a_summary(a_row(), trigger="manual", **more), Ledger())
    return {figure.name: figure for figure in found}


def test_a_metric_of_which_nothing_is_known_is_no_metric() -> None:
    """Without a call there is no cost, and without a start no wall time."""
    assert set(by_name(wall_s=None)) == {"nightgate.runs", "nightgate.run.exit_code", "nightgate.trials"}


def test_trials_are_told_by_their_ending() -> None:
    """What was planned is no ending, and an ending that nobody met no figure."""
    found = by_name(trials={"planned": 4, "completed": 3, "infra_error": 1, "agent_error": 0})

    points = found["nightgate.trials"].points
    assert {point.attributes["ending"]: point.value for point in points} == {"completed": 3, "infra_error": 1}


def test_a_sweep_has_no_verdict_and_plays_no_trial() -> None:
    """Its trials were played elsewhere, and it only judges them."""
    found = by_name(trials=12, verdict=None)

    (run,), (trials,) = found["nightgate.runs"].points, found["nightgate.trials"].points
    assert run.attributes["verdict"] == "none"
    assert (trials.attributes["ending"], trials.value) == ("judged", 12)
