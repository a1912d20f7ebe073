"""Parts of the summary document: they add up to what was planned."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned_case
from nightgate import summaries
from nightgate.plans import Plan
from nightgate.scores import Status
from nightgate.summaries import tally
from nightgate.trials import Ending


def a_grid(trials: int = 3, cases: int = 2) -> Plan:
    """Cases c0, c1... with one evaluator E."""
    return a_plan(*(a_planned_case(a_case(f"c{i}"), trials=trials) for i in range(cases)))


@given(statuses=st.lists(st.sampled_from(list(Status)), max_size=6))
def test_cells_add_up_to_what_was_planned(statuses: list[Status]) -> None:
    """Rows that never came are skipped cells, not smaller denominators."""
    plan = a_grid(trials=6, cases=1)

    counts = summaries.cell_counts(
        tally(plan, [("c0", "E", status.value, None, None) for status in statuses])
    )

    assert counts.pop("planned") == 6
    assert sum(counts.values()) == 6


def test_flaky_is_both_outcomes_under_one_evaluator() -> None:
    """A fact of this run, no label."""
    rows = [("c0", "E", "pass", None, None)] * 2 + [("c0", "E", "fail", None, None)]
    rows += [("c1", "E", "fail", None, None)] * 3

    assert summaries.flaky(tally(a_grid(), rows)) == [
        {"case": "c0", "evaluator": "E", "passed": 2, "judged": 3}
    ]


def test_all_endings_are_listed_and_missing_trials_were_not_run() -> None:
    """Also when 0."""
    counts = summaries.trial_counts(a_grid(), {Ending.COMPLETED: 4})

    assert set(counts) == {"planned", *(ending.value for ending in Ending)}
    assert (counts["planned"], counts["completed"], counts["not_run"]) == (6, 4, 2)


def test_counts_of_a_case_tell_allowed_from_required_not_applicables() -> None:
    """One is no hole, the other is a failure; both are not_applicable in the rows."""
    plan = a_plan(
        replace(a_planned_case(a_case("free"), trials=1), may_skip=("E",)),
        replace(a_planned_case(a_case("due"), trials=1), require=("E",)),
    )
    rows = [(case, "E", "not_applicable", None, None) for case in ("free", "due")]

    free, due = summaries.case_counts(tally(plan, rows))

    assert (free["not_applicable"], free["allowed"], free["failed"], free["open"]) == (1, 1, 0, 0)
    assert (due["not_applicable"], due["required"], due["failed"], due["open"]) == (1, 1, 1, 0)
