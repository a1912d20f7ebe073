"""Message log -> Strands session: what was said and called in which turn, and nothing of others."""

import asyncio
import random
from typing import Any

from strands import Agent, tool
from strands_evals.extractors import TraceExtractor
from strands_evals.extractors.skills import (
    extract_selected_skills,
    extract_skill_load_events,
    parse_available_skills,
)
from strands_evals.types.trace import EvaluationLevel, ToolExecutionSpan

from makers import (
    TinyModel,
    a_call,
    a_case,
    a_meter,
    a_plan,
    a_planned_case,
    a_trial,
    assistant,
    called,
    metered,
    results,
    said,
    user,
)
from nightgate.adapters.agents import StrandsFactory
from nightgate.evaluators.sessions import exchanges, message_list, session, tool_text, unanswered
from nightgate.playing import play
from nightgate.trials import Trial

LOG = (
    user("Refund?"),
    assistant("Let me look.", ("t1", "search", {"q": "a"}), ("t2", "search", {"q": "b"})),
    results(("t2", "two"), ("t1", "one")),
    assistant(("t3", "order", {"id": 7})),
    results(("t3", "no such order", "error")),
    assistant("No refund."),
    user("Sure?"),
    assistant("Yes."),
)


def tools_of(trial: Trial) -> list[ToolExecutionSpan]:
    spans = [span for trace in session(trial).traces for span in trace.spans]
    return [span for span in spans if isinstance(span, ToolExecutionSpan)]


def test_each_user_turn_is_a_trace() -> None:
    """Tool results travel in user messages too, but nobody speaks in them."""
    inputs = TraceExtractor(EvaluationLevel.TRACE_LEVEL).extract(session(a_trial(messages=LOG)))
    assert [turn.agent_response.text for turn in inputs] == ["No refund.", "Yes."]


def test_the_session_level_sees_prompts_answers_and_calls() -> None:
    """What a goal judge reads is the whole conversation, in order."""
    found = TraceExtractor(EvaluationLevel.SESSION_LEVEL).extract(session(a_trial(messages=LOG)))
    first, second = found.session_history
    assert (first.user_prompt.text, second.user_prompt.text) == ("Refund?", "Sure?")
    assert [call.tool_call.arguments for call in first.tool_execution_history] == [
        {"q": "a"},
        {"q": "b"},
        {"id": 7},
    ]


def test_a_result_belongs_to_its_call() -> None:
    """Answers of parallel calls come back in any order; a failed one is an error."""
    found = [(span.tool_result.content, span.tool_result.error) for span in tools_of(a_trial(messages=LOG))]
    assert found == [("one", None), ("two", None), ("no such order", "no such order")]


def test_a_judge_of_a_call_sees_the_calls_before_it_and_not_those_beside_it() -> None:
    """Without an order in time every call would look like the first one."""
    found = TraceExtractor(EvaluationLevel.TOOL_LEVEL).extract(session(a_trial(messages=LOG)))
    prior = [[c.tool_call.name for part in i.session_history[1:] for c in part] for i in found]
    assert prior == [[], [], ["search", "search"]]


def test_calls_that_share_an_id_keep_their_own_results_and_arguments() -> None:
    """Some servers call every call the same; the last one must not stand for all."""
    log = (
        user("x"),
        assistant(("call", "f", {"n": 1})),
        results(("call", "one")),
        assistant(("call", "f", {"n": 2}), ("call", "f", {"n": 3})),
        results(("call", "two"), ("call", "three")),
        assistant(("call", "f", {})),
    )
    calls = [*(a_call("f", {"n": n}) for n in (1, 2, 3)), a_call("f", "{broken")]
    found = tools_of(a_trial("", *calls, messages=log))
    sent = [span.tool_call.arguments for span in found]
    assert sent == [{"n": 1}, {"n": 2}, {"n": 3}, {"arguments": "{broken"}]
    assert [span.tool_result.content for span in found] == ["one", "two", "three", ""]
    assert len({span.span_info.span_id for span in found}) == 4


def test_a_call_without_an_answer_is_an_error_in_the_session() -> None:
    """The agent stopped before its tool came back."""
    (span,) = tools_of(a_trial(messages=(user("x"), assistant(("t", "f", {})))))
    assert span.tool_result.error == "no result"


def test_arguments_that_are_no_object_are_shown_to_the_judge() -> None:
    """The SDK puts an empty object in their place; what the model wrote is in the trial."""
    log = (user("x"), assistant(("t", "f", {})), results(("t", "bad", "error")))
    (span,) = tools_of(a_trial("", a_call("f", "[1, 2"), messages=log))
    assert span.tool_call.arguments == {"arguments": "[1, 2"}


def test_system_prompt_and_tools_are_in_the_session() -> None:
    """A judge of tool choice must know what there was to choose from."""
    offered = ({"name": "f", "description": "F.", "inputSchema": {"json": {"type": "object"}}},)
    trial = a_trial(messages=LOG, tools_offered=offered, system_prompt="Be kind.")
    found = TraceExtractor(EvaluationLevel.TOOL_LEVEL).extract(session(trial))
    assert found[0].available_tools[0].name == "f"
    assert session(trial).traces[0].spans[-1].system_prompt == "Be kind."


