"""From a finished trial to a cell: endings, failures and findings become statuses and blames."""

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from strands import Agent
from strands_evals.evaluators import (
    CorrectnessEvaluator,
    HelpfulnessEvaluator,
    ToolSelectionAccuracyEvaluator,
)

from makers import (
    AT_ONCE,
    TinyModel,
    a_call,
    a_case,
    a_meter,
    a_planned,
    a_price,
    a_score,
    a_trial,
    assistant,
    called,
    facts,
    in_turn,
    metered,
    results,
    said,
    user,
)
from nightgate.adapters.failures import ScriptedFailure
from nightgate.calls import Role, current_scope
from nightgate.cases import Case
from nightgate.evaluators.registry import Registered
from nightgate.evaluators.strands import StrandsEvaluator
from nightgate.judging import judge, unjudged
from nightgate.prices import Budget
from nightgate.scores import Blame, Cell, Status
from nightgate.trials import Ending, Trial

BLOCKED = a_case(expect={"blocked": True})
WITH_CALLS = (
    user("Hi"),
    *(m for n in range(8) for m in (assistant((f"t{n}", "search", {"n": n})), results((f"t{n}", "found")))),
    assistant("done"),
)


async def cell(
    evaluate: Callable[..., Any],
    *,
    kind: str = "code",
    threshold: str | None = "1.0",
    trial: Trial | None = None,
    case: Case | None = None,
    inline: bool = True,
    timeout_s: float = 30.0,
) -> Cell | None:
    per_call = getattr(getattr(evaluate, "__self__", None), "per_call", False)
    evaluator: Any = SimpleNamespace(name="Own", version=9, evaluate=evaluate, per_call=per_call)
    registered = Registered(evaluator=evaluator, facts=facts(kind), inline=inline)
    planned = a_planned("E", kind=kind, threshold=threshold)
    return await judge(trial or a_trial("x"), case or a_case(), planned, registered, timeout_s=timeout_s)


async def found(evaluate: Callable[..., Any], **more: Any) -> Any:
    one = await cell(evaluate, **more)
    assert one is not None
    return one.score


# --- what the ending alone decides ---


@pytest.mark.parametrize(
    ("ending", "threshold", "status", "blame"),
    [
        (Ending.AGENT_ERROR, "1.0", Status.FAIL, Blame.AGENT),
        (Ending.AGENT_TIMEOUT, "0.85", Status.FAIL, Blame.AGENT),
        (Ending.AGENT_TRUNCATED, "0", Status.FAIL, Blame.AGENT),
        (Ending.AGENT_BLOCKED, "1.0", Status.FAIL, Blame.AGENT),
        (Ending.AGENT_ERROR, None, Status.NOT_APPLICABLE, Blame.AGENT),
        (Ending.SIMULATOR_ERROR, "1.0", Status.ERROR, Blame.SIMULATOR),
        (Ending.INFRA_ERROR, "1.0", Status.ERROR, Blame.INFRA),
        (Ending.INFRA_ERROR, None, Status.ERROR, Blame.INFRA),
        (Ending.CANCELLED, "1.0", Status.SKIPPED, Blame.CANCELLED),
        (Ending.NOT_RUN, "1.0", Status.SKIPPED, Blame.CANCELLED),
    ],
)
def test_an_ending_that_left_nothing_to_judge(
    ending: Ending, threshold: str | None, status: Status, blame: Blame
) -> None:
    """The agent's own faults fail, the infrastructure's are errors, with the reason kept."""
    trial = a_trial(ending=ending, error="it broke")
    score = unjudged(trial, a_planned(threshold=threshold), a_case())
    assert score is not None
    assert (score.status, score.blame) == (status, blame)
    assert score.reason == f"{ending.value}: it broke"
    assert score.passed is (False if status is Status.FAIL else None)


@pytest.mark.parametrize("ending", [Ending.COMPLETED, Ending.AGENT_BLOCKED])
def test_a_missing_trajectory_is_an_error_for_those_who_read_it(ending: Ending) -> None:
    """With nothing recorded "called no tool" is no finding: neither a pass nor a fail nor a green N/A."""
    trial = a_trial("fine", ending=ending, tools_offered=None)

    score = unjudged(trial, a_planned("ToolPolicy"), BLOCKED, reads_trajectory=True)

    assert score is not None
    assert (score.status, score.blame) == (Status.ERROR, Blame.EVALUATOR)
    assert "trajectory is missing" in score.reason


