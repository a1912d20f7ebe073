"""What a night found beyond its gate, in words."""

from __future__ import annotations

from typing import Any

from nightgate.reports.night import night_lines

QUIET: dict[str, Any] = {
    "event": None,
    "newly_broken": [],
    "newly_fixed": [],
    "still_broken": [],
    "suspects": [],
    "rerun_trials": 0,
    "rerun_run": None,
}


def an_entry(case: str, **more: Any) -> dict[str, Any]:
    """A case that moved."""
    values: dict[str, Any] = {
        "case": case,
        "evaluator": "ToolPolicy",
        "passed": 0,
        "failed": 3,
        "judged": 3,
        "base_rate": 0.02,
        "since_date": "2026-11-01",
        "reruns": {"passed": 0, "judged": 4, "played": 4},
    }
    return values | more


def test_a_night_without_news_is_silent() -> None:
    """Lines that say nothing are not read twice."""
    assert night_lines(QUIET, None) == []
    assert night_lines({"night": False, "reason": "a filtered run is no night"}, None) == []


def test_what_broke_is_named_with_its_evidence() -> None:
    """Failures of the night, of the nights before, and of the reruns."""
    broken = QUIET | {"newly_broken": [an_entry("refund")], "rerun_trials": 4, "rerun_run": "n-rerun"}

    assert night_lines(broken, None) == [
        "newly broken: refund (ToolPolicy), passed 0 of 3, 98% before; 0 of 4 reruns passed",
        "reruns: 4 trials of suspects in n-rerun",
    ]


def test_many_cases_are_counted_instead_of_listed() -> None:
    """The end of a run fits on a screen."""
    lines = night_lines(QUIET | {"still_broken": [an_entry(f"c{n}") for n in range(8)]}, None)

    assert len(lines) == 6
    assert lines[-1] == "still broken: and 3 more"


def test_control_characters_of_a_case_are_no_commands() -> None:
    """Ids are verbatim text of other people."""
    (line,) = night_lines(QUIET | {"newly_fixed": [an_entry("a\x1b[2Jb", passed=3, failed=0)]}, None)

    assert "\x1b" not in line


def test_what_could_not_be_told_is_said() -> None:
    """Silence would read as all is well."""
    lines = night_lines({"night": False, "error": "flakiness/x.json is damaged"}, {"error": "no judge"})

    assert lines == ["flaky or broken: NOT told: flakiness/x.json is damaged", "canary: not judged: no judge"]


def test_capability_cases_that_pass_steadily_are_proposed_with_the_command() -> None:
    """Whoever reads the morning's report is whoever may promote them."""
    steady = QUIET | {"promotable": [f"c{n}" for n in range(7)], "suite_path": "cases/my bot"}

    assert night_lines(steady, None) == [
        "could gate, steady by now: c0, c1, c2, c3, c4 and 2 more; nightgate promote-case 'cases/my bot' c0"
    ]
