"""Summary documents of runs for tests of reports: every key is there, what matters is given."""

from __future__ import annotations

from typing import Any


def a_row(case: str = "late", evaluator: str = "ToolPolicy", **counts: Any) -> dict[str, Any]:
    """Counts of a case and evaluator; one trial that passed unless said otherwise."""
    values: dict[str, Any] = {
        "case": case,
        "evaluator": evaluator,
        "layer": "behavior",
        "family": None,
        "language": None,
        "planned": 1,
        "passed": 0 if counts else 1,
        "failed": 0,
        "measured": 0,
        "not_applicable": 0,
        "error": 0,
        "skipped": 0,
        "allowed": 0,
        "required": 0,
        "open": 0,
    }
    return values | counts


def an_evaluator(name: str = "ToolPolicy", verdict: str | None = "pass", **more: Any) -> dict[str, Any]:
    """An evaluator's entry; nine cells planned and passed unless said otherwise."""
    values: dict[str, Any] = {
        "name": name,
        "kind": "code",
        "threshold": None if verdict is None else "1.0",
        "planned": 9,
        "passed": 9,
        "failed": 0,
        "measured": 0,
        "not_applicable": 0,
        "error": 0,
        "skipped": 0,
        "judged": 9,
        "required_not_applicable": 0,
        "coverage": 1.0,
        "pass_rate": 1.0,
        "interval": [0.7, 1.0],
        "pass_k": {"1": 1.0},
        "mean_score": 1.0,
        "verdict": verdict,
        "failed_cases": [],
        "open_cases": [],
        "capability": None,
        "holes": [],
    }
    return values | more


def a_failure(status: str = "fail", **more: Any) -> dict[str, Any]:
    """What a summary tells of cells that did not pass."""
    values: dict[str, Any] = {
        "case": "late",
        "evaluator": "ToolPolicy",
        "status": status,
        "blame": None,
        "trial": 0,
        "count": 1,
        "reason": "missing search_kb (called: no tool)",
        "expected": None,
        "observed": None,
    }
    return values | more


def a_summary(*rows: dict[str, Any], verdict: str = "pass", code: int = 0, **more: Any) -> dict[str, Any]:
    """The summary document of a run with these rows."""
    values: dict[str, Any] = {
        "schema": 1,
        "run_id": "support-1",
        "suite": "support",
        "complete": True,
        "verdict": verdict,
        "exit_code": code,
        "stopped": None,
        "started_at": "2026-11-29T22:30:00.123Z",
        "wall_s": 3.1,
        "trigger": "manual",
        "model": "scripted:agent",
        "judge": "scripted:judge",
        "user": None,
        "owner": None,
        "fingerprint": "f" * 16,
        "baseline": None,
        "cells": {
            "planned": 9,
            "pass": 9,
            "fail": 0,
            "measured": 0,
            "not_applicable": 0,
            "error": 0,
            "skipped": 0,
        },
        "trials": {
            "planned": 9,
            "completed": 9,
            "agent_error": 0,
            "infra_error": 0,
            "not_run": 0,
        },
        "evaluators": [an_evaluator(verdict=verdict)],
        "layers": {},
        "families": {},
        "family_details": {},
        "skills": None,
        "live": False,
        "filters": {},
        "warnings": [],
        "conversations": None,
        "curtailed": None,
        "endings": {},
        "flaky": [],
        "changes": {"newly_broken": [], "newly_fixed": [], "not_comparable": []},
        "cost_usd": {
            "agent": 0.5,
            "judge": 0.25,
            "user": 0.0,
            "total": 0.75,
            "unpriced_calls": 0,
            "at_least": {"agent": 0.5, "judge": 0.25, "user": 0.0, "total": 0.75},
        },
        "tokens": {},
        "calls": {"total": 12, "retries": 0, "late": 0},
        "budget_usd": None,
        "cases": list(rows),
        "failures": [],
        "findings": [],
    }
    return values | more
