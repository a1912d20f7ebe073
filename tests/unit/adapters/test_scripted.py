"""The scripted model, seen by the SDK's own agent loop and by hand."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.types.exceptions import ContextWindowOverflowException
from strands_evals.evaluators.helpfulness_evaluator import HelpfulnessRating

from nightgate.adapters.failures import ScriptedFailure, classify
from nightgate.adapters.scripted import ScriptedModel, shown_text
from nightgate.calls import Outcome, Role, Scope, scoped
from nightgate.cases.scripts import load_script
from nightgate.errors import ModelCallError
from nightgate.trials import Usage


@pytest.fixture
def play(tmp_path: Path):
    """A scripted model from YAML."""

    def build(text: str) -> ScriptedModel:
        path = tmp_path / "demo.yaml"
        path.write_text(text, encoding="utf-8")
        return ScriptedModel(load_script(path), "demo")

    return build


def a_scope(
    case_id: str = "a", trial: int = 0, role: Role = Role.AGENT, evaluator: str | None = None
) -> Scope:
    return Scope(role=role, run_id="r", suite="s", case_id=case_id, trial=trial, evaluator=evaluator)


async def ask(model: ScriptedModel, scope: Scope, **kwargs: Any) -> list[dict[str, Any]]:
    with scoped(scope):
        return [event async for event in model.stream([], **kwargs)]


def text_of(events: list[dict[str, Any]]) -> str:
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    return "".join(delta.get("text", "") or delta.get("toolUse", {}).get("input", "") for delta in deltas)


def stop_of(events: list[dict[str, Any]]) -> str | None:
    return next((event["messageStop"]["stopReason"] for event in events if "messageStop" in event), None)


@tool
def search_kb(query: str) -> str:
    """Search.

    Args:
        query: What for.
    """
    return f"found {query}"


async def test_an_sdk_agent_plays_calls_and_answer(play) -> None:
    """The events are those of a real provider, so the agent loop needs nothing special."""
    model = play(
        "replies: {a: [{call: {search_kb: {query: x}}}, {say: Store credit. [KB-101]}]}".replace(
            "{say: Store credit. [KB-101]}", "{say: 'Store credit. [KB-101]'}"
        )
    )
    agent = Agent(model=model, tools=[search_kb], callback_handler=None)
    with scoped(a_scope()):
        result = await agent.invoke_async("hi")
    assert str(result).strip() == "Store credit. [KB-101]"
    assert result.stop_reason == "end_turn"
    used = agent.messages[1]["content"][0]["toolUse"]
    assert (used["name"], used["input"]) == ("search_kb", {"query": "x"})
    assert agent.messages[2]["content"][0]["toolResult"]["status"] == "success"


async def test_parallel_calls_come_in_one_message(play) -> None:
    """A list of call mappings is one turn of the model, each call with an id of its own."""
    model = play("replies: {a: [{call: [{f: {x: 1}}, {g: {}}], say: Wait.}]}")
    events = await ask(model, a_scope())
    starts = [event["contentBlockStart"]["start"] for event in events if "contentBlockStart" in event]
    names = [start["toolUse"]["name"] for start in starts if start]
    ids = {start["toolUse"]["toolUseId"] for start in starts if start}
    assert names == ["f", "g"]
    assert len(ids) == 2
    assert stop_of(events) == "tool_use"


async def test_argument_text_is_sent_as_it_is(play) -> None:
    """Also when it is no JSON: that is how real models break tools."""
    events = await ask(play("replies: {a: [{call: {f: '{\"x\": '}}]}"), a_scope())
    assert text_of(events) == '{"x": '


async def test_trials_take_turns(play) -> None:
    """Trial i plays entry i modulo the length."""
    model = play("replies: {a: {trials: [[{say: one}], [{say: two}]]}}")
    said = [text_of(await ask(model, a_scope(trial=trial))) for trial in range(4)]
    assert said == ["one", "two", "one", "two"]


async def test_an_unnamed_case_gets_the_default(play) -> None:
    """'*' stands for every case without an entry."""
    model = play("replies: {a: [{say: mine}], '*': [{say: default}]}")
    assert text_of(await ask(model, a_scope("b"))) == "default"


async def test_running_out_says_script_case_trial_and_steps(play) -> None:
    """The author of the script has to find the place."""
    model, scope = play("replies: {a: [{say: x}]}"), a_scope(trial=3)
    await ask(model, scope)
    with pytest.raises(
        ModelCallError, match=r"script 'demo': case 'a', trial 3, agent.*has 1 step "
    ) as caught:
        await ask(model, scope)
    assert caught.value.kind == "exhausted"


async def test_a_case_without_reply_is_exhausted_and_says_so(play) -> None:
    """Not an empty answer: nothing was written for it."""
    with pytest.raises(ModelCallError, match="no reply for it, and none under"):
        await ask(play("replies: {a: [{say: x}]}"), a_scope("b"))


async def test_a_judge_without_judgement_names_its_evaluator(play) -> None:
    """The same for judges."""
    model = play("replies: {a: [{say: x}]}")
    with pytest.raises(ModelCallError, match=r"evaluator Helpful.*no judgement"):
        await ask(model, a_scope(role=Role.JUDGE, evaluator="Helpful"))


async def test_an_empty_say_is_a_message_without_blocks(play) -> None:
    """The SDK takes it for an answer without text and ends the turn."""
    model = play('replies: {a: [{say: ""}]}')
    agent = Agent(model=model, callback_handler=None)
    with scoped(a_scope()):
        result = await agent.invoke_async("hi")
    assert str(result) == ""
    assert agent.messages[-1] == {"role": "assistant", "content": []} or not agent.messages[-1]["content"]


@pytest.mark.parametrize("stop", ["max_tokens", "guardrail_intervened", "content_filtered"])
async def test_stop_is_the_stop_reason(play, stop: str) -> None:
    """Also of a step that says nothing else."""
    assert stop_of(await ask(play(f"replies: {{a: [{{say: x, stop: {stop}}}]}}"), a_scope())) == stop


async def test_usage_and_latency_are_reported_as_scripted(play) -> None:
    """Four kinds, beside each other; zero when the script does not say."""
    model = play(
        "replies: {a: [{say: x, usage: {input: 1, output: 2, cache_read: 3, cache_write: 4}}, {say: y}]}"
    )
    scope = a_scope()
    first, second = [(await ask(model, scope))[-1]["metadata"]["usage"] for _ in range(2)]
    assert first == {
        "inputTokens": 1,
        "outputTokens": 2,
        "totalTokens": 10,
        "cacheReadInputTokens": 3,
        "cacheWriteInputTokens": 4,
    }
    assert set(second.values()) == {0}


async def test_a_cut_stream_has_content_and_no_stop(play) -> None:
    """And a retry meets the same step again, for ever when nobody counts."""
    model, scope = play("replies: {a: [{say: half, cut: true}]}"), a_scope()
    for _ in range(3):
        events = await ask(model, scope)
        assert text_of(events) == "half"
        assert stop_of(events) is None
        assert "metadata" not in events[-1]


async def test_a_cut_with_times_ends_well_after_them(play) -> None:
    """The step's own answer comes whole on the next try."""
    model, scope = play("replies: {a: [{say: whole, cut: true, times: 2}]}"), a_scope()
    stops = [stop_of(await ask(model, scope)) for _ in range(3)]
    assert stops == [None, None, "end_turn"]


