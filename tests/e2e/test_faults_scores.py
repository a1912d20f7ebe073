"""Faults of scores and judges, through the whole pipeline: what was not measured is no pass and no zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drill_lab import OK, a_case, command, evaluator, only, play, rows, write_suite
from fault_evaluators import GARBAGE, ODD

from nightgate.testing import InMemoryStore
from shell import nightgate

SCORES = ("0.9", "0.8", "nan", "0.85")


def graded(
    tmp_path: Path, use: str, scores: tuple[Any, ...] = SCORES, **more: Any
) -> tuple[dict[str, Any], Any]:
    """A suite whose evaluator returns the scores, one a case, and calls each of them passed."""
    cases = [a_case(f"c{i}", context={"score": score}, expect={}) for i, score in enumerate(scores)]
    evaluators = {"Graded": {"use": f"fault_evaluators:{use}", "threshold": 0.7}}
    store = InMemoryStore()
    return play(write_suite(tmp_path / "s", cases, evaluators=evaluators, **more), store), store


@pytest.mark.parametrize("use", ["Graded", "GradedJudge"])
def test_a_nan_score_is_an_error_and_touches_no_mean(tmp_path: Path, use: str) -> None:
    """strands-evals 1.7 takes NaN with pass=true for a passed row and a mean of NaN."""
    summary, store = graded(tmp_path, use, judgements={"Graded": {"*": {"fields": "best"}}})

    found = evaluator(summary, "Graded")
    assert (found["passed"], found["error"], found["planned"], found["coverage"]) == (3, 1, 4, 0.75)
    assert found["mean_score"] == pytest.approx(0.85)
    third = next(row for row in rows(store, "scores") if row["case_id"] == "c2")
    assert (third["status"], third["blame"], third["score"], third["passed"]) == (
        "error",
        "judge",
        None,
        None,
    )
    assert "nan" in json.loads(third["details"])["raw"]


def test_an_unmeasured_row_keeps_the_gate_from_passing(tmp_path: Path) -> None:
    """Three of four at a threshold of 0.7 hold whatever the fourth is; the hole still shows."""
    summary, _ = graded(tmp_path, "Graded")

    assert (summary["verdict"], summary["exit_code"]) == ("inconclusive", 3)
    assert "covered 3 of 4" in only(summary["findings"])["text"]


@pytest.mark.parametrize("score", ["1.0000001", "-0.01", "inf", "-inf", "42"])
def test_a_score_off_the_scale_is_an_error(tmp_path: Path, score: str) -> None:
    """It says that the judge broke, not how good the answer was."""
    summary, store = graded(tmp_path, "Graded", (score,))

    row = only(rows(store, "scores"))
    assert (row["status"], row["blame"], row["score"]) == ("error", "judge", None)
    assert summary["exit_code"] == 3


@pytest.mark.parametrize("score", ["nan", "inf", "2"])
def test_our_own_scores_refuse_such_figures_too(tmp_path: Path, score: str) -> None:
    """A figure outside [0, 1] is blamed on the judge, whoever computed it."""
    _, store = graded(tmp_path, "Ours", (score,))

    row = only(rows(store, "scores"))
    assert (row["status"], row["blame"], row["score"]) == ("error", "judge", None)


def test_a_broken_judge_is_not_the_agents_fault(tmp_path: Path) -> None:
    """A judge that raises on every case: inconclusive, not failed, and the other evaluator untouched."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one"), a_case("two")],
        judgements={"Broken": {"*": {"fields": "best"}}},
        evaluators={"Broken": {"use": "fault_evaluators:BrokenJudge", "threshold": 0.85}},
    )
    store = InMemoryStore()

    summary = play(suite, store)

    assert (summary["verdict"], summary["exit_code"]) == ("inconclusive", 3)
    assert evaluator(summary, "CitesSource")["pass_rate"] == 1.0
    assert evaluator(summary, "CitesSource")["verdict"] == "pass"
    assert evaluator(summary, "Broken")["pass_rate"] is None
    broken = [row for row in rows(store, "scores") if row["evaluator"] == "Broken"]
    assert {(row["status"], row["blame"], row["score"]) for row in broken} == {("error", "judge", None)}


@pytest.mark.parametrize("raised", ["throttled", "server_error", "timeout", "auth", "error"])
def test_a_judge_out_of_reach_blames_the_infrastructure(tmp_path: Path, raised: str) -> None:
    """The same raises on a judge: error, blame infra; the agent passed."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one", expect={"cites": ["KB-1"], "judge": [{"id": "tone", "criterion": "Friendly?"}]})],
        judgements={"Criterion:tone": {"*": {"raise": raised}}},
    )

    summary = play(suite)

    assert only(summary["failures"])["blame"] == "infra"
    assert evaluator(summary, "CitesSource")["verdict"] == "pass"
    assert summary["exit_code"] == 3


def test_not_applicable_is_no_pass(tmp_path: Path) -> None:
    """One pass and three not applicable, each with the library's pass flag: 1 of 4, coverage a quarter."""
    cases = [a_case(f"c{i}", context={"applies": i == 0}, expect={}) for i in range(4)]
    evaluators = {"Skill": {"use": "fault_evaluators:Applies", "threshold": 0.85}}

    summary = play(write_suite(tmp_path / "s", cases, evaluators=evaluators))

    found = evaluator(summary, "Skill")
    assert (found["passed"], found["failed"], found["not_applicable"]) == (1, 0, 3)
    assert (found["pass_rate"], found["coverage"], found["verdict"]) == (1.0, 0.25, "inconclusive")
    assert summary["exit_code"] == 3


