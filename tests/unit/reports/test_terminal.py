"""The end of a run as people read it."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.reports import terminal
from nightgate.reports.text import family_outcome

COST = {
    "agent": 0.0, "judge": 0.0, "user": 0.0, "total": 0.0, "unpriced_calls": 0,
    "at_least": {"agent": 0.0, "judge": 0.0, "user": 0.0, "total": 0.0},
}  # fmt: skip


NO_HOLES = {"measured": 0, "not_applicable": 0, "error": 0, "skipped": 0}


def an_evaluator(**more: Any) -> dict[str, Any]:
    """An evaluator's entry: 3 of 4 passed, one failed."""
    entry = {
        "name": "E", "kind": "code", "threshold": "1.0", "planned": 4, "passed": 3, "failed": 1, "judged": 4,
        "measured": 0, "not_applicable": 0, "error": 0, "skipped": 0, "coverage": 1.0, "pass_rate": 0.75,
        "interval": [0.3, 0.95], "pass_k": {"1": 0.75}, "mean_score": 0.75, "verdict": "fail",
        "failed_cases": ["a"], "open_cases": [], "holes": [],
        "required_not_applicable": 0, "capability": None,
    }  # fmt: skip
    return entry | more


def a_summary(**more: Any) -> dict[str, Any]:
    """A run's summary document with the parts that the terminal shows."""
    document: dict[str, Any] = {
        "run_id": "demo-1", "suite": "demo", "complete": True, "verdict": "fail", "exit_code": 1,
        "stopped": None, "wall_s": 1.0, "model": "scripted:m", "judge": None,
        "trials": {"planned": 4, "completed": 4},
        "cells": {"planned": 4, "pass": 3, "fail": 1} | NO_HOLES,
        "evaluators": [an_evaluator()], "families": {}, "family_details": {}, "skills": None,
        "conversations": None, "curtailed": None, "endings": {}, "flaky": [],
        "failures": [], "findings": [], "live": False,
        "filters": {}, "warnings": [], "cost_usd": COST, "budget_usd": None,
        "calls": {"total": 4, "retries": 0, "late": 0},
    }  # fmt: skip
    return document | more


def lines(**more: Any) -> list[str]:
    """What is printed."""
    return terminal.render(a_summary(**more)).splitlines()


def test_beside_a_rate_stands_how_many_cells_it_rests_on() -> None:
    """75% of four is another thing than 75% of four out of nine."""
    row = an_evaluator(planned=9, judged=4)

    printed = next(line for line in lines(evaluators=[row]) if line.startswith("  E"))

    assert printed.split() == ["E", "75%", "[30%,", "95%]", "3", "of", "9", "4", "of", "9", "1.0", "-"]


def test_an_evaluator_that_judged_nothing_reads_not_measured() -> None:
    """Not 0%, not 100% and not blank."""
    row = an_evaluator(passed=0, failed=0, judged=0, pass_rate=None, mean_score=None, interval=None)

    assert any("not measured" in line and "0 of 4" in line for line in lines(evaluators=[row]))


def test_a_metric_shows_its_mean_over_what_was_measured() -> None:
    """It has no rate."""
    row = an_evaluator(threshold=None, judged=0, passed=0, measured=4, pass_rate=None, mean_score=2.5)

    printed = next(line for line in lines(evaluators=[row]) if line.startswith("  E"))

    assert "mean 2.5" in printed
    assert "4 of 4" in printed


FAILED = {"case": "a", "layer": "behavior", "evaluator": "ToolPolicy"}
ORDER = {"case": "b", "layer": "parameter", "evaluator": "ArgumentPolicy"}


def row(outcome: str, *failed_by: dict[str, str]) -> dict[str, Any]:
    """A family in one language."""
    return {"outcome": outcome, "failed_by": list(failed_by)}


def test_a_family_that_fails_in_one_language_is_named_with_the_layer() -> None:
    """The line says who repairs it."""
    family = {"en": row("pass"), "es": row("fail", ORDER)}

    assert "family oldest: en pass, es fail (parameter: ArgumentPolicy)" in lines(
        family_details={"oldest": family}
    )


def test_a_family_that_fails_everywhere_for_different_reasons_is_named() -> None:
    """Two repairs, not one."""
    family = {"en": row("fail", FAILED), "es": row("fail", ORDER)}

    assert "family f: en fail (behavior: ToolPolicy), es fail (parameter: ArgumentPolicy)" in lines(
        family_details={"f": family}
    )


@pytest.mark.parametrize("languages", [{"en": row("pass"), "es": row("pass")}, {"en": row("fail", FAILED)}])
def test_a_family_that_comes_out_the_same_needs_no_line(languages: dict[str, Any]) -> None:
    """The evaluators' lines name its cases already."""
    assert not any(line.startswith("family") for line in lines(family_details={"f": languages}))


def test_many_split_families_are_counted() -> None:
    """A suite of 50 cases fits a screen."""
    family = {"en": row("pass"), "es": row("fail", ORDER)}

    printed = lines(family_details={f"f{number}": family for number in range(11)})

    assert sum(line.startswith("family ") for line in printed) == 8
    assert "and 3 more families that differ by language" in printed


def test_a_layer_that_failed_twice_is_named_once() -> None:
    """With each evaluator that failed in it."""
    told = family_outcome(row("fail", FAILED, FAILED, {**FAILED, "evaluator": "AnswerPolicy"}))

    assert told == "fail (behavior: ToolPolicy, AnswerPolicy)"