def test_a_missing_trajectory_does_not_hide_the_agents_own_fault() -> None:
    """A stop that nobody wanted fails every check, whoever recorded the calls."""
    trial = a_trial("blocked", ending=Ending.AGENT_BLOCKED, tools_offered=None)

    score = unjudged(trial, a_planned("ToolPolicy"), a_case(), reads_trajectory=True)

    assert score is not None
    assert (score.status, score.blame) == (Status.FAIL, Blame.AGENT)


def test_a_missing_trajectory_leaves_the_answer_to_be_judged() -> None:
    """The text is there, whoever wrote it."""
    assert unjudged(a_trial("fine", tools_offered=None), a_planned("AnswerPolicy"), a_case()) is None


def test_some_calls_seen_are_no_trajectory_where_others_are_hidden() -> None:
    """A part that shows no agent may have called what is forbidden: what was seen of the rest is no pass."""
    trial = a_trial("fine", a_call("search"), tools_offered=None)

    score = unjudged(trial, a_planned("ToolPolicy"), a_case(), reads_trajectory=True)

    assert score is not None
    assert (score.status, score.blame) == (Status.ERROR, Blame.EVALUATOR)


def test_calls_that_were_all_seen_can_be_judged() -> None:
    """Also where no message was kept beside them."""
    trial = a_trial("fine", a_call("search"), messages=())

    assert unjudged(trial, a_planned("ToolPolicy"), a_case(), reads_trajectory=True) is None


@pytest.mark.parametrize(
    ("ending", "case", "name", "looks"),
    [
        (Ending.COMPLETED, a_case(), "E", True),
        (Ending.COMPLETED, BLOCKED, "E", True),
        (Ending.AGENT_BLOCKED, BLOCKED, "E", True),
        (Ending.AGENT_BLOCKED, BLOCKED, "BlockedAsExpected", True),
        (Ending.AGENT_BLOCKED, a_case(expect={"blocked": False}), "BlockedAsExpected", True),
        (Ending.AGENT_BLOCKED, a_case(expect={"blocked": False}), "E", False),
        (Ending.AGENT_BLOCKED, a_case(), "E", False),
        (Ending.AGENT_TRUNCATED, BLOCKED, "BlockedAsExpected", False),
        (Ending.AGENT_ERROR, BLOCKED, "E", False),
    ],
)
def test_a_wanted_guardrail_stop_is_judged_on_the_guardrails_text(
    ending: Ending, case: Case, name: str, looks: bool
) -> None:
    """An unwanted one is the agent's fault for all but the check that asks about it."""
    assert (unjudged(a_trial(ending=ending), a_planned(name), case) is None) is looks


async def test_an_evaluator_is_not_asked_about_a_broken_trial() -> None:
    """No judge is paid to look at nothing."""
    score = await found(in_turn().reply, trial=a_trial(ending=Ending.INFRA_ERROR), kind="judge")
    assert score.blame is Blame.INFRA


# --- what comes back ---


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("form", ["plain", "list", "async"])
async def test_every_form_of_an_evaluator_is_served(inline: bool, form: str) -> None:
    """Sync or async, one finding or a list, on the loop or beside it."""
    score = a_score(Status.PASS, score=1.0)

    async def late(*_: Any) -> Any:
        return score

    forms: dict[str, Callable[..., Any]] = {
        "plain": lambda *_: score,
        "list": lambda *_: [score],
        "async": late,
    }
    assert (await found(forms[form], inline=inline)).status is Status.PASS


async def test_a_users_sync_evaluator_does_not_hold_the_loop() -> None:
    """It may block for seconds; the agents' trials go on meanwhile."""
    turned = threading.Event()

    def slow(*_: Any) -> Any:
        assert turned.wait(10)
        return a_score()

    asyncio.get_running_loop().call_soon(turned.set)
    assert (await found(slow, inline=False)).status is Status.PASS


async def test_the_cell_bears_the_planned_name_and_version() -> None:
    """Whatever the evaluator calls itself: baselines match by these."""
    score = await found(lambda *_: a_score(evaluator="Other", version=77))
    assert (score.evaluator, score.version) == ("E", 1)


async def test_a_figure_without_a_threshold_is_measured() -> None:
    """It is shown and covered; no pass rate counts it."""
    score = await found(lambda *_: a_score(Status.FAIL, score=0.4), threshold=None)
    assert (score.status, score.score, score.passed) == (Status.MEASURED, 0.4, None)


async def test_a_reason_is_never_empty() -> None:
    """Also on a pass."""
    assert (await found(lambda *_: a_score(reason="  "))).reason == "pass"


