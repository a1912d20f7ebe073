"""Histories of one evaluator for tests of charts."""

from __future__ import annotations

from typing import Any

from nightgate.reports.pages.axis import Axis
from nightgate.reports.pages.suitevalues import Change, SuiteFacts, slots


def an_axis(
    rates: list[tuple[int, int]],
    summaries: dict[int, dict[str, Any]] | None = None,
    changes: list[Change] | None = None,
    verdicts: dict[int, str] | None = None,
) -> Axis:
    """Nights of evaluator E: passed and judged of three planned."""
    nights = [
        {
            "run_id": f"r{i}", "date": f"2026-11-{i + 1:02d}", "verdict": (verdicts or {}).get(i, "pass"),
            "changed": [],
        }
        for i in range(len(rates))
    ]  # fmt: skip
    entry = {
        "evaluator": "E",
        "threshold": "1.0",
        "passed": [passed for passed, _ in rates],
        "judged": [judged for _, judged in rates],
        "planned": [3] * len(rates),
        "pass_rate": [passed / judged if judged else None for passed, judged in rates],
        "mean_score": [None] * len(rates),
        "changes": [],
    }
    known = {f"r{night}": summary for night, summary in (summaries or {}).items()}
    document = {"nights": nights, "evaluators": [entry], "cases": [], "summaries": known}
    facts = SuiteFacts(document=document, changes=changes or [])
    return Axis(facts, slots([night["date"] for night in nights]), facts.changes)
