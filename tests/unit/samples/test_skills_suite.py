"""The suite's scripts and cases fit together: every situation is there, and plays as it says.

Reads the files as plain YAML and holds the sample data to account, not nightgate's evaluators.
"""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nightgate.evaluators.strands import root_logger_kept
from nightgate_samples.skills.library import on_the_shelf

SUITE = Path(__file__).parents[3] / "cases" / "skills"
JUDGES = ("SkillSelectionAccuracyEvaluator", "SkillInstructionFollowingEvaluator")


def read(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path)


CASES = {case["id"]: case for path in sorted(SUITE.glob("*.yaml")) for case in read(path).get("cases", [])}


def replies(script: str) -> Any:
    return read(SUITE / "scripts" / f"{script}.yaml")["replies"]


def calls(script: str, case_id: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for step in replies(script)[case_id]:
        asked = step.get("call", [])
        for mapping in asked if isinstance(asked, list) else [asked]:
            found += mapping.items()
    return found


def loads(script: str, case_id: str) -> list[str]:
    return [arguments["skill_name"] for tool, arguments in calls(script, case_id) if tool == "skills"]


def test_every_case_is_of_the_layer_skill_and_says_why() -> None:
    assert {case["layer"] for case in CASES.values()} == {"skill"}
    assert all(case["why"] and case["expected_output"] for case in CASES.values())


def test_every_skill_that_a_case_names_is_on_the_shelf() -> None:
    """A misspelt name in not_loaded would hold for ever."""
    shelf = set(on_the_shelf())
    for case_id, case in CASES.items():
        wanted = case["expect"].get("skills", {})
        assert {*wanted.get("loaded", ()), *wanted.get("not_loaded", ())} <= shelf, case_id
        assert set(case["context"].get("outages", ())) <= shelf, case_id


def test_a_skill_must_be_loaded_in_some_case_and_stay_unloaded_in_another() -> None:
    """A suite that only asks for loads would pass an agent that loads everything."""
    loaded = {
        skill for case in CASES.values() for skill in case["expect"].get("skills", {}).get("loaded", ())
    }
    unloaded = {
        skill for case in CASES.values() for skill in case["expect"].get("skills", {}).get("not_loaded", ())
    }
    assert loaded | unloaded == set(on_the_shelf())
    assert loaded & unloaded


@pytest.mark.parametrize("script", ["baseline", "mixed"])
def test_scripts_reply_to_every_case_and_to_no_other(script: str) -> None:
    """A misspelt id would leave a case without a reply."""
    assert sorted(replies(script)) == sorted(CASES)


def test_the_baseline_asks_for_each_mandatory_skill_and_for_no_unwanted_one_that_it_could_get() -> None:
    for case_id, case in CASES.items():
        wanted = case["expect"].get("skills", {})
        asked = loads("baseline", case_id)
        assert set(wanted.get("loaded", ())) <= set(asked), case_id
        if case_id != "group-external":  # there the rule refuses it
            assert not set(wanted.get("not_loaded", ())) & set(asked), case_id


def test_the_unskilled_model_never_asks_for_a_skill() -> None:
    assert not [case_id for case_id in replies("unskilled") if loads("unskilled", case_id)]


def test_no_check_of_code_asks_for_a_skill_where_skills_are_optional() -> None:
    """The run of these cases must be decided by the judges alone."""
    optional = [case for case in CASES.values() if "optional" in case["tags"]]
    assert optional
    for case in optional:
        assert "skills" not in case["expect"]
        assert not {"may_skip", "require"} & set(case)


def test_steps_are_judged_only_where_a_choice_is() -> None:
    """A skill that was followed was chosen first."""
    assert all("choice" in case["tags"] for case in CASES.values() if "steps" in case["tags"])


@pytest.mark.parametrize("name", JUDGES)
def test_the_judge_script_fills_the_schemas_that_the_strands_judges_ask_for(name: str) -> None:
    """A renamed field or label in a new library version shows up here, not at night."""
    with root_logger_kept():
        from strands_evals.evaluators import (
            skill_instruction_following_evaluator,
            skill_selection_accuracy_evaluator,
        )
    schemas: dict[str, Any] = {
        "SkillSelectionAccuracyEvaluator": skill_selection_accuracy_evaluator.SkillSelectionRating,
        "SkillInstructionFollowingEvaluator": skill_instruction_following_evaluator.SkillFollowingRating,
    }
    judgements = read(SUITE / "scripts" / "judge.yaml")["judgements"]
    assert set(judgements) == set(JUDGES)
    for judgement in judgements[name].values():
        for entry in judgement.get("first_match", [judgement]):
            schemas[name](**entry["fields"])


def test_both_judges_gate_at_85_percent_also_offline() -> None:
    evaluators = read(SUITE / "suite.yaml")["evaluators"]
    assert [evaluators[name]["threshold"] for name in JUDGES] == [0.85, 0.85]
    assert not [name for name in JUDGES if "when" in evaluators[name]]
