"""Strands Evals' evaluators as ours: what they return, typed from facts."""

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import pytest
from strands.models.model import Model
from strands_evals import Case as TheirCase
from strands_evals import Experiment
from strands_evals.evaluators import (
    Contains,
    CorrectnessEvaluator,
    Evaluator,
    HelpfulnessEvaluator,
    OutputEvaluator,
    SkillInstructionFollowingEvaluator,
    SkillInvoked,
    SkillSelectionAccuracyEvaluator,
    ToolCalled,
    ToolParameterAccuracyEvaluator,
    ToolSelectionAccuracyEvaluator,
    TrajectoryEvaluator,
)
from strands_evals.types.evaluation import EvaluationOutput

from makers import (
    TinyModel,
    a_call,
    a_case,
    a_meter,
    a_scope,
    a_trial,
    assistant,
    called,
    metered,
    results,
    said,
    user,
)  # fmt: skip
from nightgate.adapters.ratings import rating
from nightgate.calls import Role, scoped
from nightgate.errors import ModelCallError
from nightgate.evaluators.sessions import session
from nightgate.evaluators.strands import (
    StrandsEvaluator,
    evaluation_data,
    import_strands_evals,
    is_strands,
    root_logger_kept,
)
from nightgate.scores import Blame, Score, Status
from nightgate.trials import Trial

NAN = float("nan")
SEARCHED = (user("Hi"), assistant(("t1", "search", {})), results(("t1", "found")), assistant("good answer"))


class Says(Evaluator):
    """Returns what it is given."""

    def __init__(self, *outputs: EvaluationOutput) -> None:
        super().__init__()
        self.outputs = list(outputs)

    def evaluate(self, evaluation_case: Any) -> list[EvaluationOutput]:
        return self.outputs


def row(score: float, passed: bool, **more: Any) -> EvaluationOutput:
    return EvaluationOutput(score=score, test_pass=passed, **{"reason": "why"} | more)


async def judged(*outputs: EvaluationOutput, trial: Trial | None = None) -> Score:
    return await StrandsEvaluator("E", Says(*outputs)).evaluate(trial or a_trial("x"), a_case())


NOT_APPLICABLE = row(0.0, True, label="not_applicable")


@pytest.mark.parametrize(
    ("output", "status", "score"),
    [
        (row(1.0, True), Status.PASS, 1.0),
        (row(0.6, True, label="Yes"), Status.PASS, 0.6),
        (row(0.9, False), Status.FAIL, 0.9),
        (row(0.0, False), Status.FAIL, 0.0),
        (NOT_APPLICABLE, Status.NOT_APPLICABLE, None),
        (row(0.0, False, label="not_applicable"), Status.NOT_APPLICABLE, None),
        (row(NAN, True), Status.ERROR, None),
        (row(float("inf"), True), Status.ERROR, None),
        (row(1.2, True), Status.ERROR, None),
        (row(-0.1, False), Status.ERROR, None),
        (row(5, True, label="5"), Status.ERROR, None),
    ],
)
async def test_a_row_becomes_the_status_that_it_is(
    output: EvaluationOutput, status: Status, score: float | None
) -> None:
    """A placeholder 0.0 beside a pass flag is no pass, NaN beside one is no score at all."""
    found = await judged(output)
    assert (found.status, found.score) == (status, score)
    assert found.label == output.label


async def test_an_unusable_score_is_the_judges_error_with_the_row_kept() -> None:
    """It says nothing about the agent; somebody has to see what came."""
    found = await judged(row(NAN, True, label="Yes"))
    assert (found.blame, found.reason) == (Blame.JUDGE, "score nan lies outside [0, 1]: why")
    assert found.details == {"raw": "score=nan test_pass=True label=Yes"}


@pytest.mark.parametrize("reason", [None, ""])
@pytest.mark.parametrize("label", [None, "not_applicable"])
async def test_a_row_without_a_reason_gets_one(reason: str | None, label: str | None) -> None:
    """A reason is never empty, also on a pass."""
    assert (await judged(row(1.0, True, reason=reason, label=label))).reason


