"""The skills suite from the shell: a pass, nothing to judge, and missing are three things."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shell import ROOT, Ran, nightgate

SKILLS = ROOT / "cases" / "skills"
CHOICE, STEPS = "SkillSelectionAccuracyEvaluator", "SkillInstructionFollowingEvaluator"


def run(suite: Path, store: Path, *args: str, model: str | None = None) -> Ran:
    named = ("--model", f"scripted:{model}") if model else ()
    return nightgate("run", suite, "--store", store, *named, *args, "--json", "-")


def cells(summary: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The status of each cell; there is one trial a case."""
    found: dict[tuple[str, str], str] = {}
    for row in summary["cases"]:
        # ``failed`` counts a required not-applicable too: the status is the narrower word.
        words = ("not_applicable", "passed", "failed", "error", "skipped")
        found[row["case"], row["evaluator"]] = next(word for word in words if row[word])
    return found


def of_case(case: str, found: Mapping[tuple[str, str], str]) -> dict[str, str]:
    return {evaluator: word for (of, evaluator), word in found.items() if of == case}


def verdicts(summary: Mapping[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["verdict"] for entry in summary["evaluators"]}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run of the script in which everything happens; its tests only read."""
    return run(SKILLS, tmp_path_factory.mktemp("mixed"), model="mixed")


def test_a_healthy_agent_passes_everything(tmp_path: Path) -> None:
    """The default script, as in every shipped suite; what may be skipped is no hole."""
    ran = run(SKILLS, tmp_path)

    assert ran.code == 0, ran.err
    assert set(verdicts(ran.json).values()) == {"pass"}
    assert ran.json["skills"]["expected_loads"] == {"planned": 8, "observed": 8, "coverage": 1.0}
    unjudged = [key for key, word in cells(ran.json).items() if word == "not_applicable"]
    assert sorted(unjudged) == [
        ("insurance-claim", STEPS),
        ("nothing-on-offer", CHOICE),
        ("trip-times", CHOICE),
    ]
    assert {row["allowed"] for row in ran.json["cases"] if row["not_applicable"]} == {1}


def test_in_the_mixed_run_each_situation_reads_as_what_it_is(mixed: Ran) -> None:
    """Loaded and followed, not followed, never loaded, rejected, broken, waiting, without a body."""
    found = cells(mixed.json)

    assert mixed.code == 1, mixed.err
    assert set(of_case("expense-lisbon", found).values()) == {"passed"}
    assert of_case("expense-turin", found) == {
        "ToolPolicy": "passed",
        "SkillPolicy": "passed",
        "SkillInvoked": "passed",
        CHOICE: "passed",
        STEPS: "failed",
    }
    never = {
        "ToolPolicy": "passed",
        "SkillPolicy": "failed",
        CHOICE: "not_applicable",
        STEPS: "not_applicable",
    }
    assert of_case("visa-osaka", found) == never
    unreceived = {"ToolPolicy": "passed", "SkillPolicy": "failed", CHOICE: "passed", STEPS: "not_applicable"}
    assert of_case("change-train", found) == unreceived
    assert of_case("luggage-oslo", found) == unreceived
    assert of_case("advance-approved", found) == {
        "ToolPolicy": "failed",
        "SkillPolicy": "failed",
        "AdvanceInvoked": "failed",
        CHOICE: "passed",
        STEPS: "not_applicable",
    }
    assert of_case("insurance-claim", found) == {
        "ToolPolicy": "failed",
        "SkillPolicy": "passed",
        CHOICE: "passed",
        STEPS: "not_applicable",
    }
    assert of_case("group-external", found) == {
        "ToolPolicy": "failed",
        "SkillPolicy": "passed",
        CHOICE: "passed",
    }
    assert of_case("trip-times", found) == {"ToolPolicy": "passed", "SkillPolicy": "failed", CHOICE: "failed"}
    assert of_case("nothing-on-offer", found) == {
        "ToolPolicy": "passed",
        "SkillPolicy": "passed",
        CHOICE: "not_applicable",
    }


def test_what_is_missing_is_an_error_that_blames_nobody_of_the_agents(mixed: Ran) -> None:
    """The model could not be reached for one case: neither a fail nor nothing to judge."""
    assert set(of_case("visa-osaka-de", cells(mixed.json)).values()) == {"error"}
    holes = {
        (hole["status"], hole["blame"])
        for entry in mixed.json["evaluators"]
        for hole in entry["holes"]
        if "visa-osaka-de" in hole["cases"]
    }
    assert holes == {("error", "infra")}


def test_the_mixed_run_counts_passes_holes_and_errors_apart(mixed: Ran) -> None:
    """One sum of them would hide the other two."""
    counts = mixed.json["cells"]
    assert counts["planned"] == 49
    assert (counts["not_applicable"], counts["error"], counts["skipped"]) == (9, 4, 0)
    steps = next(entry for entry in mixed.json["evaluators"] if entry["name"] == STEPS)
    assert (steps["planned"], steps["judged"], steps["passed"]) == (9, 2, 1)
    assert {hole["reason"] for hole in steps["holes"] if hole["status"] == "not_applicable"} >= {
        "no skill invoked",
        "travel-advance: skill body unavailable",
        "travel-insurance: skill body unavailable",
    }


def test_the_mixed_run_shows_both_coverages_of_skills(mixed: Ran) -> None:
    """Expected loads that were seen, and invocations with enough evidence to judge."""
    assert mixed.json["skills"] == {
        "expected_loads": {"planned": 8, "observed": 3, "coverage": 3 / 8},
        "invocations": {
            "seen": 8,
            "judgeable": 3,
            "coverage": 3 / 8,
            "outcomes": {"failed": 1, "loaded": 3, "no_body": 1, "no_result": 1, "rejected": 2},
        },
    }


def test_a_fail_says_which_load_was_expected_and_what_came_of_it(mixed: Ran) -> None:
    """The reader of the report must not have to open the transcript."""
    told = {
        failure["case"]: (failure["expected"], failure["observed"])
        for failure in mixed.json["failures"]
        if failure["evaluator"] == "SkillPolicy" and failure["status"] == "fail"
    }
    assert told["visa-osaka"] == ("loaded: visa-letter", "no skill was asked for")
    assert told["advance-approved"] == ("loaded: travel-advance", "travel-advance no_result")
    assert told["luggage-oslo"][1].startswith("lost-luggage failed (Error: ConnectionError - ")
    assert told["change-train"][1].startswith("change-trip rejected (Skill 'change-trip' not found.")


def test_with_nothing_for_any_judge_to_judge_the_run_is_inconclusive(tmp_path: Path) -> None:
    """No check of code fails there, and that is not enough to pass."""
    ran = run(SKILLS, tmp_path, "--tag", "optional", model="unskilled")

    assert ran.code == 3, ran.err
    assert verdicts(ran.json) == {"ToolPolicy": "pass", CHOICE: "inconclusive", STEPS: "inconclusive"}
    rates = {entry["name"]: entry["pass_rate"] for entry in ran.json["evaluators"]}
    assert rates == {"ToolPolicy": 1.0, CHOICE: None, STEPS: None}


def test_an_evaluator_that_judged_nothing_reads_not_measured(tmp_path: Path) -> None:
    """Never 0%, never 100%."""
    ran = nightgate("run", SKILLS, "--store", tmp_path, "--tag", "optional", "--model", "scripted:unskilled")

    assert ran.code == 3
    assert re.search(rf"^\s*{CHOICE}\s+not measured\s", ran.out, re.MULTILINE)
    assert re.search(rf"^\s*{STEPS}\s+not measured\s", ran.out, re.MULTILINE)


def test_over_the_whole_suite_the_model_without_skills_is_rejected(tmp_path: Path) -> None:
    """SkillPolicy asks for the loads that the judges say nothing about."""
    ran = run(SKILLS, tmp_path, model="unskilled")

    assert ran.code == 1, ran.err
    assert verdicts(ran.json)["SkillPolicy"] == "fail"
    assert verdicts(ran.json)[STEPS] == "inconclusive"


@pytest.mark.parametrize(("required", "code"), [(False, 3), (True, 1)])
def test_a_mandatory_skill_that_never_loaded_cannot_pass_whatever_the_judges_say(
    tmp_path: Path, required: bool, code: int
) -> None:
    """Without a check of the load the judges alone decide; the installed ones flag it as passed.

    ``require`` makes a failure of what is otherwise nothing to judge; neither is ever a pass.
    """
    suite = tmp_path / "skills"
    shutil.copytree(SKILLS, suite)
    lines = (suite / "optional.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    if required:
        lines.insert(
            next(n for n, line in enumerate(lines) if "expect:" in line), f"    require: [{CHOICE}]\n"
        )
    (suite / "optional.yaml").write_text("".join(lines), encoding="utf-8")

    ran = run(suite, tmp_path / "s", "--tag", "optional", model="unskilled")

    assert ran.code == code, ran.err
    (choice,) = (entry for entry in ran.json["evaluators"] if entry["name"] == CHOICE)
    assert (choice["passed"], choice["verdict"]) == (0, "fail" if required else "inconclusive")
    if required:
        (row,) = (row for row in ran.json["cases"] if row["evaluator"] == CHOICE)
        assert (row["required"], row["not_applicable"]) == (1, 1)


def test_may_skip_alone_never_makes_a_judge_green(tmp_path: Path) -> None:
    """Every cell of it is allowed to be skipped, and then nothing was measured."""
    ran = run(SKILLS, tmp_path, "--case", "nothing-on-offer")

    assert ran.code == 3, ran.err
    assert verdicts(ran.json) == {"ToolPolicy": "pass", "SkillPolicy": "pass", CHOICE: "inconclusive"}


def test_what_the_budget_stopped_is_skipped_and_not_judged(tmp_path: Path) -> None:
    """The third kind of missing: nobody even asked."""
    ran = run(SKILLS, tmp_path, "--budget-usd", "0")

    assert ran.code == 4, ran.err
    assert ran.json["cells"]["skipped"] == 49
    assert ran.json["skills"]["expected_loads"]["observed"] == 0


BLIND = '''
from strands import Agent
from nightgate import Target
from nightgate_samples.skills import build as of_agent


class Hidden:
    """Shows no agent: what it calls cannot be recorded."""

    def __init__(self, agent):
        self._agent = agent

    async def invoke_async(self, text):
        return await self._agent.invoke_async(text)


def build(model, case):
    return Target(Hidden(of_agent(model, case).agent))
'''


def test_with_the_trajectory_missing_every_check_of_skills_is_an_error(tmp_path: Path) -> None:
    """The same agent and the same right answers, but nobody could record a call: no verdict at all."""
    suite = tmp_path / "skills"
    shutil.copytree(SKILLS, suite)
    (suite / "blind.py").write_text(BLIND, encoding="utf-8")
    text = (suite / "suite.yaml").read_text(encoding="utf-8")
    (suite / "suite.yaml").write_text(
        text.replace("nightgate_samples.skills:build", "blind:build"), encoding="utf-8"
    )

    ran = run(suite, tmp_path / "s")

    assert ran.code == 3, ran.err
    assert set(cells(ran.json).values()) == {"error"}
    holes = {(h["status"], h["blame"]) for e in ran.json["evaluators"] for h in e["holes"]}
    assert holes == {("error", "evaluator")}
