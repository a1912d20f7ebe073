"""The summary document of a judge sweep: what each judge said, and where judges differ.

Owns its shape. A sweep has no gate: its exit code says whether it was carried out, not what it found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from nightgate import summaries
from nightgate.errors import STOPPED_EXIT, ExitCode
from nightgate.gates import Decision, EvaluatorDecision
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.steps.accounts import Account
from nightgate.summaries import SUMMARY_SCHEMA, Summary, Tallies


def sweep_document(
    plan: Plan,
    tallies: Tallies,
    decision: Decision,
    account: Account,
    *,
    complete: bool,
    stopped: str | None,
    wall_s: float | None,
) -> Summary:
    """The summary of a sweep; arguments as ``documents.document``'s."""
    stopped_open = None if complete else stopped
    judged = tallies.total().covered
    done = ExitCode.OK if complete and judged else ExitCode.INCONCLUSIVE
    body: dict[str, Any] = {
        "schema": SUMMARY_SCHEMA,
        "run_id": plan.run_id,
        "suite": plan.suite,
        "source": plan.source,
        "complete": complete,
        "verdict": None,
        "exit_code": int(STOPPED_EXIT.get(stopped_open or "", done)),
        "stopped": stopped_open,
        "started_at": plan.started_at,
        "wall_s": round(wall_s, 3) if wall_s is not None else None,
        "trigger": plan.trigger,
        "model": plan.model,
        "judges": list(plan.sweep.get("judges", ())),
        "repeat": plan.sweep.get("repeat", 1),
        "trials": plan.trial_count,
        "left_out": dict(plan.sweep.get("left_out", {})),
        "cells": summaries.cell_counts(tallies),
        "known": account.known,
        "evaluators": [
            _evaluator(plan.evaluator(decided.name), decided, account) for decided in decision.evaluators
        ],
        "agreement": list(_agreement(plan, account)),
        "panels": summaries.panels(tallies, account.verdicts),
        "judge_system_fingerprints": account.heard.as_dict(),
        "warnings": account.heard.warnings(),
        **account.money(),
        "tokens": account.ledger.tokens(),
        "calls": account.ledger.counts(),
        "queue_wait_s": account.ledger.queue_wait_s(),
        "budget_usd": plan.budget_nanousd / summaries.NANO if plan.budget_nanousd is not None else None,
        "failures": account.failures,
        "findings": [],
    }
    return Summary(body)


def _evaluator(planned: PlannedEvaluator, decided: EvaluatorDecision, account: Account) -> dict[str, Any]:
    entry = decided.as_dict()
    kept = ("planned", "passed", "failed", "measured", "not_applicable", "error", "skipped", "judged")
    return {
        "name": planned.name,
        "evaluator": planned.evaluator,
        "judge": planned.judge_model,
        "judge_fingerprint": planned.judge_fingerprint,
        "repeat": planned.repeat,
        **{name: entry[name] for name in kept},
        **{name: entry[name] for name in ("coverage", "pass_rate", "interval", "mean_score")},
        "holes": account.holes_of(planned.name, None),
    }


def _agreement(plan: Plan, account: Account) -> Iterator[dict[str, Any]]:
    """Of each pair of columns of one evaluator: on how many outputs both gave a verdict, and the same."""
    for first, second in itertools.combinations(plan.evaluators, 2):
        if first.evaluator != second.evaluator or first.members or second.members:
            continue
        pairs = [
            (said[first.name], said[second.name])
            for said in account.verdicts.values()
            if first.name in said and second.name in said
        ]
        same = sum(left == right for left, right in pairs)
        kind = "repeat" if first.judge_fingerprint == second.judge_fingerprint else "judge"
        yield {
            "evaluator": first.evaluator,
            "between": [first.name, second.name],
            "kind": kind,
            "both": len(pairs),
            "same": same,
            "share": same / len(pairs) if pairs else None,
        }