@pytest.mark.parametrize(
    ("outputs", "status", "score"),
    [
        ([row(1.0, True), NOT_APPLICABLE, NOT_APPLICABLE], Status.PASS, 1.0),
        ([NOT_APPLICABLE, NOT_APPLICABLE], Status.NOT_APPLICABLE, None),
        ([row(1.0, True), row(0.5, True)], Status.PASS, 0.75),
        ([row(1.0, True), row(0.0, False), NOT_APPLICABLE], Status.FAIL, 0.5),
        ([row(1.0, True), row(0.0, False), row(NAN, True)], Status.ERROR, None),
    ],
)
async def test_several_rows_fold_into_the_cells_one(
    outputs: list[EvaluationOutput], status: Status, score: float | None
) -> None:
    """Any error, else any fail, else any pass; what was not applicable is no part of the mean."""
    found = await judged(*outputs)
    assert (found.status, found.score) == (status, score)
    assert len(found.details["parts"]) == len(outputs)


async def test_no_rows_are_nothing_to_judge_or_an_error() -> None:
    """It depends on whether there was a trajectory to look at."""
    assert (await judged()).status is Status.NOT_APPLICABLE
    assert (await judged(trial=a_trial(messages=()))).status is Status.ERROR


async def test_a_mandatory_skill_that_never_loaded_is_not_a_pass() -> None:
    """The trap: theirs returns one row with score 0.0 and test_pass=true. Pins the installed version."""
    inner = SkillSelectionAccuracyEvaluator(model=RatingJudge())
    trial = a_trial("good answer", messages=SEARCHED)
    (output,) = await inner.evaluate_async(evaluation_data(trial, a_case()))
    assert (output.score, output.test_pass, output.label) == (0.0, True, "not_applicable")
    found = await StrandsEvaluator("Skill", inner).evaluate(trial, a_case())
    assert (found.status, found.score) == (Status.NOT_APPLICABLE, None)


# --- the trap: what was not evaluated reads as passed. Pins the installed version. ---


def loads(*answers: tuple[str, str | None, str]) -> Trial:
    """A trial that asked for skills and got (skill, text or None for no result, status)."""
    log: list[dict[str, Any]] = [user("Hi")]
    for number, (skill, text, status) in enumerate(answers):
        log.append(assistant((f"t{number}", "skills", {"skill_name": skill})))
        if text is not None:
            log.append(results((f"t{number}", text, status)))
    return a_trial("good answer", messages=tuple(log))


NEVER_LOADED = loads()
REJECTED = loads(("refunds", "Skill 'refunds' not found. Available skills: x", "success"))
BROKE = loads(("refunds", "Error: ConnectionError - away", "error"))
BODILESS = loads(("refunds", "Skill 'refunds' activated (no instructions available).", "success"))
WAITS = loads(("refunds", None, ""))
UNRECORDED = a_trial("good answer", messages=())


def choice() -> Any:
    return SkillSelectionAccuracyEvaluator(model=RatingJudge())


def following() -> Any:
    return SkillInstructionFollowingEvaluator(model=RatingJudge())


@pytest.mark.parametrize(
    ("inner", "trial", "passed", "reason"),
    [
        (choice, NEVER_LOADED, True, "no skills were available to select from"),
        (choice, UNRECORDED, False, "no trajectory provided"),
        (following, NEVER_LOADED, True, "no skill invoked"),
        (following, REJECTED, True, "refunds: the harness refused the load (Skill 'refunds' not found"),
        (following, BROKE, True, "refunds: the harness refused the load (Error: ConnectionError"),
        (following, BODILESS, True, "refunds: skill body unavailable"),
        (following, UNRECORDED, False, "no trajectory provided"),
    ],
)
async def test_their_skill_judges_answer_without_judging(
    inner: Any, trial: Trial, passed: bool, reason: str
) -> None:
    """A placeholder 0.0 beside a flag that passes, but for a trajectory that is missing."""
    (output,) = await inner().evaluate_async(evaluation_data(trial, a_case()))
    assert (output.score, output.label, output.test_pass) == (0.0, "not_applicable", passed)
    assert output.reason.startswith(reason)