def test_all_not_applicable_is_not_measured(tmp_path: Path) -> None:
    """Neither green nor 0."""
    cases = [a_case(f"c{i}", expect={}) for i in range(4)]
    evaluators = {"Skill": {"use": "fault_evaluators:Applies", "threshold": 0.85}}
    store = InMemoryStore()

    summary = play(write_suite(tmp_path / "s", cases, evaluators=evaluators), store)

    found = evaluator(summary, "Skill")
    assert (found["pass_rate"], found["interval"], found["mean_score"]) == (None, None, None)
    assert (summary["verdict"], summary["exit_code"]) == ("inconclusive", 3)
    assert {(row["passed"], row["score"]) for row in rows(store, "scores")} == {(None, None)}


def test_failed_cases_end_in_exit_1_with_their_reasons(tmp_path: Path) -> None:
    """CI must not stay green over two failed cases."""
    suite = write_suite(tmp_path / "s", [a_case("one"), a_case("two")], replies={"*": [{"say": "No idea."}]})

    ran = command("run", suite, "--store", tmp_path / "store")

    assert ran.code == 1
    assert "CitesSource: 0% < 100%, failed [one, two]" in ran.out.splitlines()


def test_zero_cases_measure_nothing(tmp_path: Path) -> None:
    """0 of 0 is no 100%."""
    ran = command("run", write_suite(tmp_path / "s", []), "--store", tmp_path / "store", "--json", "-")

    assert (ran.code, ran.json["verdict"], ran.json["complete"]) == (3, "inconclusive", True)
    assert "nothing measured" in only(ran.json["findings"])["text"]


@pytest.mark.parametrize("model", ["scripted:agent", "openai:gpt-5-mini"])
def test_calls_refused_by_auth_measure_nothing(tmp_path: Path, model: str) -> None:
    """A script that plays it, and a provider without a key: nobody is asked, nobody is blamed."""
    suite = write_suite(
        tmp_path / "s", [a_case("one"), a_case("two")], replies={"*": [{"raise": "auth"}]}, model=model
    )

    ran = nightgate("run", suite, "--store", tmp_path / "store", "--json", "-", env={"OPENAI_API_KEY": ""})

    assert (ran.code, ran.json["verdict"]) == (3, "inconclusive")
    assert ran.json["trials"]["infra_error"] == 2
    assert any("nothing measured" in finding["text"] for finding in ran.json["findings"])
    assert evaluator(ran.json, "CitesSource")["pass_rate"] is None


def test_reliability_is_never_that_of_the_survivors(tmp_path: Path) -> None:
    """Four planned trials, one pass and three broken: 1 of 1 judged of 4 planned, and pass^4 unknown."""
    trials = {"trials": [OK, [{"raise": "auth"}], [{"raise": "error"}], [{"raise": "auth"}]]}

    summary = play(write_suite(tmp_path / "s", [a_case("one", trials=4)], replies={"*": trials}))

    found = evaluator(summary, "CitesSource")
    assert (found["passed"], found["failed"], found["error"], found["planned"]) == (1, 0, 3, 4)
    assert found["pass_k"] == {"1": 1.0, "2": None, "3": None, "4": None}
    assert found["open_cases"] == ["one"]
    assert "100% of 1 judged (wanted 100%): covered 1 of 4" in summary["findings"][0]["text"]
    assert summary["exit_code"] == 3


