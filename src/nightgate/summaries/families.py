"""The same intent in several languages: where one passes and another fails.

Owns the grouping of cases by family and language, and the outcome of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nightgate.plans import PlannedCase
from nightgate.summaries.tallies import Tallies, Tally

UNTOLD = "und"
"""The language of cases that name none (ISO 639: undetermined)."""


def families(tallies: Tallies) -> dict[str, dict[str, str]]:
    """For each family and language: its outcome.

    fail if any cell failed, pass if all are covered and at least one passed, else inconclusive.
    """
    return {
        family: {language: found["outcome"] for language, found in row.items()}
        for family, row in family_details(tallies).items()
    }


def family_details(tallies: Tallies) -> dict[str, dict[str, dict[str, Any]]]:
    """For each family and language: outcome, cases, counts of cells, and what failed in which layer."""
    grouped: dict[str, dict[str, list[PlannedCase]]] = {}
    for case in tallies.plan.cases:
        if case.family is not None:
            row = grouped.setdefault(case.family, {})
            row.setdefault(case.language or UNTOLD, []).append(case)
    return {
        family: {language: _group(tallies, cases) for language, cases in row.items()}
        for family, row in grouped.items()
    }


def _group(tallies: Tallies, cases: Sequence[PlannedCase]) -> dict[str, Any]:
    total = Tally()
    for _, _, found in _cells(tallies, cases):
        total += found
    return {
        "outcome": _outcome(total),
        "cases": [case.case_id for case in cases],
        "planned": total.planned,
        "passed": total.passed,
        "failed": total.counted_failed,
        "open": total.open,
        "failed_by": [
            {"case": case.case_id, "layer": case.layer, "evaluator": name}
            for case, name, found in _cells(tallies, cases)
            if found.counted_failed
        ],
    }


def _cells(tallies: Tallies, cases: Sequence[PlannedCase]) -> Iterator[tuple[PlannedCase, str, Tally]]:
    for case in cases:
        for name in tallies.told(case):
            yield case, name, tallies.cells[case.case_id, name]


def _outcome(total: Tally) -> str:
    if total.counted_failed:
        return "fail"
    # Figures without a threshold, and findings that may be skipped, cover a cell and pass nothing.
    return "pass" if total.passed and total.covered == total.planned else "inconclusive"