def test_their_aggregate_of_nothing_judged_is_zero_and_passes() -> None:
    """A release decision on the flag alone lets a suite pass whose mandatory skill never loaded."""
    rows = [row(0.0, True, label="not_applicable", reason="no skill invoked")] * 3
    assert choice().aggregator(rows)[:2] == (0.0, True)
    assert following().aggregator([*rows, row(1.0, True)])[:2] == (1.0, True)
    assert choice().aggregator([*rows, row(0.0, False, label="not_applicable")])[:2] == (0.0, False)


@pytest.mark.parametrize(
    ("trial", "passed", "reason"),
    [
        (NEVER_LOADED, False, "skill 'refunds' was not invoked"),
        (REJECTED, False, "skill 'refunds' was requested but the load failed: Skill 'refunds' not found"),
        (BROKE, False, "skill 'refunds' was requested but the load failed: Error: ConnectionError"),
        (BODILESS, True, "skill 'refunds' was invoked"),
        (UNRECORDED, False, "no trajectory provided"),
    ],
)
def test_their_load_check_counts_recorded_successes_only(trial: Trial, passed: bool, reason: str) -> None:
    """And blames the agent for a trajectory that nobody recorded."""
    (output,) = SkillInvoked("refunds").evaluate(evaluation_data(trial, a_case()))
    assert (output.test_pass, output.not_applicable) == (passed, False)
    assert output.reason.startswith(reason)


async def of_skills(inner: Any, trial: Trial) -> Score:
    return await StrandsEvaluator("Skill", inner).evaluate(trial, a_case())


@pytest.mark.parametrize(
    ("inner", "trial", "status"),
    [
        (choice, NEVER_LOADED, Status.NOT_APPLICABLE),
        (choice, REJECTED, Status.PASS),
        (choice, WAITS, Status.PASS),
        (following, NEVER_LOADED, Status.NOT_APPLICABLE),
        (following, REJECTED, Status.NOT_APPLICABLE),
        (following, BROKE, Status.NOT_APPLICABLE),
        (following, BODILESS, Status.NOT_APPLICABLE),
        (following, WAITS, Status.NOT_APPLICABLE),
        (lambda: SkillInvoked("refunds"), NEVER_LOADED, Status.FAIL),
        (lambda: SkillInvoked("refunds"), REJECTED, Status.FAIL),
        (lambda: SkillInvoked("refunds"), BROKE, Status.FAIL),
        (lambda: SkillInvoked("refunds"), WAITS, Status.FAIL),
        (lambda: SkillInvoked("refunds"), BODILESS, Status.PASS),
    ],
)
async def test_each_situation_has_its_own_status_here(inner: Any, trial: Trial, status: Status) -> None:
    """A refused choice can still be judged; steps that the agent never got cannot."""
    found = await of_skills(inner(), trial)
    assert found.status is status
    assert (found.score is None) is (status is Status.NOT_APPLICABLE)


BLIND = a_trial("good answer", messages=(user("Hi"), assistant("good answer")), tools_offered=None)


@pytest.mark.parametrize("trial", [UNRECORDED, BLIND])
@pytest.mark.parametrize(
    "inner",
    [choice, following, lambda: SkillInvoked("refunds"), lambda: ToolCalled("search")],
)
async def test_a_missing_trajectory_is_an_error_and_no_verdict_on_the_agent(inner: Any, trial: Trial) -> None:
    """Nobody recorded what was called: neither not applicable nor a fail says so."""
    found = await of_skills(inner(), trial)
    assert (found.status, found.blame, found.score) == (Status.ERROR, Blame.EVALUATOR, None)
    assert found.reason == "the trial's trajectory is missing: what the agent called was not recorded"


async def test_not_applicable_without_a_message_is_an_error_whoever_says_so() -> None:
    """An evaluator of the user's that found nothing because there was nothing to find."""
    found = await judged(NOT_APPLICABLE, trial=UNRECORDED)
    assert (found.status, found.blame) == (Status.ERROR, Blame.EVALUATOR)
    assert found.reason == "the trial's trajectory is missing: why"
    mixed = await judged(row(1.0, True), NOT_APPLICABLE, trial=UNRECORDED)
    assert mixed.status is Status.ERROR


async def test_the_words_of_a_target_without_agents_can_still_be_judged() -> None:
    """Only calls are missing there; what does not look at calls keeps its status."""
    assert (await judged(row(1.0, True), trial=BLIND)).status is Status.PASS
    assert (await judged(NOT_APPLICABLE, trial=BLIND)).status is Status.NOT_APPLICABLE


