"""The page of a run: the verdict first, every figure the summary's own."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.reports.pages.casepage import Glance, case_file
from nightgate.reports.pages.runpage import failing, run_page, slowest, worst_of
from nightgate.reports.pages.values import RunFacts
from pagereader import Page, figures_of
from playedruns import a_run_plan
from rundocs import a_failure, a_row, a_summary, an_evaluator


def page_of(summary: dict[str, Any], *cases: str, **more: Any) -> Page:
    """The page of a run with these cases."""
    plan = a_run_plan(cases or ("late",), trials=3)
    rows: dict[str, dict[str, int]] = {}
    for position, row in enumerate(summary["cases"]):
        rows.setdefault(row["case"], {})[row["evaluator"]] = position
    glances = {
        case: Glance(case, case_file(case), (0, 1, 2), {"ToolPolicy": ["pass", "fail", "pass"]}, ())
        for case in rows
    }
    return Page(run_page(RunFacts(plan=plan, summary=summary, **more), glances, rows))


FAILED = a_summary(
    a_row("late", passed=2, failed=1, planned=3),
    a_row("early", passed=3, planned=3),
    verdict="fail",
    code=1,
    evaluators=[an_evaluator(verdict="fail", passed=5, failed=1, pass_rate=5 / 6, failed_cases=["late"])],
    failures=[a_failure(expected="search_kb called", observed="called <b>no</b> tool")],
    findings=[{"evaluator": "ToolPolicy", "text": "ToolPolicy: 83% < 100%, failed [late]"}],
    flaky=[{"case": "late", "evaluator": "ToolPolicy", "passed": 2, "judged": 3}],
)


def test_the_verdict_and_its_reason_come_first_and_the_next_command_with_them() -> None:
    """Whoever opens it in the morning reads the first screen."""
    text = page_of(FAILED, "late", "early").text
    first = text[: text.index("Rate with 95% interval")]

    assert "✗ fail demo" not in first  # the suite's name is the summary's
    assert "✗ fail support" in first
    assert "ToolPolicy: 83% < 100%, failed [late]" in first
    assert "nightgate run cases/demo --case late --trials 3" in first


def test_a_failing_case_has_its_share_its_trials_and_both_sides() -> None:
    """As in "refund-window 2/3", each trial one click away."""
    page = page_of(FAILED, "late", "early")
    failing_part = page.text[page.text.index("Failing cases") :]

    assert failing_part.startswith("Failing cases late 2/3 behavior")
    assert "expected search_kb called observed called <b>no</b> tool" in failing_part
    assert [link for link in page.links if "#trial-" in link][:3] == [
        f"{case_file('late')}#trial-{n}" for n in range(3)
    ]


def test_every_figure_of_the_summary_is_on_the_page_with_its_value() -> None:
    """None is reckoned again, and none is left out but the counts of cases, which have pages of their own."""
    wanted = figures_of({key: value for key, value in FAILED.items() if key != "cases"})

    found = page_of(FAILED, "late", "early").figures

    assert {path: found.get(path) for path in wanted} == {path: {value} for path, value in wanted.items()}


def test_an_open_run_says_so_and_what_is_missing_is_skipped() -> None:
    """A page of half a run must not look like one of a whole."""
    summary = a_summary(
        a_row(passed=1, skipped=2, planned=3),
        verdict="inconclusive",
        code=4,
        complete=False,
        stopped="budget",
    )

    text = page_of(summary).text

    assert "? inconclusive support" in text
    assert "The run is open (stopped by the budget)" in text
    assert "nightgate run cases/demo --resume support-1" in text


def test_what_changed_since_the_baseline_is_named() -> None:
    """With both sides of each case and what else is different."""
    flip = {"case": "late", "evaluator": "ToolPolicy", "before": [3, 3], "now": [0, 3]}
    summary = a_summary(
        a_row(failed=3, planned=3),
        verdict="fail",
        baseline="support-0",
        changes={
            "newly_broken": [flip],
            "newly_fixed": [],
            "not_comparable": [{"case": "x", "reason": "edited"}],
        },
        comparison={
            "base": "support-0", "verdict": "regressed", "text": "ToolPolicy fell", "cases": 7,
            "questions": 1,
            "evaluators": [{"name": "ToolPolicy", "text": "ToolPolicy: 100% to 86%"}],
            "factors": [{"part": "model", "text": "model a -> b"}],
        },
    )  # fmt: skip

    text = page_of(summary).text

    assert "Against support-0: regressed. ToolPolicy fell" in text
    assert "✗ newly broken late ToolPolicy: 3/3 before, 0/3 now" in text
    assert "model a -> b" in text
    assert "1 not comparable x: edited" in text


def test_what_a_night_found_stands_beside_what_wavered_in_the_run() -> None:
    """Flaky is not broken: both are told, apart."""
    entry = {
        "case": "late",
        "evaluator": "ToolPolicy",
        "judged": 3,
        "failed": 3,
        "passed": 0,
        "base_rate": 0.0,
    }
    night = {
        "event": None,
        "newly_broken": [entry | {"since_date": "2026-11-29", "reruns": {"passed": 0, "judged": 4}}],
        "newly_fixed": [], "still_broken": [], "suspects": [], "rerun_run": "demo-1-rerun", "rerun_trials": 4,
    }  # fmt: skip

    text = page_of(FAILED, "late", "early", flakiness=night).text

    assert "Wavered in this run late 2/3 ToolPolicy" in text
    assert "passed 0 of 3, 100% before; 0 of 4 reruns passed, since 2026-11-29" in text


def test_what_could_not_be_read_is_said_in_the_first_screen() -> None:
    """A page without its history must not look as if there was none."""
    text = page_of(FAILED, "late", "early", troubles=["flakiness.json is damaged"]).text

    assert "flakiness.json is damaged" in text[: text.index("Rate with 95% interval")]


def test_failing_cases_of_the_gate_come_before_those_that_are_let_through() -> None:
    """A capability case that fails every night must not push a regression off the screen."""
    summary = a_summary(
        a_row("capable", failed=3, planned=3),
        a_row("held", failed=3, planned=3),
        a_row("late", passed=2, failed=1, planned=3),
        evaluators=[an_evaluator(verdict="fail", failed_cases=["late"])],
        quarantined=[{"case": "held", "expired": False}],
    )

    found = failing(summary, {"held": {}})

    assert [(entry["case"], entry["note"]) for entry in found] == [
        ("late", None),
        ("capable", "does not gate"),
        ("held", "in quarantine"),
    ]


def test_the_slowest_trials_are_those_that_worked_longest() -> None:
    """Waiting for a rate limit is told beside it and counts for nothing."""
    took = [(0, "completed", 10.0, 900.0), (1, "completed", 20.0, 0.0)]
    one = Glance("late", "case-1.html", (0, 1), {}, took)

    assert [(ms, number) for ms, _, _, number, _ in slowest([one])] == [(20.0, 1), (10.0, 0)]


@pytest.mark.parametrize(
    ("counts", "word"),
    [
        ({"passed": 3}, "pass"),
        ({"passed": 2, "failed": 1}, "fail"),
        ({"passed": 2, "error": 1}, "error"),
        ({"skipped": 3}, "skipped"),
        ({"passed": 2, "not_applicable": 1}, "not_applicable"),
        ({"passed": 2, "not_applicable": 1, "allowed": 1}, "pass"),
        ({"measured": 3}, "measured"),
    ],
)
def test_a_field_of_the_grid_is_called_after_its_worst(counts: dict[str, int], word: str) -> None:
    """A hole is never green."""
    assert worst_of(a_row(**counts)) == word
