"""The suite's scripts and cases fit together: what each scripted model must get right and wrong.

Reads the files as plain YAML and judges them by hand, so that these tests hold the sample data and
not nightgate's own evaluators to account.
"""

import logging
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from nightgate_samples.support.knowledge import bundled

SUITE = Path(__file__).parents[3] / "cases" / "support"
CITATION = re.compile(r"\[([A-Z][A-Z0-9]*-[0-9A-Z]+)\]")
JUDGES = (
    "CorrectnessEvaluator",
    "FaithfulnessEvaluator",
    "HelpfulnessEvaluator",
    "ResponseRelevanceEvaluator",
)


def read(path: Path):
    return YAML(typ="safe", pure=True).load(path)


CASES = {case["id"]: case for path in sorted(SUITE.glob("*.yaml")) for case in read(path).get("cases", [])}


def replies(script: str):
    return read(SUITE / "scripts" / f"{script}.yaml")["replies"]


def steps(script: str, case_id: str, trial: int):
    entry = replies(script)[case_id]
    return entry["trials"][trial % len(entry["trials"])] if isinstance(entry, dict) else entry


def tools_fit(script: str, case_id: str, trial: int = 0) -> bool:
    called = set()
    for step in steps(script, case_id, trial):
        calls = step.get("call", [])
        for call in calls if isinstance(calls, list) else [calls]:
            called |= set(call)
    want = CASES[case_id]["expect"]["tools"]
    return set(want["must_call"]) <= called and not called & set(want.get("must_not_call", []))


def cites_fit(script: str, case_id: str, trial: int = 0) -> bool:
    answer = steps(script, case_id, trial)[-1]["say"]
    return set(CITATION.findall(answer)) == set(CASES[case_id]["expect"]["cites"])


def missed(check, script: str, trial: int = 0) -> list[str]:
    return [case_id for case_id in CASES if not check(script, case_id, trial)]


def test_every_case_asks_for_tools_and_citations_and_for_nothing_else() -> None:
    """Both evaluators then have a cell for each of the seven cases."""
    assert len(CASES) == 7
    assert {frozenset(case["expect"]) for case in CASES.values()} == {frozenset({"tools", "cites"})}


def test_three_cases_are_about_what_must_not_happen() -> None:
    unwanted = [case_id for case_id, case in CASES.items() if "must-not" in case["tags"]]

    assert unwanted == ["no-invented-policy", "no-foreign-case", "no-resolve-unconfirmed"]


def test_the_failing_cases_stand_in_suite_order() -> None:
    """The gate lists failed cases in suite order."""
    order = list(CASES)

    assert order.index("refund-out-of-window") < order.index("no-resolve-unconfirmed")


def test_every_expected_citation_is_an_article() -> None:
    known = {article.id for article in bundled().articles}

    assert {cited for case in CASES.values() for cited in case["expect"]["cites"]} <= known


@pytest.mark.parametrize("script", ["baseline", "upgraded", "flaky"])
def test_scripts_reply_to_every_case_and_to_no_other(script: str) -> None:
    """A misspelt id would leave a case without a reply."""
    assert list(replies(script)) == list(CASES)


def test_the_baseline_passes_everything() -> None:
    assert missed(tools_fit, "baseline") == []
    assert missed(cites_fit, "baseline") == []


def test_the_upgrade_fails_two_tool_policies_and_one_citation() -> None:
    """The gate's known figures: 5 of 7 and 6 of 7."""
    assert missed(tools_fit, "upgraded") == ["refund-out-of-window", "no-resolve-unconfirmed"]
    assert missed(cites_fit, "upgraded") == ["refund-out-of-window"]


def test_the_upgrade_differs_from_the_baseline_in_two_replies_only() -> None:
    """Nothing but the model changed, so nothing but its two mistakes may differ."""
    before, after = replies("baseline"), replies("upgraded")

    differing = [case_id for case_id in CASES if before[case_id] != after[case_id]]

    assert differing == ["refund-out-of-window", "no-resolve-unconfirmed"]


def test_the_flaky_model_misses_one_tool_policy_in_one_of_three_trials() -> None:
    """Its citation is right even then: only the trace shows that nothing was looked up."""
    assert [missed(tools_fit, "flaky", trial) for trial in range(3)] == [[], ["refund-in-window"], []]
    assert [missed(cites_fit, "flaky", trial) for trial in range(3)] == [[], [], []]


def test_the_judge_script_fills_the_schemas_that_the_strands_judges_ask_for() -> None:
    """A renamed field or label in a new library version shows up here, not at night."""
    level = logging.getLogger().level
    from strands_evals.evaluators import (
        correctness_evaluator,
        faithfulness_evaluator,
        helpfulness_evaluator,
        response_relevance_evaluator,
    )

    logging.getLogger().setLevel(level)  # importing strands_evals lowers it
    schemas = {
        "CorrectnessEvaluator": correctness_evaluator.CorrectnessRating,
        "FaithfulnessEvaluator": faithfulness_evaluator.FaithfulnessRating,
        "HelpfulnessEvaluator": helpfulness_evaluator.HelpfulnessRating,
        "ResponseRelevanceEvaluator": response_relevance_evaluator.ResponseRelevanceRating,
    }

    judgements = read(SUITE / "scripts" / "judge.yaml")["judgements"]

    assert sorted(judgements) == sorted(JUDGES)
    for name, by_case in judgements.items():
        assert set(by_case) == {"*"}
        assert set(by_case["*"]["fields"]) == set(schemas[name].model_fields)
        schemas[name](**by_case["*"]["fields"])


def test_judges_run_with_live_models_only_at_85_percent() -> None:
    evaluators = read(SUITE / "suite.yaml")["evaluators"]

    for name in JUDGES:
        assert evaluators[name] == {"threshold": 0.85, "when": "live"}


@pytest.mark.parametrize("script", ["baseline", "flaky"])
def test_good_models_read_the_article_that_they_cite(script: str) -> None:
    """The search must really return it, or the script would pass for a reason no model could have."""
    knowledge = bundled()
    for case_id, case in CASES.items():
        calls = [step["call"] for step in steps(script, case_id, 0) if "call" in step]
        flat = [call for entry in calls for call in (entry if isinstance(entry, list) else [entry])]
        found = {a.id for c in flat if "search_kb" in c for a in knowledge.search(c["search_kb"]["query"])}

        assert set(case["expect"]["cites"]) <= found, case_id