def test_both_coverages_of_skills_are_shown() -> None:
    """Loads that were wanted, and invocations that a judge could look at."""
    skills = {
        "expected_loads": {"planned": 9, "observed": 7, "coverage": 7 / 9},
        "invocations": {
            "seen": 8,
            "judgeable": 7,
            "coverage": 7 / 8,
            "outcomes": {"loaded": 7, "no_body": 1},
        },
    }

    assert (
        "skills: 7 of 9 expected loads observed, 7 of 8 invocations with evidence to judge "
        "(7 loaded, 1 no body)" in lines(skills=skills)
    )


def a_failure(status: str, reason: str, **more: Any) -> dict[str, Any]:
    """An entry of the failures."""
    entry = {"case": "a", "evaluator": "E", "status": status, "blame": None, "count": 1, "reason": reason}
    return entry | {"stage": "regression"} | more


def test_what_failed_comes_before_what_was_not_judged() -> None:
    """Twenty holes must not push a forbidden action off the screen."""
    holes = [a_failure("error", f"broken {n}") for n in range(20)]

    printed = lines(failures=[*holes, a_failure("fail", "forbidden pay")])

    assert printed[printed.index("FAIL  demo  (scripted:m)") + 1] == "  fail a E: forbidden pay"


def test_a_failed_capability_is_told_from_a_failed_gate() -> None:
    """It is reported and stops nothing."""
    printed = lines(failures=[a_failure("fail", "not yet", stage="capability")])

    assert "  fail a E: not yet (capability, does not gate)" in printed


def test_capability_cells_that_the_table_leaves_out_are_counted() -> None:
    """The table shows what gates."""
    row = an_evaluator(capability={"passed": 1, "planned": 2})

    assert "  E: 1 of 2 cells passed that do not gate (capability)" in lines(evaluators=[row])


def test_cells_in_quarantine_are_not_called_capability_cells() -> None:
    """A regression case is one in quarantine, too."""
    row = an_evaluator(capability={"passed": 0, "planned": 3})
    kept = {
        "case": "a",
        "owner": "ann",
        "reason": "r",
        "until": "2026-12-01",
        "days_left": 1,
        "expired": False,
    }

    printed = lines(evaluators=[row], quarantined=[kept])

    assert "  E: 0 of 3 cells passed that do not gate (capability, quarantine)" in printed


def test_a_required_finding_that_did_not_apply_is_explained() -> None:
    """The rate counts it as failed and the judged do not."""
    hole = {
        "status": "not_applicable",
        "blame": None,
        "count": 1,
        "reason": "no skill invoked",
        "cases": ["a"],
    }
    row = an_evaluator(not_applicable=1, required_not_applicable=1, holes=[hole])

    assert any("1 of them required, so counted as failed" in line for line in lines(evaluators=[row]))


def test_a_run_that_measured_nothing_says_so_once() -> None:
    """Not once for each of six judges."""
    rows = [an_evaluator(name=f"J{n}", judged=0, passed=0, failed=0) for n in range(6)]
    findings = [{"evaluator": f"J{n}", "text": f"J{n}: inconclusive"} for n in range(6)]
    findings.append({"evaluator": None, "text": "nothing measured: none of 24 planned cells was judged"})

    printed = lines(evaluators=rows, findings=findings)

    assert not any("inconclusive" in line for line in printed)
    assert any(line.startswith("nothing measured") for line in printed)


def test_warnings_stand_at_the_end_too() -> None:
    """What was printed before the run has scrolled away."""
    assert "warning: names the tool 'pya'" in lines(warnings=["names the tool 'pya'"])


def test_families_that_pass_everywhere_are_counted() -> None:
    """A report shows what passed, not only what differs."""
    both = {"en": row("pass"), "es": row("pass")}

    assert "families: 1 of 2 pass in every language" in lines(
        family_details={"a": both, "b": {"en": row("fail", FAILED), "es": row("fail", FAILED)}}
    )


def test_the_next_command_keeps_the_runs_filters_and_its_live_models() -> None:
    """Without them it would play another grid on another model."""
    printed = lines(
        evaluators=[an_evaluator(failed_cases=[])],
        exit_code=3,
        live=True,
        filters={"case": ["a b"], "layer": ["skill"]},
    )

    assert printed[-1] == "next: nightgate run SUITE --reuse demo-1 --live --case 'a b' --layer skill"


def test_judged_not_applicable_and_missing_are_three_things() -> None:
    """A hole is neither a pass nor a silence."""
    cells = {"planned": 9, "pass": 3, "fail": 1, "measured": 0, "not_applicable": 2, "error": 2, "skipped": 1}

    assert "  cells: 9 planned, 4 judged, 2 not applicable, 3 missing (2 error, 1 skipped)" in lines(
        cells=cells
    )


def test_what_was_not_judged_stands_beside_its_evaluator_with_the_reason() -> None:
    """Also when other things failed: a hole must not drown among failures."""
    hole = {
        "status": "not_applicable",
        "blame": None,
        "count": 2,
        "reason": "no skill invoked",
        "cases": ["a"],
    }
    row = an_evaluator(planned=6, not_applicable=2, holes=[hole])

    printed = lines(evaluators=[row], failures=[a_failure("fail", f"bad {n}") for n in range(30)])

    assert "  E: judged 4 of 6: 2 not applicable (no skill invoked)" in printed


def test_what_started_a_run_by_itself_is_its_second_line() -> None:
    """Nobody asked for it: the first question is why it ran."""
    lines = terminal.render(a_summary(reason="s3://kb/index.json\x1b[2J changed")).splitlines()

    assert lines[1] == "  started because s3://kb/index.json changed"
    assert "started because" not in terminal.render(a_summary())
