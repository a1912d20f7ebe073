"""The whole pipeline on a real language model that nobody pays for.

Gemma 3 270M answers the sample suite and judges it, through the openai: adapter. It fails nearly all
of it. The claims are about the rows: tokens, latencies, truncations, time-outs and unusable verdicts of
a real, random, slow model end in a typed row each, and agree with what the server counted itself.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from live.readers import Row, outcomes, rows
from live.servers import LanguageModel
from nightgate.trials import Ending
from shell import SUPPORT, nightgate

pytestmark = pytest.mark.live

SUITE = Path(__file__).parent / "suite"
EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}
JUDGE_CALLS = 6
VERDICTS = ("pass", "fail", "not_applicable")
CELL = ("case_id", "trial", "evaluator")
TURN_END = ["<|im_end|>", "\n"]
"""Where the base model, which knows no end of a turn, is made to stop: it can then complete an answer."""
HELPFULNESS = [
    *("Not helpful at all", "Very unhelpful", "Somewhat unhelpful", "Neutral/Mixed"),
    *("Somewhat helpful", "Very helpful", "Above and beyond"),
]
FORM = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["yes", "no", "cannot_tell"]},
        "reason": {"type": "string", "minLength": 1, "maxLength": 40},
        "score": {"enum": HELPFULNESS},
        "reasoning": {"type": "string", "minLength": 1, "maxLength": 40},
    },
    "required": ["verdict", "reason", "score", "reasoning"],
    "additionalProperties": False,
}
"""One form that both judges can read: the server lets the model say nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run by the command line: its exit, its summary, its rows, and the server's own count."""

    code: int
    summary: Mapping[str, Any]
    plan: Mapping[str, Any]
    trials: list[Row]
    scores: list[Row]
    calls: list[Row]
    counted: Mapping[str, int] = field(default_factory=dict)
    """Tokens that the server says it took in and gave out meanwhile."""

    def by(self, role: str) -> list[Row]:
        """The ledger of one role."""
        return [call for call in self.calls if call["role"] == role]


def count(gemma: LanguageModel) -> dict[str, int]:
    """What the server has counted since it began; tokens that it had in its cache are left out."""
    with urllib.request.urlopen(f"{gemma.url.removesuffix('/v1')}/metrics", timeout=10) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines() if not line.startswith("#")]
    figures = {name: int(float(value)) for name, value in lines}
    return {"in": figures["llamacpp:prompt_tokens_total"], "out": figures["llamacpp:tokens_predicted_total"]}


def run(gemma: LanguageModel, folder: Path, suite: Path, *arguments: str, model: str, judge: str = "") -> Run:
    """Run the command line to its committed rows."""
    arguments += ("--model", model, *(("--judge", judge) if judge else ()))
    store = folder / "store"
    before = count(gemma)
    # No key is set: a server on loopback needs none.
    ran = nightgate("run", suite, *arguments, "--store", store, "--json", "-", env={"OPENAI_API_KEY": ""})
    after = count(gemma)
    assert ran.out, ran.err
    (plan,) = [json.loads(path.read_text()) for path in store.glob("runs/*/plan.json")]
    return Run(
        code=ran.code,
        summary=ran.json,
        plan=plan,
        trials=rows(store, "trials"),
        scores=rows(store, "scores"),
        calls=rows(store, "calls"),
        counted={kind: after[kind] - before[kind] for kind in after},
    )


def calls_of(row: Row, run: Run) -> list[Row]:
    """What the judge of one cell asked."""
    return [call for call in run.by("judge") if all(call[name] == row[name] for name in CELL)]