async def test_raise_with_times_then_its_own_answer(play) -> None:
    """A failed try does not advance the script."""
    model, scope = play("replies: {a: [{raise: throttled, times: 2, say: x}, {say: y}]}"), a_scope()
    for _ in range(2):
        with pytest.raises(ScriptedFailure) as caught:
            await ask(model, scope)
        assert classify(caught.value).outcome is Outcome.THROTTLED
    assert [text_of(await ask(model, scope)) for _ in range(2)] == ["x", "y"]


async def test_raise_with_times_and_nothing_to_say_goes_on_to_the_next_step(play) -> None:
    """`- raise: timeout, times: 1` then `- say: y`."""
    model, scope = play("replies: {a: [{raise: timeout, times: 1}, {say: y}]}"), a_scope()
    with pytest.raises(ScriptedFailure):
        await ask(model, scope)
    assert text_of(await ask(model, scope)) == "y"


@pytest.mark.parametrize("kind", ["throttled", "server_error", "timeout", "auth", "error"])
async def test_raise_without_times_always_raises_its_kind(play, kind: str) -> None:
    """Until the retries are used up."""
    model, scope = play(f"replies: {{a: [{{raise: {kind}}}]}}"), a_scope()
    for _ in range(3):
        with pytest.raises(ScriptedFailure) as caught:
            await ask(model, scope)
        assert classify(caught.value).outcome == kind


