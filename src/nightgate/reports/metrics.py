"""A run's figures as CloudWatch reads them from a log: one line in the embedded metric format.

Owns names and units. The line goes where the logs go; nothing is called. What is unknown is left out: a zero
would be a measurement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

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
    calls = summary.get("calls") or {}
    known: dict[str, float | None] = {
        "RunsCompleted": int(bool(summary["complete"])),
        "RunsFailed": int(summary["exit_code"] != 0),
        "Trials": trials["completed"] if isinstance(trials, Mapping) else trials,
        "Calls": calls.get("total"),
        "Throttles": calls.get("throttled"),
        "Retries": calls.get("retries"),
        "CostUSD": summary["cost_usd"]["total"] if summary.get("cost_usd") else None,
        "WallSeconds": summary.get("wall_s"),
    }
    return {name: value for name, value in known.items() if value is not None}