async def test_a_call_that_waits_for_a_person_was_requested_and_not_refused() -> None:
    """The reason decides what is repaired: a harness that refuses, or an approval that nobody gave."""
    found = await of_skills(SkillInvoked("refunds"), WAITS)
    assert found.reason == "skill 'refunds' was requested but the trajectory records no outcome"
    assert (await of_skills(following(), WAITS)).reason == "refunds: skill body unavailable"


class MySelection(SkillSelectionAccuracyEvaluator):
    """A user's own on top of one of theirs."""


@pytest.mark.parametrize(
    ("inner", "needs"),
    [
        (SkillInvoked("x"), True),
        (ToolCalled("x"), True),
        (TrajectoryEvaluator("Is it good?"), True),
        (ToolSelectionAccuracyEvaluator(), True),
        (ToolParameterAccuracyEvaluator(), True),
        (MySelection(), True),
        (SkillInstructionFollowingEvaluator(), True),
        (Contains("x"), False),
        (CorrectnessEvaluator(), False),
        (Says(), False),
    ],
)
def test_evaluators_of_calls_and_skills_need_a_trajectory(inner: Any, needs: bool) -> None:
    """The runner asks before it plays them on a trial whose calls nobody recorded."""
    assert StrandsEvaluator("E", inner).needs_trajectory is needs


class RatingJudge(Model):
    """Rates at the good end of the asked-for scale what says "good", else at the bad end."""

    config: dict[str, Any] = {"model_id": "rating"}  # noqa: RUF012 - the SDK reads it so

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return self.config

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the SDK's older path is not used")

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> Any:
        text = str(messages)
        spec = tool_specs[0]
        start = {"toolUse": {"name": spec["name"], "toolUseId": "t"}}
        filled = rating(spec["inputSchema"]["json"], "best" if "good answer" in text else "worst")
        if spec["name"] == "EvaluationOutput":
            filled |= {"score": 0.9 if "good answer" in text else 0.2}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(filled)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}


def their_evaluators() -> list[Evaluator]:
    return [
        Contains("good"),
        CorrectnessEvaluator(model=RatingJudge()),
        HelpfulnessEvaluator(model=RatingJudge()),
        OutputEvaluator("Is it good?", model=RatingJudge()),
        ToolSelectionAccuracyEvaluator(model=RatingJudge()),
        SkillSelectionAccuracyEvaluator(model=RatingJudge()),
    ]


def test_on_their_happy_path_the_verdicts_are_those_of_experiment() -> None:
    """We call their evaluators, not their Experiment: where it works, nothing may differ."""
    trials = {
        answer: a_trial(answer, a_call("search"), messages=(*SEARCHED[:3], assistant(answer)))
        for answer in ("good answer", "poor answer")
    }
    theirs = Experiment(
        cases=[TheirCase(name=name, input="Hi", expected_output="good answer") for name in trials],
        evaluators=their_evaluators(),
    ).run_evaluations(lambda case: {"output": case.name, "trajectory": session(trials[case.name])})

    ours = {}
    for evaluator in their_evaluators():
        adapter = StrandsEvaluator(type(evaluator).__name__, evaluator)
        for name, trial in trials.items():
            case = a_case(name, expected_output="good answer")
            ours[adapter.name, name] = asyncio.run(adapter.evaluate(trial, case))

    rows = zip(theirs.cases, theirs.scores, theirs.test_passes, theirs.detailed_results, strict=True)
    seen = 0
    for case, score, passed, outputs in rows:
        found = ours[case["evaluator"], case["name"]]
        if all(output.not_applicable for output in outputs):
            assert found.status is Status.NOT_APPLICABLE
        else:
            assert (found.status is Status.PASS, found.score) == (passed, pytest.approx(score))
            seen += 1
    assert seen == 10
    assert len(ours) == 12