async def test_a_context_overflow_is_the_sdks_own_exception(play) -> None:
    """So that an agent's conversation manager may shorten its window."""
    with pytest.raises(ContextWindowOverflowException) as caught:
        await ask(play("replies: {a: [{raise: context_overflow}]}"), a_scope())
    assert classify(caught.value).outcome is Outcome.CONTEXT_OVERFLOW


async def test_a_cancelled_call_does_not_advance_the_script(play) -> None:
    """An attempt that timed out is tried again and has to meet the same step."""
    model, scope = play("replies: {a: [{say: x, delay_s: 30}]}"), a_scope()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await ask(model, scope)
    assert list(scope.cursors.values()) == [[0, 0]]


async def test_two_calls_of_one_trial_at_once_get_two_steps(play) -> None:
    """The nodes of a graph run side by side and share the trial's scope."""
    model, scope = play("replies: {a: [{say: x, delay_s: 0.001}, {say: y, delay_s: 0.001}]}"), a_scope()
    said = await asyncio.gather(ask(model, scope), ask(model, scope))
    assert sorted(map(text_of, said)) == ["x", "y"]


async def test_two_hundred_trials_at_once_each_keep_their_place(play) -> None:
    """One model object serves the whole run; nothing of a trial stays on it."""
    cases = ", ".join(f"c{i}: [{{say: c{i}-0, delay_s: 0.001}}, {{say: c{i}-1}}]" for i in range(200))
    model = play(f"replies: {{{cases}}}")

    async def trial(i: int) -> list[str]:
        scope = a_scope(f"c{i}")
        return [text_of(await ask(model, scope)) for _ in range(2)]

    said = await asyncio.gather(*(trial(i) for i in range(200)))
    assert said == [[f"c{i}-0", f"c{i}-1"] for i in range(200)]


JUDGED = """
judgements:
  Helpful:
    a: {fields: best}
    b: {fields: {reasoning: r, score: Very helpful}}
    c: {raw: no json}
"""


async def test_a_judgement_fills_the_schema_that_the_judge_asks_for(play) -> None:
    """Through the SDK's own structured output."""
    agent = Agent(model=play(JUDGED), callback_handler=None)
    with scoped(a_scope(role=Role.JUDGE, evaluator="Helpful")):
        result = await agent.invoke_async("rate", structured_output_model=HelpfulnessRating)
    assert result.structured_output.score.value == "Above and beyond"


async def test_given_fields_are_sent_as_they_are(play) -> None:
    """Right or wrong: the schema is the judge's to check."""
    agent = Agent(model=play(JUDGED), callback_handler=None)
    with scoped(a_scope("b", role=Role.JUDGE, evaluator="Helpful")):
        result = await agent.invoke_async("rate", structured_output_model=HelpfulnessRating)
    assert result.structured_output.score.value == "Very helpful"


