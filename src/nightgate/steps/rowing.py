"""Facts of a plan as the rows of its run carry them.

Owns which fact of a plan stands beside every trial, case and finding, and under which name a planned
column is stored. Knows no store.
"""

from __future__ import annotations

from datetime import date

from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.rows.facts import CaseFacts, Row, RunFacts, score_row
from nightgate.scores import Cell


def labels_of(plan: Plan) -> dict[tuple[str, str | None, int], str]:
    """The planned name of an evaluator by what a row knows it by: own name, judge and repeat."""
    return {(e.evaluator, e.judge_fingerprint, e.repeat): e.name for e in plan.evaluators}


def facts_of(plan: Plan) -> RunFacts:
    """What all rows of a run share."""
    return RunFacts(
        run_id=plan.run_id,
        suite=plan.suite,
        date=date.fromisoformat(plan.date),
        agent_model=plan.model,
        agent_fingerprint=plan.fingerprint,
        run_kind=plan.run_kind,
        trigger=plan.trigger,
        git_sha=plan.git_sha,
        price_table=plan.price_table,
        sweep_id=(plan.sweep.get("sweep_id") or plan.run_id) if plan.is_sweep else None,
        source_run=plan.source,
    )


def case_facts(case: PlannedCase) -> CaseFacts:
    """What all rows of a case share."""
    return CaseFacts(
        case_id=case.case_id,
        case_hash=case.case_hash,
        family=case.family,
        layer=case.layer,
        stage=case.stage,
        language=case.language,
        tags=case.tags,
        blocking=case.blocking,
    )


def cell_row(cell: Cell, facts: RunFacts, case: PlannedCase, planned: PlannedEvaluator) -> Row:
    """The row of a cell in the scores table.

    A sweep's columns go by their evaluator's own name, and judge and repeat tell them apart. In a run a
    panel's member keeps the name of its column, so that no query counts it beside its panel.

    Args:
        cell: With its finding.
        facts: Of the run.
        case: As planned.
        planned: The column.
    """
    own_name = planned.base is not None and (facts.sweep_id is not None or planned.panel is None)
    return score_row(
        cell,
        facts,
        case_facts(case),
        threshold=planned.threshold,
        evaluator=planned.evaluator if own_name else planned.name,
        repeat=planned.repeat if own_name else None,
        panel=planned.evaluator if planned.panel is not None else None,
    )
