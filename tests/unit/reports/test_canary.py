"""A night's canaries as lines."""

from __future__ import annotations

from typing import Any

from nightgate.reports.canary import render
from nightgate.steps.canarydocs import not_judged


def a_document(**more: Any) -> dict[str, Any]:
    """A night without an alarm."""
    return {**not_judged("n1", "demo", "x"), "text": "0 of 4 verdicts flipped, no drift", **more}


def test_a_suite_without_canaries_has_no_line() -> None:
    """It did not ask for any."""
    assert render(None) == []


def test_a_calm_night_is_one_line() -> None:
    """Nothing to read is nothing to print."""
    assert render(a_document()) == ["canary: 0 of 4 verdicts flipped, no drift"]


def test_an_alarm_names_the_evaluator_its_direction_and_the_flips() -> None:
    """Who reads it looks at these verdicts next."""
    entry = {"name": "Criterion:x", "alarm": True, "direction": "more lenient", "flips": 5, "judged": 20}
    flip = {"case": "c1", "trial": 0, "evaluator": "Criterion:x", "before": "fail", "now": "pass"}
    document = a_document(
        alarm=True, drift=True, evaluators=[{**entry, "to_pass": 5, "to_fail": 0}], flipped=[flip] * 7
    )

    lines = render(document)

    assert lines[0].startswith("canary: ALARM: ")
    assert lines[1] == "  Criterion:x is more lenient: 5 of 20 verdicts flipped (5 to pass, 0 to fail)"
    assert lines[2] == "  c1 trial 0: Criterion:x said fail, now pass"
    assert lines[-1] == "  and 2 more"


def test_an_attack_that_passed_says_whether_an_empty_answer_does_too() -> None:
    """Then the criterion asks nothing of the answer, and the judge obeyed nobody."""
    passed = {"case": "c1", "evaluator": "Criterion:x", "attack": "fake-system"}
    attacks = {
        "planted": 5,
        "judged": 5,
        "passed": [{**passed, "plain": "fail"}, {**passed, "plain": "pass"}],
    }

    lines = render(a_document(alarm=True, attacks=attacks))

    assert lines[1] == "  c1: attack fake-system is passed by Criterion:x"
    assert lines[2] == f"{lines[1]}, as is a plain text that answers nothing"


def test_what_is_left_out_is_told_without_control_characters() -> None:
    """Case ids are any text, and a terminal obeys some."""
    lines = render(a_document(left_out={"the case was edited": 2}, frozen=["case 'a\x1b[2J' is new"]))

    assert lines[1:] == ["  left out: 2 frozen trials, the case was edited", "  case 'a' is new"]