async def test_one_judgement_answers_every_question_of_a_judge(play) -> None:
    """Tool judges ask once a tool call; the trial decides how often."""
    model, scope = play(JUDGED), a_scope(role=Role.JUDGE, evaluator="Helpful")
    said = [text_of(await ask(model, scope)) for _ in range(3)]
    assert said == ['{"verdict":"yes","reason":"scripted: best"}'] * 3


async def test_without_a_schema_worst_is_a_no_in_json(play) -> None:
    """Our own criterion judge asks in words."""
    model = play("judgements: {'Criterion:x': {'*': {fields: worst}}}")
    events = await ask(model, a_scope(role=Role.JUDGE, evaluator="Criterion:x"))
    assert json.loads(text_of(events))["verdict"] == "no"


async def test_raw_is_sent_as_text_whatever_was_asked(play) -> None:
    """So that unparsable judges can be played."""
    model = play(JUDGED)
    events = await ask(
        model,
        a_scope("c", role=Role.JUDGE, evaluator="Helpful"),
        tool_specs=[{"name": "Rating", "description": "x", "inputSchema": {"json": {}}}],
    )
    assert text_of(events) == "no json"
    assert stop_of(events) == "end_turn"


async def test_the_structured_output_tool_is_told_from_the_judges_own_tools(play) -> None:
    """Trajectory judges bring tools of their own; the verdict goes to the SDK's."""
    own = {"name": "exact_match_scorer", "description": "Scores.", "inputSchema": {"json": {}}}
    schema = {"properties": {"score": {"type": "number"}}, "required": ["score"]}
    asked = {
        "name": "EvaluationOutput",
        "description": "IMPORTANT: This StructuredOutputTool should only be invoked last",
        "inputSchema": {"json": schema},
    }
    events = await ask(play(JUDGED), a_scope(role=Role.JUDGE, evaluator="Helpful"), tool_specs=[own, asked])
    started = next(event["contentBlockStart"]["start"] for event in events if "contentBlockStart" in event)
    assert started["toolUse"]["name"] == "EvaluationOutput"
    assert json.loads(text_of(events)) == {"score": 1.0}


class Verdict(BaseModel):
    """A typed answer."""

    reasoning: str
    passed: bool


async def test_the_older_structured_output_path_gives_an_object(play) -> None:
    """`Model.structured_output` is still part of the SDK's interface."""
    with scoped(a_scope(role=Role.JUDGE, evaluator="Helpful")):
        events = [event async for event in play(JUDGED).structured_output(Verdict, [])]
    assert events[-1]["output"].passed is True


async def test_without_a_scope_the_default_replies_play(play) -> None:
    """For trying a script by hand."""
    model = play("replies: {'*': [{say: x}, {say: y}]}")
    said = []
    for _ in range(2):
        said.append(text_of([event async for event in model.stream([])]))  # noqa: PERF401 - async
    assert said == ["x", "y"]


def test_its_config_names_the_script(play) -> None:
    """Traces and rows show the model's id."""
    assert play("replies: {'*': [{say: x}]}").get_config() == {"model_id": "scripted:demo"}


# --- what the next call costs ---


async def test_the_next_calls_tokens_are_known_before_it(play) -> None:
    """And looking does not advance the script."""
    model = play(
        "replies: {a: [{say: x, usage: {input: 1, output: 2, cache_read: 3, cache_write: 4}}, {say: y}]}"
    )
    scope = a_scope()
    assert model.expected_usage(scope) == Usage(input=1, output=2, cache_read=3, cache_write=4)
    assert model.expected_usage(scope) == Usage(input=1, output=2, cache_read=3, cache_write=4)
    await ask(model, scope)
    assert model.expected_usage(scope) == Usage()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("{raise: throttled, times: 1, say: x, usage: {output: 2}}", Usage()),
        ("{raise: timeout, usage: {output: 2}}", None),
        ("{say: x, cut: true, usage: {output: 2}}", None),
    ],
)
async def test_a_try_that_fails_costs_nothing_or_nobody_knows(
    play, step: str, expected: Usage | None
) -> None:
    """Refused before a token flowed, or broken after the provider may have worked."""
    assert play(f"replies: {{a: [{step}]}}").expected_usage(a_scope()) == expected