async def test_an_evaluator_sees_the_trial_and_the_case() -> None:
    """Input, answer, expected answer, context, and the state by name."""
    trial = a_trial("out", final_state={"cart": [1]}, messages=SEARCHED)
    data = evaluation_data(trial, a_case("c", expected_output="want", context={"id": 7}, tags=("t",)))
    assert (data.input, data.actual_output, data.expected_output, data.name) == ("Hi", "out", "want", "c")
    assert data.metadata == {"context": {"id": 7}, "tags": ["t"]}
    assert [(state.name, state.state) for state in data.actual_environment_state] == [("cart", [1])]
    assert data.actual_trajectory.traces


async def test_no_state_is_none_and_no_messages_are_no_trajectory() -> None:
    """An empty list would say that the world was looked at."""
    data = evaluation_data(a_trial(messages=()), a_case())
    assert data.actual_environment_state is None
    assert data.actual_trajectory is None


def test_their_classes_are_known_without_importing_them() -> None:
    """``use:`` may name one of theirs, a subclass, or something else."""
    assert is_strands(Says)
    assert is_strands(Contains)
    assert not is_strands(Experiment)
    assert not is_strands(StrandsEvaluator)


def test_importing_them_leaves_the_root_logger_as_it_was() -> None:
    """It sets the root logger to INFO: every library of the user's would begin to talk."""
    code = (
        "import logging\n"
        "from nightgate.evaluators.strands import import_strands_evals\n"
        "import_strands_evals()\n"
        "root = logging.getLogger()\n"
        "assert (root.level, root.handlers) == (logging.WARNING, []), (root.level, root.handlers)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_level_that_the_user_chose_is_kept() -> None:
    """Also when something inside raises."""
    root = logging.getLogger()
    before = root.level, list(root.handlers)

    def raises() -> None:
        with root_logger_kept():
            root.setLevel(7)
            root.addHandler(logging.NullHandler())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        raises()
    assert (root.level, root.handlers) == before
    assert import_strands_evals().Contains is Contains


# --- what judges answer that is no rating


TALK = a_trial("good answer", messages=(user("Hi"), assistant("good answer")))


async def asked_for_a_rating(reply: Any) -> tuple[Any, Any, Score | Exception]:
    """A judge that always answers so: its model, its judgement, and what came of it."""
    model = TinyModel(lambda _, number: reply(number))
    meter = a_meter(call_caps={Role.JUDGE: 6})
    scope = a_scope(Role.JUDGE)
    judge = StrandsEvaluator("E", CorrectnessEvaluator(model=metered(model, meter, role=Role.JUDGE)))
    with scoped(scope):
        try:
            return model, scope, await judge.evaluate(TALK, a_case())
        except Exception as error:
            return model, scope, error


@pytest.mark.parametrize("stop", ["guardrail_intervened", "content_filtered"])
async def test_a_reply_that_was_taken_away_names_why(stop: str) -> None:
    """It read "AttributeError: 'NoneType' object has no attribute 'score'"."""
    _, _, found = await asked_for_a_rating(lambda _: said("blocked", stop=stop))

    assert isinstance(found, Score)
    assert (found.status, found.blame) == (Status.ERROR, Blame.JUDGE)
    assert found.reason == f"the judge's reply was stopped ({stop}) and holds no rating"


@pytest.mark.parametrize("arguments", ['{"score": NaN, "reasoning": "x"}', '{"score": 7, "reasoning": "x"}'])
async def test_a_rating_that_fits_no_schema_is_asked_for_once_more(
    arguments: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Six calls where an answer in words took two; and the SDK said so on stderr, besides the row."""
    model, scope, found = await asked_for_a_rating(
        lambda number: called("CorrectnessRating", arguments, use=f"t{number}")
    )

    assert model.calls == 2
    assert isinstance(found, Exception)
    assert isinstance(scope.fatal, ModelCallError)
    assert (scope.fatal.kind, "2 ratings that are none" in str(scope.fatal)) == ("call_cap", True)
    assert [record for record in caplog.records if "event loop cycle failed" in record.message] == []


async def test_a_rating_that_is_right_the_second_time_counts() -> None:
    """The judge saw what was wrong with the first."""
    texts = ['{"score": NaN, "reasoning": "x"}', '{"score": "Perfectly Correct", "reasoning": "x"}']
    model, _, found = await asked_for_a_rating(
        lambda number: called("CorrectnessRating", texts[number], use=f"t{number}")
    )

    assert isinstance(found, Score)
    assert (model.calls, found.status) == (2, Status.PASS)
