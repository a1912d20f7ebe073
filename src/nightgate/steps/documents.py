"""The run's summary document, as ``--json`` prints it and ``summary.json`` keeps it.

Owns the shape of contract, section 5. Everything in it comes from the plan, the counts, the
decision and the ledger.
"""

from __future__ import annotations

from typing import Any

from nightgate import summaries
from nightgate.comparisons import NO_BASE, Outcome
from nightgate.errors import STOPPED_EXIT
from nightgate.gates import Decision, EvaluatorDecision
from nightgate.plans import Plan
from nightgate.steps.accounts import Account
from nightgate.steps.flakyplan import quarantined
from nightgate.summaries import SUMMARY_SCHEMA, Hole, Summary, Tallies
from nightgate.trials import Ending

_NAMED = 5
"""Cases named beside a hole; the rows have them all."""


def document(
    plan: Plan,
    tallies: Tallies,
    decision: Decision,
    account: Account,
    *,
    complete: bool,
    stopped: str | None,
    wall_s: float | None,
    outcome: Outcome = NO_BASE,
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
        outcome: The run beside its baseline.
    """
    stages = {case.case_id: case.stage for case in plan.cases}
    open_run_stopped = None if complete else stopped
    body: dict[str, Any] = {
        "schema": SUMMARY_SCHEMA,
        "run_id": plan.run_id,
        "suite": plan.suite,
        "complete": complete,
        "verdict": decision.verdict.value,
        "exit_code": int(STOPPED_EXIT.get(open_run_stopped or "", decision.exit_code)),
        "stopped": open_run_stopped,
        "started_at": plan.started_at,
        "wall_s": round(wall_s, 3) if wall_s is not None else None,
        **_asked_for(plan, account),
        "baseline": plan.baseline,
        "cells": summaries.cell_counts(tallies),
        "trials": summaries.trial_counts(plan, account.endings),
        "evaluators": [_evaluator(decided, tallies, account, complete) for decided in decision.evaluators],
        "panels": summaries.panels(tallies, account.verdicts),
        "layers": summaries.layers(tallies),
        "families": summaries.families(tallies),
        "family_details": summaries.family_details(tallies),
        "skills": account.skills.as_dict(plan),
        "endings": account.conversations.endings_of(plan),
        "conversations": account.conversations.as_dict(plan),
        "flaky": summaries.flaky(tallies),
        "quarantined": quarantined(plan),
        "changes": outcome.changes(),
        "comparison": outcome.as_dict(),
        "curtailed": _curtailed(plan, tallies, account),
        **account.money(),
        "tokens": account.ledger.tokens(),
        "calls": account.ledger.counts(),
        "queue_wait_s": account.ledger.queue_wait_s(),
        "cases": summaries.case_counts(tallies),
        "failures": [{**failure, "stage": stages[failure["case"]]} for failure in account.failures],
        "findings": decision.findings(),
    }
    return Summary(body)


def _curtailed(plan: Plan, tallies: Tallies, account: Account) -> dict[str, Any] | None:
    """What was left out on purpose, and about what it would have cost; None without ``--curtail``."""
    if not plan.curtail:
        return None
    trials = account.endings.get(Ending.NOT_RUN, 0)
    played = sum(account.endings.values()) - trials
    spent = account.ledger.cost_usd()["total"]
    # As much for each trial as those that were played have cost; what single judgements saved is not in it.
    saved = spent / played * trials if played and spent is not None else None
    return {"trials": trials, "cells": tallies.total().curtailed, "saved_usd": saved}


def _asked_for(plan: Plan, account: Account) -> dict[str, Any]:
    """What the run was asked for, as its plan has it."""
    return {
        "trigger": plan.trigger,
        "reason": plan.reason,
        "model": plan.model,
        "judge": plan.judge,
        "user": plan.user,
        "owner": plan.owner,
        "live": plan.as_live,
        "filters": {name: list(values) for name, values in plan.filters.items()},
        "warnings": [*plan.warnings, *account.heard.warnings()],
        "judge_system_fingerprints": account.heard.as_dict(),
        "fingerprint": plan.fingerprint,
        "budget_usd": plan.budget_nanousd / summaries.NANO if plan.budget_nanousd is not None else None,
    }


def _evaluator(
    decided: EvaluatorDecision, tallies: Tallies, account: Account, complete: bool
) -> dict[str, Any]:
    """An evaluator's entry: its figures, and why the rest of its cells was not judged."""
    # The same cells as the counts beside it: those that gate, or all where it does not gate.
    gating = True if decided.verdict is not None else None
    cases = {case.case_id for case, _ in tallies.by_case(decided.name, gating=gating)}
    holes = account.holes_of(decided.name, cases)
    missing = decided.tally.missing
    if missing:
        why = "the run is open: not played yet" if not complete else "no row"
        unplayed = [
            case.case_id for case, found in tallies.by_case(decided.name, gating=gating) if found.missing
        ]
        hole = Hole(status="skipped", blame=None, reason=why, count=missing, cases=tuple(unplayed[:_NAMED]))
        holes.append(hole.as_dict())
    return {**decided.as_dict(), "holes": sorted(holes, key=lambda hole: -hole["count"])}
