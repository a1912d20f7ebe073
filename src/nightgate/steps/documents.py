"""The run's summary document, as ``--json`` prints it and ``summary.json`` keeps it.

Owns the shape of contract, section 5. Everything in it comes from the plan, the counts, the
decision and the ledger.
"""

from __future__ import annotations

from typing import Any

from nightgate import summaries
from nightgate.errors import ExitCode
from nightgate.gates import Decision
from nightgate.plans import Plan
from nightgate.steps.accounts import Account
from nightgate.summaries import SUMMARY_SCHEMA, Summary, Tallies

_STOPPED = {"budget": ExitCode.BUDGET, "cancelled": ExitCode.INTERRUPTED}


def document(
    plan: Plan,
    tallies: Tallies,
    decision: Decision,
    account: Account,
    *,
    complete: bool,
    stopped: str | None,
    wall_s: float | None,
) -> Summary:
    """The summary of a run.

    Args:
        plan: What was planned.
        tallies: Counts of the stored cells.
        decision: The gate's.
        account: Endings, money, tokens, reasons.
        complete: Whether the run is committed.
        stopped: budget or cancelled, where it stopped early.
        wall_s: Seconds, where known.
    """
    open_run_stopped = None if complete else stopped
    body: dict[str, Any] = {
        "schema": SUMMARY_SCHEMA,
        "run_id": plan.run_id,
        "suite": plan.suite,
        "complete": complete,
        "verdict": decision.verdict.value,
        "exit_code": int(_STOPPED.get(open_run_stopped or "", decision.exit_code)),
        "stopped": open_run_stopped,
        "started_at": plan.started_at,
        "wall_s": round(wall_s, 3) if wall_s is not None else None,
        "trigger": plan.trigger,
        "model": plan.model,
        "judge": plan.judge,
        "user": plan.user,
        "owner": plan.owner,
        "fingerprint": plan.fingerprint,
        "baseline": None,
        "cells": summaries.cell_counts(tallies),
        "trials": summaries.trial_counts(plan, account.endings),
        "evaluators": [evaluator.as_dict() for evaluator in decision.evaluators],
        "layers": summaries.layers(tallies),
        "families": summaries.families(tallies),
        "endings": {},
        "flaky": summaries.flaky(tallies),
        "changes": {"newly_broken": [], "newly_fixed": [], "not_comparable": []},
        "cost_usd": account.ledger.cost_usd(),
        "tokens": account.ledger.tokens(),
        "calls": {
            "total": account.ledger.calls,
            "retries": account.ledger.retries,
            "late": account.ledger.late,
        },
        "budget_usd": plan.budget_nanousd / summaries.NANO if plan.budget_nanousd is not None else None,
        "cases": _cases(tallies),
        "failures": account.failures,
        "findings": decision.findings(),
    }
    return Summary(body)


def _cases(tallies: Tallies) -> list[dict[str, Any]]:
    """Counts of each case and evaluator, in suite order."""
    return [
        {
            "case": case.case_id,
            "evaluator": name,
            "planned": found.planned,
            "passed": found.passed,
            "failed": found.counted_failed,
            "open": found.open,
        }
        for case in tallies.plan.cases
        for name in case.evaluators
        for found in (tallies.cells[case.case_id, name],)
    ]
