"""A run's figures for machines: a line in CloudWatch's embedded metric format, and OpenTelemetry metrics.

Owns names, units and attributes. Nothing is called: a line goes where the logs go, and who sends metrics is
an adapter's business. What is unknown is left out: a zero would be a measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from nightgate.prices import NANO
from nightgate.summaries import Ledger, Waits

NAMESPACE = "nightgate"
_UNITS = {
    "RunsCompleted": "Count",
    "RunsFailed": "Count",
    "Trials": "Count",
    "Calls": "Count",
    "Throttles": "Count",
    "Retries": "Count",
    "CostUSD": "None",
    "WallSeconds": "Seconds",
    "QueueWaitP50Seconds": "Seconds",
    "QueueWaitP95Seconds": "Seconds",
    "QueueWaitMaxSeconds": "Seconds",
}


def emf(summary: Mapping[str, Any], now: datetime) -> str:
    """One line of JSON for the log of a run's end.

    Args:
        summary: The summary document of a run or sweep.
        now: When it ended, aware.

    Source: CloudWatch embedded metric format specification, schema version 0.
    """
    values = _values(summary)
    metrics = [{"Name": name, "Unit": _UNITS[name]} for name in values]
    line = {
        "_aws": {
            "Timestamp": int(now.timestamp() * 1000),
            "CloudWatchMetrics": [
                # Without a dimension for alarms over all suites, and once more for each suite.
                {"Namespace": NAMESPACE, "Dimensions": [[], ["suite"]], "Metrics": metrics}
            ],
        },
        "suite": summary["suite"],
        "run_id": summary["run_id"],
        "verdict": summary.get("verdict"),
        **values,
    }
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def _values(summary: Mapping[str, Any]) -> dict[str, float]:
    trials = summary["trials"]
    calls, waits = summary.get("calls") or {}, summary.get("queue_wait_s") or {}
    known: dict[str, float | None] = {
        "RunsCompleted": int(bool(summary["complete"])),
        "RunsFailed": int(summary["exit_code"] != 0),
        "Trials": trials["completed"] if isinstance(trials, Mapping) else trials,
        "Calls": calls.get("total"),
        "Throttles": calls.get("throttled"),
        "Retries": calls.get("retries"),
        "CostUSD": summary["cost_usd"]["total"] if summary.get("cost_usd") else None,
        "WallSeconds": summary.get("wall_s"),
        "QueueWaitP50Seconds": waits.get("p50"),
        "QueueWaitP95Seconds": waits.get("p95"),
        "QueueWaitMaxSeconds": waits.get("max"),
    }
    return {name: value for name, value in known.items() if value is not None}


Attributes = Mapping[str, str | int | bool]


class Kind(StrEnum):
    """How figures of several runs go together."""

    SUM = "sum"
    """They add up."""
    GAUGE = "gauge"
    """The last one counts."""
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One figure of a run."""

    value: float | Waits
    """``Waits`` of a histogram, else a number."""
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A metric with its points of one run."""

    name: str
    kind: Kind
    unit: str
    """As UCUM writes it."""
    text: str
    points: tuple[Point, ...]


def figures(summary: Mapping[str, Any], ledger: Ledger) -> tuple[Figure, ...]:
    """A run's metrics, without those of which nothing is known.

    Suite and trigger stand on every point, role and model where calls are counted. The run's id does not:
    each run would be a series of its own, for ever.

    Args:
        summary: The summary document of a run or sweep.
        ledger: Its calls.
    """
    about = {"suite": str(summary["suite"]), "trigger": str(summary["trigger"])}
    found = (*_of_run(summary, about), *_of_calls(ledger, about))
    return tuple(figure for figure in found if figure.points)


def _of_run(summary: Mapping[str, Any], about: dict[str, str]) -> Iterator[Figure]:
    code, wall_s = int(summary["exit_code"]), summary.get("wall_s")
    ended: dict[str, str | int | bool] = {
        **about,
        "complete": bool(summary["complete"]),
        "verdict": str(summary.get("verdict") or "none"),  # a sweep has none
        "exit_code": code,
    }
    yield _figure("nightgate.runs", Kind.SUM, "{run}", "Runs that ended", [(1, ended)])
    yield _figure("nightgate.run.exit_code", Kind.GAUGE, "1", "Exit code of the last run", [(code, about)])
    walls = [] if wall_s is None else [(wall_s, about)]
    yield _figure("nightgate.run.wall", Kind.GAUGE, "s", "From the start of a run to its end", walls)
    trials = summary["trials"]
    by_ending = trials if isinstance(trials, Mapping) else {"judged": trials}  # a sweep plays none
    endings = [
        (count, about | {"ending": ending})
        for ending, count in by_ending.items()
        if ending != "planned" and count
    ]
    yield _figure("nightgate.trials", Kind.SUM, "{trial}", "Trials by their ending", endings)


def _of_calls(ledger: Ledger, about: dict[str, str]) -> Iterator[Figure]:
    models = [
        (found, about | {"role": role.value, "model": model})
        for (role, model), found in ledger.models.items()
    ]
    calls = [(found.calls, on) for found, on in models]
    yield _figure("nightgate.calls", Kind.SUM, "{call}", "Attempts at model calls", calls)
    throttled = [(found.throttled, on) for found, on in models]
    yield _figure("nightgate.calls.throttled", Kind.SUM, "{call}", "Attempts that were throttled", throttled)
    retries = [(found.retries, on) for found, on in models]
    yield _figure("nightgate.calls.retries", Kind.SUM, "{call}", "Attempts after the first", retries)
    unpriced = [(found.unpriced, on) for found, on in models]
    yield _figure("nightgate.calls.unpriced", Kind.SUM, "{call}", "Calls of unknown cost", unpriced)
    costs = [(found.known_nanousd / NANO, on) for found, on in models if not found.unpriced]
    yield _figure("nightgate.cost", Kind.SUM, "USD", "Cost of model calls, where all of it is known", costs)
    waits = [(found.waits, on) for found, on in models if found.waits.seconds]
    text = "How long calls waited before they were sent"
    yield _figure("nightgate.call.wait", Kind.HISTOGRAM, "s", text, waits)


def _figure(name: str, kind: Kind, unit: str, text: str, points: Sequence[tuple[Any, Attributes]]) -> Figure:
    drawn = tuple(Point(value=value, attributes=attributes) for value, attributes in points)
    return Figure(name=name, kind=kind, unit=unit, text=text, points=drawn)