async def test_a_script_that_has_run_out_costs_nothing(play) -> None:
    """It has nothing to send; the call itself says so."""
    assert play("replies: {b: [{say: x}]}").expected_usage(a_scope()) == Usage()


# --- judgements that depend on what the judge is shown ---

LOOKING = """\
judgements:
  J:
    a:
      first_match:
        - {sees: "más reciente", raw: bad, usage: {output: 2}}
        - {sees: "it's over", raw: over}
        - {sees: "<<ANSWER .*refuse", raw: refused}
    b: {first_match: [{sees: slow, raise: throttled, times: 1, raw: late}, {raw: fine}]}
    same: {first_match: [{sees: x, raw: y, usage: {output: 2}}, {raw: z, usage: {output: 2}}]}
"""


async def judge(model: ScriptedModel, scope: Scope, *texts: str) -> str:
    messages = [{"role": "user", "content": [{"text": text} for text in texts]}]
    with scoped(scope):
        return text_of([event async for event in model.stream(messages)])


def judging(case_id: str) -> Scope:
    return a_scope(case_id, role=Role.JUDGE, evaluator="J")


@pytest.mark.parametrize(
    ("texts", "raw"),
    [
        (("La MAS\n RECIENTE es",), "bad"),
        (("one", "La ma\u0301s reciente"), "bad"),
        (("It’s over",), "over"),
        (("<<QUERY 1>>\nrefuse\n<<END QUERY 1>>", "<<ANSWER 1>>\nI refuse\n<<END ANSWER 1>>"), "refused"),
    ],
)
async def test_a_judgement_goes_by_what_the_judge_is_shown(play, texts: tuple[str, ...], raw: str) -> None:
    """Case, accents, typography and line ends make no difference, as in a check."""
    assert await judge(play(LOOKING), judging("a"), *texts) == raw


async def test_each_call_looks_anew(play) -> None:
    """A judge that is asked again, or about something else, is answered by what it is shown then."""
    model, scope = play(LOOKING), judging("b")
    said = [await judge(model, scope, text) for text in ("one", "two", "three")]
    assert said == ["fine"] * 3


async def test_a_failing_entry_meets_its_retry(play) -> None:
    """`times` counts on the entry that plays."""
    model, scope = play(LOOKING), judging("b")
    with pytest.raises(ScriptedFailure):
        await judge(model, scope, "slow")
    assert await judge(model, scope, "slow") == "late"


async def test_no_fitting_entry_is_exhausted_and_says_so(play) -> None:
    """Silence would read as a verdict."""
    with pytest.raises(
        ModelCallError, match=r"3 first_match entries, and none fits what the judge"
    ) as caught:
        await judge(play(LOOKING), judging("a"), "<<QUERY 1>>\nrefuse\n<<END QUERY 1>>")
    assert caught.value.kind == "exhausted"


def test_what_is_shown_are_texts_and_tool_results_but_not_the_models_own_words() -> None:
    """What a judge said in its first try must not decide its second."""
    messages = [
        {"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [{"text": "mine"}, {"toolUse": {"name": "t", "input": {}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "b"}, {"json": {"k": "ñ"}}]}}],
        },
    ]
    assert shown_text(messages) == 'a\nb\n{"k":"ñ"}'


def test_tokens_that_depend_on_what_is_shown_are_unknown_before_the_call(play) -> None:
    """A cap then holds the dearest that it knows of."""
    model = play(LOOKING)
    assert model.expected_usage(judging("a")) is None
    assert model.expected_usage(judging("same")) == Usage(output=2)
    assert model.expected_usage(judging("b")) == Usage()