@pytest.mark.parametrize(
    "returned",
    [None, True, 1.0, "pass", {"score": 1}, [a_score(), None], object()],
)
async def test_what_is_no_score_is_an_error_and_never_a_pass(returned: Any) -> None:
    """No truthiness: True is no finding."""
    score = await found(lambda *_: returned)
    assert (score.status, score.blame) == (Status.ERROR, Blame.EVALUATOR)
    assert "instead of a nightgate.Score" in score.reason


@pytest.mark.parametrize("wrong", [{"status": "passed"}, {"reason": None}])
async def test_a_score_that_cannot_be_is_an_error_of_the_evaluator(wrong: dict[str, Any]) -> None:
    """It must not break the writing of rows, and with it the night."""
    score = await found(lambda *_: a_score(**{"status": Status.PASS} | wrong))
    assert (score.status, score.blame) == (Status.ERROR, Blame.EVALUATOR)


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), 1.5])
async def test_a_figure_that_no_judge_may_give_is_blamed_on_the_judge(figure: float) -> None:
    """Whoever computed it: a score outside [0, 1] says nothing about the agent."""
    score = await found(lambda *_: a_score(Status.PASS, score=figure))
    assert (score.status, score.blame, score.score) == (Status.ERROR, Blame.JUDGE, None)


async def test_an_error_without_a_blame_gets_one() -> None:
    """Every error says who has to repair it."""
    assert (await found(lambda *_: a_score(Status.ERROR))).blame is Blame.EVALUATOR
    assert (await found(lambda *_: a_score(Status.ERROR), kind="judge")).blame is Blame.JUDGE


# --- what breaks ---


@pytest.mark.parametrize(("kind", "blame"), [("code", Blame.EVALUATOR), ("judge", Blame.JUDGE)])
@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), KeyError("x"), TimeoutError(), SystemExit(0), asyncio.CancelledError()]
)
async def test_an_evaluator_that_raises_is_an_error_of_its_own(
    kind: str, blame: Blame, error: BaseException
) -> None:
    """Never score 0 of the agent's, never the end of the process or of the worker."""

    def broken(*_: Any) -> Any:
        raise error

    for inline in (True, False):
        score = await found(broken, kind=kind, inline=inline)
        assert (score.status, score.blame, score.score) == (Status.ERROR, blame, None)


@pytest.mark.parametrize(("kind", "blame"), [("code", Blame.EVALUATOR), ("judge", Blame.INFRA)])
async def test_an_evaluator_that_does_not_come_back(kind: str, blame: Blame) -> None:
    """A judge's silence is the infrastructure's, a check's is its own."""

    async def hangs(*_: Any) -> Any:
        await asyncio.Event().wait()

    score = await found(hangs, kind=kind, timeout_s=0.01)
    assert (score.status, score.blame) == (Status.ERROR, blame)
    assert "0.01 s of working time" in score.reason


def judges_with(model: Any, *, swallow: bool = False) -> Callable[..., Any]:
    """A judge that asks once and passes what answers at all."""

    async def evaluate(*_: Any) -> Any:
        try:
            async for _event in model.stream([user("?")]):
                pass
        except Exception:
            if not swallow:
                raise
        return a_score(Status.PASS, score=1.0)

    return evaluate


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize(
    "kind", ["throttled", "server_error", "timeout", "auth", "error", "context_overflow", "exhausted"]
)
async def test_a_judges_model_that_fails_is_the_infrastructures_fault(kind: str, swallow: bool) -> None:
    """Also where the evaluator swallows the failure and makes a verdict up."""

    def fails(*_: Any) -> Any:
        raise ScriptedFailure(kind)

    model = metered(TinyModel(fails), role=Role.JUDGE)
    score = await found(judges_with(model, swallow=swallow), kind="judge")
    assert (score.status, score.blame) == (Status.ERROR, Blame.INFRA)
    assert kind in score.reason


async def test_a_failure_that_a_retry_mended_leaves_the_verdict() -> None:
    """One throttled attempt is no fault of anybody's; its attempt is in the bill."""
    inner = in_turn(ScriptedFailure("throttled"), said("fine"))
    model = metered(inner, role=Role.JUDGE, price=a_price(input="1", output="1"))
    one = await cell(judges_with(model), kind="judge")
    assert one is not None
    assert one.score.status is Status.PASS
    assert (one.usage.input, one.usage.output, one.cost_nanousd) == (10, 5, 15_000)


async def test_the_budgets_refusal_leaves_no_finding() -> None:
    """The cell was not found, and the run stops: it is skipped, not an error."""
    meter = a_meter(budget=Budget(0))
    for swallow in (False, True):
        model = metered(in_turn(said()), meter, role=Role.JUDGE)
        assert await cell(judges_with(model, swallow=swallow), kind="judge") is None