@pytest.fixture(scope="session")
def support(gemma: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two cases of the sample suite, each played twice; the judges are scripted."""
    folder = tmp_path_factory.mktemp("support")
    return run(gemma, folder, SUPPORT, "--case", "refund-*", "--trials", "2", model=gemma.spec())


@pytest.fixture(scope="session")
def talking(gemma: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small model judges itself, and says whatever it likes."""
    model = gemma.spec(stop=json.dumps(TURN_END))
    judge = gemma.spec(stop=json.dumps(TURN_END[:1]))
    return run(gemma, tmp_path_factory.mktemp("talking"), SUITE, model=model, judge=judge)


@pytest.fixture(scope="session")
def filling(gemma: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small model judges itself, and can only fill in a form."""
    form = {"type": "json_schema", "json_schema": {"name": "form", "schema": FORM}}
    judge = gemma.spec(response_format=json.dumps(form))
    model = gemma.spec(stop=json.dumps(TURN_END))
    return run(gemma, tmp_path_factory.mktemp("filling"), SUITE, model=model, judge=judge)


@pytest.fixture(scope="session")
def cut(gemma: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """No answer has room: eight tokens."""
    model = gemma.spec(max_tokens=8)
    return run(gemma, tmp_path_factory.mktemp("cut"), SUITE, model=model, judge=model)


@pytest.fixture(scope="session")
def hurried(gemma: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """No answer has time: a second for what takes several."""
    folder = tmp_path_factory.mktemp("hurried")
    suite = folder / "suite"
    suite.mkdir()
    for path in SUITE.iterdir():
        text = path.read_text(encoding="utf-8")
        (suite / path.name).write_text(text.replace("timeout_s: 20", "timeout_s: 1"), encoding="utf-8")
    model = gemma.spec(max_tokens=192)
    return run(gemma, folder, suite, "--case", "refund", model=model, judge=model)


@pytest.fixture(params=["support", "talking", "filling", "cut", "hurried"])
def any_run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Each of the runs."""
    found: Run = request.getfixturevalue(request.param)
    return found


# --- what holds of any run, whatever a model does


def test_the_exit_code_is_the_verdicts(any_run: Run) -> None:
    """Nothing else decides it."""
    assert any_run.code == any_run.summary["exit_code"] == EXIT_CODES[any_run.summary["verdict"]]
    assert any_run.summary["complete"] is True


def test_every_planned_cell_has_exactly_one_row(any_run: Run) -> None:
    """The grid was frozen before the first call; no cell is lost, none is there twice."""
    planned = [
        (case["case_id"], trial, evaluator)
        for case in any_run.plan["cases"]
        for trial in range(case["trials"])
        for evaluator in case["evaluators"]
    ]
    found = [(row["case_id"], row["trial"], row["evaluator"]) for row in any_run.scores]
    assert sorted(found) == sorted(planned)
    cells = dict(any_run.summary["cells"])
    assert cells.pop("planned") == sum(cells.values()) == len(planned)


def test_every_trial_ends_as_one_of_the_nine(any_run: Run) -> None:
    """Played to some end, and with a reason unless it is the good one."""
    for trial in any_run.trials:
        assert Ending(trial["ending"]).played
        assert bool(trial["error"]) is (trial["ending"] != "completed")
        assert trial["latency_ms"] > 0


def test_every_answered_call_has_its_tokens_and_its_times(any_run: Run) -> None:
    """Real ones: the first token comes before the last, or never."""
    answered = [call for call in any_run.calls if call["outcome"] == "ok" and "gemma" in call["model"]]
    assert answered
    for call in answered:
        assert call["tokens_in"] + call["tokens_cache_read"] > 0
        assert call["tokens_out"] > 0
        assert call["latency_ms"] > 0
        assert call["cost_nanousd"] == 0
        # It may stop at once, as this model likes to: then no token of an answer ever came.
        assert call["first_token_ms"] is None or 0 < call["first_token_ms"] <= call["latency_ms"]
    assert any(call["first_token_ms"] is not None for call in answered)


def test_the_ledger_agrees_with_what_the_server_counted(any_run: Run) -> None:
    """Every call is in it, retries and late answers too, and cached tokens are counted once."""
    heard = [call for call in any_run.calls if call["tokens_out"] is not None]
    assert len(heard) == len(any_run.calls)
    assert sum(call["tokens_out"] for call in heard) == any_run.counted["out"]
    assert sum(call["tokens_in"] for call in heard) == any_run.counted["in"]


def test_rows_and_summary_add_up_to_the_ledger(any_run: Run) -> None:
    """Tokens of trials and judgements are those of their calls; of late ones only the ledger knows."""
    columns = {"input": "tokens_in", "output": "tokens_out", "cache_read": "tokens_cache_read"}
    for role in ("agent", "judge"):
        total = any_run.summary["tokens"][role]
        for kind, column in columns.items():
            assert total[kind] == sum(call[column] for call in any_run.by(role))
    for role, found in (("agent", any_run.trials), ("judge", any_run.scores)):
        heard = sum(call["tokens_out"] for call in any_run.by(role) if not call["late"])
        assert sum(row["tokens_out"] for row in found) == heard


def test_what_the_agent_did_not_finish_fails_and_is_blamed_on_it(any_run: Run) -> None:
    """Truncated or too late: its own fault, and no judge is asked about half an answer."""
    endings = {(trial["case_id"], trial["trial"]): trial["ending"] for trial in any_run.trials}
    for row in any_run.scores:
        ending = endings[row["case_id"], row["trial"]]
        if ending in ("agent_truncated", "agent_timeout"):
            assert (row["status"], row["blame"], row["score"]) == ("fail", "agent", 0.0)
            assert row["reason"].startswith(ending)
            assert row["latency_ms"] is None


def test_no_judge_passes_by_accident(any_run: Run) -> None:
    """A verdict has a label of its scale; anything else is an error, with no score, at most at the cap."""
    scales = {"Criterion:polite": {"yes", "no", "cannot_tell"}, "HelpfulnessEvaluator": set(HELPFULNESS)}
    for row in any_run.scores:
        calls = calls_of(row, any_run)
        assert sum(call["outcome"] == "ok" for call in calls) <= JUDGE_CALLS
        if row["evaluator"] not in scales or row["blame"] == "agent":
            continue
        assert calls
        if row["status"] in VERDICTS:
            assert row["label"] in scales[row["evaluator"]]
            assert row["blame"] is None
        else:
            assert (row["status"], row["score"], row["passed"]) == ("error", None, None)
            assert row["blame"] in ("judge", "infra")
            assert row["reason"]


# --- what holds of one


def test_a_real_model_does_not_repeat_itself(support: Run) -> None:
    """Two plays of one case differ, and each is a row of its own."""
    for case in ("refund-in-window", "refund-out-of-window"):
        said = [trial["output"] for trial in support.trials if trial["case_id"] == case]
        assert len(said) == 2
        assert len(set(said)) == 2


def test_eight_tokens_are_a_truncation(cut: Run) -> None:
    """Whatever was said in them, it is no answer."""
    assert {trial["ending"] for trial in cut.trials} == {"agent_truncated"}
    assert {(call["stop_reason"], call["tokens_out"]) for call in cut.calls} == {("max_tokens", 8)}
    assert {(row["status"], row["blame"]) for row in cut.scores} == {("fail", "agent")}
    assert (cut.code, cut.by("judge")) == (1, [])


def test_an_answer_after_the_deadline_is_dropped_and_booked(hurried: Run) -> None:
    """It was generated and would have been paid for."""
    (trial,) = hurried.trials
    (call,) = hurried.calls
    assert (trial["ending"], trial["output"]) == ("agent_timeout", "")
    assert trial["latency_ms"] < call["latency_ms"]
    assert (call["outcome"], call["late"]) == ("ok", True)
    assert call["tokens_out"] > 0
    assert hurried.code == 1


def test_completed_trials_are_judged_by_the_same_small_model(filling: Run) -> None:
    """Held to a form, it gives verdicts; they are worth nothing, and they are typed and paid for."""
    completed = {trial["case_id"] for trial in filling.trials if trial["ending"] == "completed"}
    judged = [
        row for row in filling.scores if row["case_id"] in completed and row["evaluator"] != "ToolPolicy"
    ]
    assert any(row["status"] in VERDICTS for row in judged)
    for row in judged:
        # On a busy machine one may run out of time; none may be unusable.
        assert row["status"] in VERDICTS or row["blame"] == "infra", row["reason"]
        assert row["tokens_out"] > 0
        assert row["judge_model"].startswith("openai:gemma")


def test_a_judge_without_a_form_is_heard_and_typed(talking: Run) -> None:
    """Each of its calls is in the ledger, and what it says is kept where it is no verdict."""
    assert talking.by("judge")
    assert set(outcomes(talking.by("judge"))) == {"ok"}
    for row in talking.scores:
        if (row["status"], row["blame"]) == ("error", "judge"):
            silent = any(call["first_token_ms"] is None for call in calls_of(row, talking))
            assert silent or json.loads(row["details"])["raw"]
