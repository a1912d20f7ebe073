"""A decision as lines: no rate without what it rests on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned, a_planned_case
from nightgate.gates import Decision, decide
from nightgate.reports.decision import render
from nightgate.summaries import tally


def decided(*statuses: str, threshold: str = "0.5", min_coverage: str = "0.5") -> Decision:
    """The decision on one case with these trials."""
    plan = a_plan(a_planned_case(a_case("a"), trials=len(statuses)))
    evaluator = replace(a_planned("E"), threshold=threshold, min_coverage=min_coverage)
    plan = replace(plan, evaluators=(evaluator,), gate={"max_error_share": "0.5"})
    return decide(tally(plan, [("a", "E", status, None, None) for status in statuses]))


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        (("pass", "pass", "error"), "E: 2 of 3 passed (judged 2 of 3), wanted 0.5"),
        (("pass", "pass"), "E: 2 of 2 passed, wanted 0.5"),
        (("fail", "fail", "error"), "E: 0% < 50%, failed [a] (judged 2 of 3)"),
        (("fail", "fail"), "E: 0% < 50%, failed [a]"),
    ],
)
def test_what_was_not_judged_stands_beside_the_rate(statuses: tuple[str, ...], line: str) -> None:
    """A rate over two of three trials reads otherwise than one over all."""
    assert render(decided(*statuses)).splitlines()[1] == line