async def test_calls_are_charged_to_the_judgement() -> None:
    """Role, case, trial, evaluator and play stand on the ledger row."""
    meter = a_meter()
    model = metered(in_turn(said()), meter, role=Role.JUDGE)
    await cell(judges_with(model), kind="judge", trial=a_trial("x", attempt=3))
    (call,) = meter.journal.ends  # type: ignore[attr-defined]
    assert (call.role, call.case_id, call.trial, call.evaluator, call.play) == (Role.JUDGE, "a", 0, "E", 3)


async def test_a_scope_is_closed_behind_a_judgement() -> None:
    """What it left running sends no more calls on its account."""
    scopes = []

    def looks(*_: Any) -> Any:
        scopes.append(current_scope())
        return a_score()

    await cell(looks)
    assert scopes[0].closed


# --- Strands' judges on a metered model ---


def strands_judge(model: Any, kind: Any = CorrectnessEvaluator) -> Callable[..., Any]:
    return StrandsEvaluator("E", kind(model=model)).evaluate


def capped(reply: Callable[[Any, int], Any], **more: Any) -> Any:
    return metered(TinyModel(reply), a_meter(call_caps={Role.JUDGE: 6}), role=Role.JUDGE, **more)


async def test_a_judge_that_never_gives_its_form_ends_after_two_tries() -> None:
    """Theirs asked 319 times for one row. What it said last is kept."""
    model = capped(lambda *_: called("CorrectnessRating", {"score": "Splendid"}))
    score = await found(strands_judge(model), kind="judge", trial=a_trial("x"))
    assert (score.status, score.blame) == (Status.ERROR, Blame.JUDGE)
    assert model.inner.calls == 2
    assert score.details["raw"] == '{"score": "Splendid"}'


async def test_a_judge_that_answers_in_prose_is_an_error_with_the_prose_kept() -> None:
    """Unparsable output is the judge's, raw reply and all."""
    score = await found(strands_judge(capped(lambda *_: said("Looks good!"))), kind="judge")
    assert (score.status, score.blame) == (Status.ERROR, Blame.JUDGE)
    assert score.details["raw"] == "Looks good!"


async def test_a_throttled_judge_is_asked_as_often_as_our_policy_says() -> None:
    """The SDK's own retries would multiply it: one throttled call became 36."""

    def throttles(*_: Any) -> Any:
        raise ScriptedFailure("throttled")

    model = capped(throttles)
    score = await found(strands_judge(model), kind="judge")
    assert (score.status, score.blame) == (Status.ERROR, Blame.INFRA)
    assert model.inner.calls == AT_ONCE.attempts


async def test_a_judge_that_asks_once_for_each_tool_call_is_not_capped_short() -> None:
    """Eight calls of the agent are eight good questions."""
    rated = {"reasoning": "r", "score": "Yes"}
    model = capped(lambda *_: called("ToolSelectionRating", rated))
    trial = a_trial("done", *[a_call("search", {"n": n}) for n in range(8)], messages=WITH_CALLS)
    score = await found(strands_judge(model, ToolSelectionAccuracyEvaluator), kind="judge", trial=trial)
    assert (score.status, score.score) == (Status.PASS, 1.0)
    assert model.inner.calls == 8


async def test_a_sync_judge_with_a_loop_of_its_own_is_served() -> None:
    """It runs in a thread, and its agent opens a new event loop for each call."""
    model = capped(lambda *_: said("fine"))

    def sync_judge(*_: Any) -> Any:
        text = str(Agent(model=model, callback_handler=None)("?"))
        return a_score(Status.PASS, score=1.0, reason=text)

    assert (await found(sync_judge, kind="judge", inline=False)).reason == "fine"


async def test_a_judge_down_leaves_other_evaluators_alone() -> None:
    """A broken judge gave 0.5 of the agent elsewhere."""

    def broken(*_: Any) -> Any:
        raise RuntimeError("judge down")

    trial = a_trial("x")
    judged = await found(broken, kind="judge", trial=trial)
    checked = await found(lambda *_: a_score(Status.PASS, score=1.0), trial=trial)
    assert (judged.blame, checked.status) == (Blame.JUDGE, Status.PASS)


async def test_a_helpful_answer_passes_their_judge_end_to_end() -> None:
    """The happy path: one call, a label, a score."""
    rated = {"reasoning": "good", "score": "Above and beyond"}
    model = capped(lambda *_: called("HelpfulnessRating", rated))
    score = await found(strands_judge(model, HelpfulnessEvaluator), kind="judge", threshold="0.85")
    assert (score.status, score.score, score.label) == (Status.PASS, 1.0, "Above and beyond")