REPLIES = {
    "fenced": ('```json\n{"verdict": "yes", "reason": "kind"}\n```', "pass", None, 1),
    "trailing comment": ('{"verdict": "yes", "reason": "kind"} // as asked', "pass", None, 1),
    "cut off": ('{"verdict": "ye', "error", "judge", 2),
    "prose": ("The answer is friendly, so I would say yes.", "error", "judge", 2),
    "no verdict": ('{"reason": "fine"}', "error", "judge", 2),
    "a score instead": ('{"score": 0}', "error", "judge", 2),
    "a pass as text": ('{"pass": "false"}', "error", "judge", 2),
    "an unknown verdict": ('{"verdict": "maybe", "reason": "x"}', "error", "judge", 2),
    "a verdict by truth": ('{"verdict": true, "reason": "x"}', "error", "judge", 2),
    "two verdicts": ('{"verdict": "no"}\n{"verdict": "yes"}', "error", "judge", 2),
    "empty": ("", "error", "judge", 2),
    "good": ('{"verdict": "no", "reason": "rude"}', "fail", None, 1),
}
"""Reply -> (status, blame, calls that it took)."""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, dict[str, Any]], Any]:
    """One run with every malformed reply, one a case, each call 10 tokens at $1 a million."""
    expect = {"judge": [{"id": "tone", "criterion": "Is the tone friendly?"}]}
    verdicts = {name: {"raw": reply, "usage": {"output": 10}} for name, (reply, *_) in REPLIES.items()}
    suite = write_suite(
        tmp_path_factory.mktemp("judged") / "s",
        [a_case(name, expect=expect) for name in REPLIES],
        judgements={"Criterion:tone": verdicts},
        price={"output": 1},
    )
    store = InMemoryStore()
    summary = play(suite, store)
    return summary, {row["case_id"]: row for row in rows(store, "scores")}, store


@pytest.mark.parametrize("name", REPLIES)
def test_a_judges_reply_is_read_or_is_an_error_of_the_judges(judged: Any, name: str) -> None:
    """Never a pass by default, never a fail of the agent's."""
    _, found, store = judged
    reply, status, blame, calls = REPLIES[name]

    assert (found[name]["status"], found[name]["blame"]) == (status, blame)
    paid = [row for row in rows(store, "calls") if row["case_id"] == name and row["role"] == "judge"]
    assert len(paid) == calls
    assert found[name]["cost_nanousd"] == calls * 10_000
    if status == "error":
        assert json.loads(found[name]["details"])["raw"] == reply


def test_all_replies_are_paid(judged: Any) -> None:
    """Retries of unusable replies included."""
    summary, *_ = judged

    assert summary["cost_usd"]["judge"] == pytest.approx(sum(row[3] for row in REPLIES.values()) * 10e-6)
    assert summary["cells"]["error"] == sum(row[1] == "error" for row in REPLIES.values())


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"fields": {"score": "Fully correct", "reasoning": "x"}}, "error"),
        ({"fields": {"reasoning": "fine"}}, "error"),
        ({"raw": "CORRECT"}, "error"),
        ({"raw": '{"score": 0.'}, "error"),
        ({"fields": "worst"}, "fail"),
        ({"fields": "best"}, "pass"),
    ],
)
def test_a_strands_judge_without_a_usable_rating_is_an_error(
    tmp_path: Path, reply: dict[str, Any], status: str
) -> None:
    """Its library asks again for ever (319 calls for one row); the cap ends it, and every call is paid."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one", expected_output="Gladly.", expect={})],
        judgements={"CorrectnessEvaluator": {"*": {**reply, "usage": {"output": 10}}}},
        price={"output": 1},
        evaluators={"CorrectnessEvaluator": {"threshold": 0.85}},
    )
    store = InMemoryStore()

    summary = play(suite, store)

    row = only(rows(store, "scores"))
    paid = [call for call in rows(store, "calls") if call["role"] == "judge"]
    assert (row["status"], row["blame"]) == (status, "judge" if status == "error" else None)
    assert len(paid) <= 6
    assert summary["cost_usd"]["judge"] == pytest.approx(len(paid) * 10e-6)


@pytest.mark.parametrize("use", ["Returns", "AsyncReturns"])
@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_from_an_evaluator_is_the_evaluators_error(tmp_path: Path, what: str, use: str) -> None:
    """Whatever it returns or raises, the trial's other cells stand and the run commits."""
    config = {"use": f"fault_evaluators:{use}", "params": {"what": what}, "threshold": 1.0}
    suite = write_suite(tmp_path / "s", [a_case("one")], evaluators={"Odd": config})
    store = InMemoryStore()

    summary = play(suite, store)

    by_name = {row["evaluator"]: row for row in rows(store, "scores")}
    assert (by_name["Odd"]["status"], by_name["Odd"]["blame"]) == ("error", "evaluator")
    assert by_name["Odd"]["reason"].strip()
    assert by_name["CitesSource"]["status"] == "pass"
    assert (summary["complete"], summary["exit_code"]) == (True, 3)


@pytest.mark.parametrize("what", ODD)
def test_an_odd_finding_never_keeps_a_run_from_its_rows(tmp_path: Path, what: str) -> None:
    """One wrong type in one cell must not lose a night of paid trials."""
    config = {"use": "fault_evaluators:Returns", "params": {"what": what}, "threshold": 1.0}
    suite = write_suite(tmp_path / "s", [a_case("one")], evaluators={"Odd": config})
    store = InMemoryStore()

    summary = play(suite, store)

    assert summary["complete"]
    assert {row["evaluator"] for row in rows(store, "scores")} == {"Odd", "CitesSource"}
    assert sum(summary["cells"].values()) == 2 * summary["cells"]["planned"]
