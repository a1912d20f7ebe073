"""A run's counts as the parts of its summary document.

Owns the shape of each part that counts cells and trials; ``steps.documents`` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.plans import Plan
from nightgate.summaries.tallies import Tallies
from nightgate.trials import Ending

SUMMARY_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in figures; ``as_dict()`` is the JSON document of the contract."""

    document: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The JSON document, strict: unknown is None."""
        return dict(self.document)

    @property
    def run_id(self) -> str:
        """The run."""
        return str(self.document["run_id"])

    @property
    def verdict(self) -> str:
        """pass, fail or inconclusive."""
        return str(self.document["verdict"])

    @property
    def exit_code(self) -> int:
        """What the command answers to the shell."""
        return int(self.document["exit_code"])

    @property
    def complete(self) -> bool:
        """Whether the run is committed."""
        return bool(self.document["complete"])


def trial_counts(plan: Plan, endings: Mapping[Ending, int]) -> dict[str, int]:
    """Trials by ending, all endings listed; what has no record was not run."""
    counts = {ending.value: endings.get(ending, 0) for ending in Ending}
    missing = plan.trial_count - sum(counts.values())
    counts[Ending.NOT_RUN.value] += missing
    return {"planned": plan.trial_count, **counts}


def cell_counts(tallies: Tallies) -> dict[str, int]:
    """Cells by status; planned cells without a row count as skipped (the run is open)."""
    total = tallies.total()
    return {
        "planned": total.planned,
        "pass": total.passed,
        "fail": total.failed,
        "measured": total.measured,
        "not_applicable": total.not_applicable,
        "error": total.error,
        "skipped": total.skipped + total.missing,
    }


def flaky(tallies: Tallies) -> list[dict[str, Any]]:
    """Cases with both outcomes under one evaluator, in suite order: a fact of this run, no label."""
    return [
        {"case": case.case_id, "evaluator": planned.name, "passed": found.passed, "judged": found.judged}
        for case in tallies.plan.cases
        for planned in tallies.plan.evaluators
        if planned.name in tallies.told(case)
        for found in (tallies.cells[case.case_id, planned.name],)
        if 0 < found.passed < found.judged
    ]


def layers(tallies: Tallies) -> dict[str, dict[str, int]]:
    """Passed and failed cells by layer."""
    found: dict[str, dict[str, int]] = {}
    for case in tallies.plan.cases:
        row = found.setdefault(case.layer, {"passed": 0, "failed": 0})
        for name in tallies.told(case):
            row["passed"] += tallies.cells[case.case_id, name].passed
            row["failed"] += tallies.cells[case.case_id, name].counted_failed
    return found


def case_counts(tallies: Tallies) -> list[dict[str, Any]]:
    """Counts of each case and evaluator, in suite order.

    ``failed`` holds required findings that did not apply, as the gate counts them; they and the
    allowed ones are parts of ``not_applicable`` too.
    """
    return [
        {
            "case": case.case_id,
            "evaluator": name,
            "layer": case.layer,
            "family": case.family,
            "language": case.language,
            **found.counts(),
            "failed": found.counted_failed,
            "allowed": found.allowed,
            "required": found.required,
            "open": found.open,
        }
        for case in tallies.plan.cases
        for name in tallies.told(case)
        for found in (tallies.cells[case.case_id, name],)
    ]
