"""From a suite to the grid of a plan: its cases with the evaluators that apply to them.

Owns what of a case and an evaluator stands in the plan. Knows no model and no store: fingerprints and
facts are handed in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from nightgate.cases import (
    Case,
    Suite,
    asked_hash,
    case_hash,
    criterion_hashes,
    evaluators_of,
    questions_of,
    threshold_of,
)
from nightgate.cases.quarantines import holding
from nightgate.plans import EvaluatorFacts, PlannedCase, PlannedEvaluator


def plan_cases(
    suite: Suite,
    *,
    live: bool,
    trials: int | None,
    fingerprints: Mapping[str, str],
    day: date | None = None,
) -> tuple[PlannedCase, ...]:
    """The cases of a run with their evaluators and trials.

    Args:
        suite: Already filtered.
        live: Whether ``when: live`` evaluators take part.
        trials: Overrides the cases' own numbers.
        fingerprints: Agent fingerprint by case id.
        day: UTC day of the run, which quarantines are held against; None: none holds.
    """
    planned = []
    kept_out = holding(suite.cases, day) if day is not None else frozenset()
    for case in suite.cases:
        names = evaluators_of(suite, case, live=live)
        count = trials if trials is not None else suite.trials_of(case)
        planned.append(
            PlannedCase(
                case_id=case.id,
                case_hash=case_hash(case),
                agent_fingerprint=fingerprints.get(case.id, ""),
                layer=case.layer,
                stage=case.stage,
                trials=count,
                evaluators=names,
                family=case.family,
                language=case.language,
                tags=tuple(case.tags),
                blocking=case.blocking,
                require=tuple(name for name in case.require if name in names),
                may_skip=tuple(case.may_skip),
                expected_loads=tuple(dict.fromkeys(case.expect.skills.loaded)),
                asked=asked_hash(case),
                questions=questions_of(suite, case, names),
                criteria=criterion_hashes(case, names),
                quarantine=_quarantine(case, holds=case.id in kept_out),
            )
        )
    return tuple(planned)


def _quarantine(case: Case, *, holds: bool) -> dict[str, Any] | None:
    found = case.quarantine
    if found is None:
        return None
    return {"owner": found.owner, "reason": found.reason, "until": found.until.isoformat(), "holds": holds}


def plan_evaluators(
    suite: Suite,
    cases: Collection[PlannedCase],
    *,
    judge: str | None,
    facts: Mapping[str, EvaluatorFacts],
) -> tuple[PlannedEvaluator, ...]:
    """The evaluators that at least one case plans, in the order of report."""
    default_coverage = suite.gate.min_coverage
    planned = []
    for name in evaluator_order(suite, cases):
        known, config = facts[name], suite.evaluators.get(name)
        is_judge = known.kind == "judge"
        planned.append(
            PlannedEvaluator(
                name=name,
                version=known.version,
                kind=known.kind,
                threshold=threshold_of(suite, name, known.kind),
                min_coverage=(config.min_coverage if config is not None else None) or default_coverage,
                judge_model=judge if is_judge else None,
                judge_fingerprint=known.fingerprint if is_judge else None,
                config=known.config,
            )
        )
    return tuple(planned)


def evaluator_order(suite: Suite, cases: Collection[PlannedCase]) -> Sequence[str]:
    """Names that some case plans: suite.yaml's order first, then as the cases ask for them."""
    used = dict.fromkeys(name for case in cases for name in case.evaluators)
    return (
        *(name for name in suite.evaluators if name in used),
        *(name for name in used if name not in suite.evaluators),
    )
