"""What a run shows of skills: expected loads that were seen, invocations that can be judged.

Owns two coverages that no pass rate shows. Expected loads are planned from the suite, so a trial
that left no row is a hole in them; invocations are what ``SkillPolicy`` found in the message logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.plans import Plan

EVALUATOR = "SkillPolicy"


@dataclass(slots=True)
class SkillEvidence:
    """Counts over the cells of ``SkillPolicy``."""

    observed: int = 0
    judgeable: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, found: Mapping[str, Any]) -> None:
        """Count one cell's ``skills`` details: ``expected``, ``observed``, ``invocations``."""
        self.observed += len(found["observed"])
        for invocation in found["invocations"]:
            self.outcomes[invocation["outcome"]] += 1
            self.judgeable += invocation["judgeable"]

    def as_dict(self, plan: Plan) -> dict[str, Any] | None:
        """The ``skills`` part of the JSON summary; None when the run asks nothing about skills."""
        # A case that wants a load counts also where suite.yaml narrows the evaluator away from it.
        asking = [case for case in plan.cases if EVALUATOR in case.evaluators or case.expected_loads]
        if not asking:
            return None
        planned = sum(case.trials * len(case.expected_loads) for case in asking)
        seen = self.outcomes.total()
        return {
            "expected_loads": {
                "planned": planned,
                "observed": self.observed,
                "coverage": self.observed / planned if planned else None,
            },
            "invocations": {
                "seen": seen,
                "judgeable": self.judgeable,
                "coverage": self.judgeable / seen if seen else None,
                "outcomes": dict(sorted(self.outcomes.items())),
            },
        }
