"""Short forms of a run for flows, logs and shells: headlines, verdict lines, one exit code for many.

Owns the words. Reads summaries and decisions, decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nightgate.errors import ExitCode
from nightgate.runner import Receipt
from nightgate.summaries import SUMMARY_SCHEMA, Summary

_ORDER = (
    ExitCode.INPUT,
    ExitCode.INTERRUPTED,
    ExitCode.BUDGET,
    ExitCode.FAILED,
    ExitCode.INCONCLUSIVE,
)
"""With several suites the first that applies wins."""
_MOST = 5


def exit_code(codes: Sequence[int]) -> int:
    """One exit code for several suites; no suite at all is inconclusive."""
    if not codes:
        return ExitCode.INCONCLUSIVE
    return next((int(code) for code in _ORDER if code in codes), int(ExitCode.OK))


def combined(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON of several suites."""
    code = exit_code([int(summary["exit_code"]) for summary in summaries])
    return {"schema": 1, "exit_code": code, "runs": list(summaries)}


def receipt(done: Receipt) -> dict[str, Any]:
    """A shard's receipt as plain JSON."""
    return asdict(done)


def headline(summary: Summary) -> dict[str, Any]:
    """What a flow passes on of a run."""
    document = summary.as_dict()
    names = ("run_id", "suite", "verdict", "exit_code", "complete", "cells", "trials", "cost_usd")
    return {
        **{name: document[name] for name in names},
        "findings": [finding["text"] for finding in document["findings"]],
        "flaky": document.get("flaky", []),  # a sweep has none
    }


def broken(suite: str, run_id: str | None, why: str) -> dict[str, Any]:
    """The summary of a run that left none: never a pass, and every figure unknown."""
    return {
        "schema": SUMMARY_SCHEMA,
        "run_id": run_id,
        "suite": Path(suite).name,
        "complete": False,
        "verdict": "inconclusive",
        "exit_code": int(ExitCode.INCONCLUSIVE),
        "stopped": None,
        "cells": None,
        "trials": None,
        "evaluators": [],
        "cost_usd": None,
        "tokens": None,
        "flaky": [],
        "failures": [],
        "cases": [],
        "findings": [{"evaluator": None, "text": f"the run left no summary: {why}"}],
    }


def refused(suite: str, run_id: str | None, why: str, code: ExitCode = ExitCode.INPUT) -> dict[str, Any]:
    """The summary of a suite that was not played now, because its date is another start's."""
    findings = [{"evaluator": None, "text": why}]
    return broken(suite, run_id, why) | {"exit_code": int(code), "findings": findings}


def verdict_line(
    head: Mapping[str, Any],
    decision: Mapping[str, Any],
    flaky: Mapping[str, Any],
    canary: Mapping[str, Any] | None = None,
) -> str:
    """One line that says whether it may ship, why not, what broke and whether a judge drifts.

    Args:
        head: The run's headline.
        decision: The gate's.
        flaky: ``flakiness.json``; both outcomes within this run stand in the headline.
        canary: ``canary.json``.
    """
    parts = [str(finding["text"]) for finding in decision["findings"]]
    broken = flaky.get("newly_broken", ())[:_MOST]
    parts += [f"NEWLY BROKEN {found['case']} ({found['evaluator']})" for found in broken]
    shaky = head["flaky"][:_MOST]
    parts += [f"FLAKY {f['passed']}/{f['judged']} {f['case']} ({f['evaluator']})" for f in shaky]
    if canary is not None and canary.get("alarm"):
        parts.append(f"CANARY {canary['text']}")
    return f"{head['suite']}: {decision['verdict'].upper()}" + "".join(f"; {part}" for part in parts)


def night_line(headlines: Sequence[Mapping[str, Any]]) -> str:
    """One line for a night."""
    return ", ".join(f"{head['suite']} {str(head['verdict']).upper()}" for head in headlines) or "no suites"


def state_name(head: Mapping[str, Any]) -> str:
    """The name under which a flow's failed state is shown."""
    names = {1: "Failed", 3: "Inconclusive", 4: "OverBudget", 130: "Interrupted"}
    return names.get(int(head["exit_code"]), "Failed")


def suite_name(parameters: Mapping[str, Any]) -> str:
    """How a suite's flow run is called."""
    return Path(str(parameters["suite"])).name
