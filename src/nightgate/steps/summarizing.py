"""The rows of the summaries table: what gates, flakiness and trends read of a run.

Owns which count stands in which column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from nightgate.rows.facts import RunFacts
from nightgate.rows.jsontext import json_text
from nightgate.steps.accounts import Account
from nightgate.summaries import Tallies


def summary_rows(tallies: Tallies, account: Account, facts: RunFacts) -> Iterator[dict[str, Any]]:
    """One row a case and evaluator, with its counts and why cells were not judged.

    A panel is one evaluator here too: its members are judges, and no night's result.
    """
    plan = tallies.plan
    planned = {e.name: e for e in plan.evaluators}
    for case in plan.cases:
        for name in tallies.told(case):
            found, evaluator = tallies.cells[case.case_id, name], planned[name]
            holes = account.holes.of_case(name, case.case_id)
            yield {
                "run_id": facts.run_id,
                "suite": facts.suite,
                "date": facts.date,
                "case_id": case.case_id,
                "case_hash": case.case_hash,
                "family": case.family,
                "layer": case.layer,
                "stage": case.stage,
                "language": case.language,
                "blocking": case.blocking,
                "evaluator": name,
                "evaluator_version": evaluator.version,
                "threshold": evaluator.threshold,
                "judge_fingerprint": evaluator.judge_fingerprint,
                "agent_model": facts.agent_model,
                "agent_fingerprint": case.agent_fingerprint,
                **found.counts(),
                "not_applicable_allowed": found.allowed,
                "not_applicable_required": found.required,
                "curtailed": found.curtailed,
                "score_sum": math.fsum(found.scores) if found.scores else None,
                "score_count": len(found.scores),
                "holes": json_text([hole.as_dict() for hole in holes]) if holes else None,
                "run_kind": facts.run_kind,
                "trigger": facts.trigger,
                "started_at": datetime.fromisoformat(plan.started_at).astimezone(UTC),
            }