def test_two_cases_are_two_sessions() -> None:
    """Their ids differ by more than the trial's number."""
    one, two = a_trial(), a_trial()
    other = Trial(key=type(two.key)(run_id="r", suite="demo", case_id="b", trial=0), ending=two.ending)
    assert session(one).session_id != session(other).session_id


def test_nothing_said_is_no_trace() -> None:
    """The factory broke: there is no trajectory, and none is made up."""
    assert session(a_trial(messages=())).traces == []


def test_tool_text_has_a_line_for_each_text_and_json_part() -> None:
    """A tool may answer in several parts; pictures have no text."""
    parts: list[dict[str, Any]] = [{"text": "a"}, {"json": {"ñ": 1}}, {"image": {}}]
    assert tool_text({"content": parts}) == 'a\n{"ñ": 1}'


def test_a_result_that_nobody_asked_for_is_dropped() -> None:
    """An agent that was given a history may hold one."""
    assert exchanges([results(("t9", "x"))]) == []


# --- the list beside the session ---

WAITS = (
    user("Pay me."),
    assistant(("t1", "skills", {"skill_name": "a"})),
    results(("t1", "Skill 'a' not found. Available skills: b")),
    assistant(("t1", "skills", {"skill_name": "b"})),
    results(("t1", "Do b.", "success")),
    assistant(("t1", "skills", {"skill_name": "c"})),
)
"""The last call waits for a person; this server gives every call the same id."""


def test_a_log_that_ends_before_a_result_is_unanswered() -> None:
    """Also where another call of the same id was answered."""
    assert unanswered(a_trial(messages=WAITS))
    assert not unanswered(a_trial(messages=WAITS[:-1]))
    assert not unanswered(a_trial(messages=()))


def test_in_the_list_a_call_without_a_result_was_attempted_and_in_a_session_it_failed() -> None:
    """Pins why there are two forms: a session has no word for an outcome that nobody recorded."""
    trial = a_trial(messages=WAITS)
    assert [event.status for event in extract_skill_load_events(session(trial))] == [
        "failed",
        "loaded",
        "failed",
    ]
    assert [event.status for event in extract_skill_load_events(message_list(trial))] == [
        "failed",
        "loaded",
        "attempted",
    ]


def test_with_every_call_answered_the_list_and_the_session_say_the_same() -> None:
    """Which form a judge gets must not change what it finds."""
    trial = a_trial(messages=WAITS[:-1])
    assert extract_selected_skills(message_list(trial)) == extract_selected_skills(session(trial))


def test_the_list_shows_the_skills_on_offer() -> None:
    """The SDK puts them into the system prompt, which is no message of the log."""
    prompt = (
        "<available_skills>\n<skill><name>b</name><description>B.</description></skill>\n</available_skills>"
    )
    trial = a_trial(messages=WAITS, system_prompt=prompt)
    assert parse_available_skills(message_list(trial)) == parse_available_skills(session(trial))
    assert [skill.name for skill in parse_available_skills(message_list(trial))] == ["b"]


def test_the_list_holds_arguments_as_sent_and_nothing_but_words_and_calls() -> None:
    """The SDK puts an empty object in the place of what is no JSON; pictures are no words."""
    log = (
        {"role": "user", "content": [{"image": {}}, {"text": "x"}]},
        assistant("I look.", ("t", "f", {})),
        results(("t", "bad", "error"), ("t9", "nobody asked")),
        {"role": "assistant", "content": [{"image": {}}]},
    )
    assert message_list(a_trial("", a_call("f", "[1, 2"), messages=log)) == [
        {"role": "user", "content": [{"text": "x"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "I look."},
                {"toolUse": {"toolUseId": "call-0", "name": "f", "input": {"arguments": "[1, 2"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "call-0", "status": "error", "content": [{"text": "bad"}]}}
            ],
        },
    ]


async def test_parallel_trials_never_see_each_others_words() -> None:
    """A shared exporter mixed 296 of 300 sessions, in silence. Here each log is one agent's own.

    Eight trials at once, fifty times over, each told its own word and calling a tool with it.
    """
    told = random.Random(7)

    async def reply(messages: Any, _: int) -> list[Any]:
        await asyncio.sleep(told.random() / 2000)
        word = messages[0]["content"][0]["text"]
        return said(f"done {word}") if len(messages) > 2 else called("echo", {"word": word})

    @tool
    async def echo(word: str) -> str:
        """Say it again.

        Args:
            word: What.
        """
        await asyncio.sleep(told.random() / 2000)
        return f"echo {word}"

    factory = StrandsFactory(lambda model, _: Agent(model=model, tools=[echo], callback_handler=None), "f")
    model = metered(TinyModel(reply), a_meter())

    async def one(word: str) -> Trial:
        case = a_case(word, text=word)
        planned = a_planned_case(case)
        return await play(a_plan(planned), planned, case, 0, factory=factory, model=model, attempt=1)

    for repetition in range(50):
        words = [f"w{repetition}x{number}" for number in range(8)]
        trials = await asyncio.gather(*map(one, words))
        for word, trial in zip(words, trials, strict=True):
            whole = session(trial).model_dump_json()
            assert f"echo {word}" in whole
            assert f"done {word}" in whole
            assert not [other for other in words if other != word and other in whole]
