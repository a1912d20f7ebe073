"""What stands in a sheet, and which labels and verdicts are taken for what."""

from __future__ import annotations

from typing import Any

import pytest

from makers import a_case, a_plan, a_planned_case
from nightgate.calibration import Judgement, Label, Labels
from nightgate.calibration.drawing import Judged
from nightgate.rows.jsontext import json_text
from nightgate.steps.calibrating import _misfits, _unmet, _verdict
from nightgate.steps.labelling import _output, _question


def test_of_a_conversation_all_that_was_said_is_shown() -> None:
    """The last answer alone says nothing about a talk."""
    turns = [{"turn": 1, "user": "Hello?", "agent": "Hi."}, {"turn": 2, "user": "Bye.", "agent": "Bye!"}]
    talk = {"end_reason": None, "turns": turns, "simulator": {}}

    shown = _output({"output": "Bye!", "conversation": json_text(talk)})

    assert shown == "User: Hello?\nAgent: Hi.\nUser: Bye.\nAgent: Bye!"


def test_people_get_the_criterion_and_what_was_expected() -> None:
    """They judge by the same words as the judge."""
    case = a_case(
        expect={"judge": [{"id": "tone", "criterion": "Is it friendly?"}]}, expected_output="A yes. [KB-1]"
    )

    assert (
        _question(Judged("Criterion:tone", "a", 0, True), case) == "Is it friendly?\nExpected: A yes. [KB-1]"
    )
    assert _question(Judged("Criterion:tone", "a", 0, True), None) == "Criterion:tone"


@pytest.mark.parametrize(
    ("status", "label", "verdict"),
    [
        ("pass", None, True),
        ("fail", "no", False),
        ("measured", "yes", True),
        ("measured", "fail", False),
        ("measured", "Very good", None),
        ("error", None, None),
        ("not_applicable", "cannot_tell", None),
        ("skipped", None, None),
    ],
)
def test_only_a_verdict_is_one(status: str, label: str | None, verdict: bool | None) -> None:
    """A judge that could not tell, broke, or gave a figure has said neither."""
    row: dict[str, Any] = {"status": status, "label": label}
    assert _verdict(row) is verdict


def test_labels_of_code_are_refused() -> None:
    """Code needs no agreement: it is exact, or it is wrong."""
    label = Label(run_id=None, case_id="a", trial=None, evaluator="ToolPolicy", passed=True)

    (told,) = _misfits(label, {"a"}, {"ToolPolicy": "code"})

    assert told.startswith("evaluator: ToolPolicy is no judge")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, None),
        ({"trial": None}, None),
        ({"run_id": None}, None),
        ({"trial": 99}, "run r has no trial 99 of case 'a', which it plays 2 times"),
        ({"case_id": "b", "run_id": None}, "run r has no case 'b'"),
        ({"evaluator": "F"}, "run r does not ask F of case 'a'"),
        ({"trial": 1}, "run r has no judgement of it: case 'a' failed by the agent's own fault there"),
        ({"run_id": "gone", "trial": 99}, None),
    ],
)
def test_a_label_that_meets_nothing_says_why(more: dict[str, Any], why: str | None) -> None:
    """It was lost in silence. Runs that are not there are told as such, once."""
    plan = a_plan(a_planned_case(a_case("a"), trials=2))
    values: dict[str, Any] = {"run_id": "r", "case_id": "a", "trial": 0, "evaluator": "E"}
    label = Label(**values | more, passed=True, file="people.csv", line=7)
    seen = [Judgement(**values, fingerprint="f", verdict=True)]

    found = [(one.file, one.line, one.why) for one in _unmet(Labels(labels=(label,)), {"r": plan}, "r", seen)]

    assert found == ([] if why is None else [("people.csv", 7, why)])
