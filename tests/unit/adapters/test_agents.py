"""The border to the user's factory and to the SDK's agents."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.multiagent import GraphBuilder, Swarm
from strands.multiagent.base import MultiAgentBase, MultiAgentResult, NodeResult, Status
from strands.vended_plugins.skills import AgentSkills, Skill

from makers import (
    TinyModel,
    a_case,
    a_meter,
    a_plan,
    a_planned_case,
    a_scope,
    called,
    in_turn,
    metered,
    said,
)
from nightgate.adapters import agents
from nightgate.adapters.agents import SharedAgentError, StrandsFactory
from nightgate.adapters.failures import ScriptedFailure
from nightgate.calls import Role, scoped
from nightgate.errors import InputError, ModelCallError
from nightgate.playing import play
from nightgate.ports import AgentUnderTest, Target
from nightgate.trials import Ending, Trial

CASE = a_case("c", context={"customer": 7})


@tool
def search(query: str) -> str:
    """Look it up.

    Args:
        query: What for.
    """
    return f"found {query}"


def plain(model: Any, **more: Any) -> Agent:
    return Agent(model=model, callback_handler=None, **more)


def a_graph(**nodes: Any) -> Any:
    """The nodes, one after the other."""
    builder = GraphBuilder()
    for name, node in nodes.items():
        builder.add_node(node, name)
    for before, after in zip(nodes, list(nodes)[1:], strict=False):
        builder.add_edge(before, after)
    return builder.set_execution_timeout(60).build()


async def built(factory: Callable[[Any, Any], Any], model: Any = None) -> AgentUnderTest:
    return await StrandsFactory(factory, "mine:build").build(model or in_turn(), CASE)


async def played(
    factory: Callable[[Any, Any], Any], *replies: Any, limits: dict[str, int] | None = None
) -> Trial:
    planned = a_planned_case(CASE)
    model = metered(in_turn(*replies), a_meter(call_caps={Role.AGENT: 50}))
    return await play(
        a_plan(planned, limits=limits),
        planned,
        CASE,
        0,
        factory=StrandsFactory(factory, "mine:build"),
        model=model,
        attempt=1,
    )


# --- building ---


async def test_a_factory_gets_the_model_and_the_case() -> None:
    """The context is for the factory alone; the model never sees it by itself."""
    got = []

    def factory(model: Any, case: Any) -> Agent:
        got.append(case.context["customer"])
        return plain(model)

    assert (await built(factory)).single
    assert got == [7]


async def test_factories_may_be_sync_async_or_objects() -> None:
    """Whatever can be called with a model and a case."""

    async def late(model: Any, _: Any) -> Agent:
        return plain(model)

    class Builder:
        async def __call__(self, model: Any, _: Any) -> Agent:
            return plain(model)

    for factory in (lambda model, _: plain(model), late, Builder(), lambda m, _: Target(plain(m))):
        assert (await built(factory)).single


async def test_a_sync_factory_does_not_hold_the_loop() -> None:
    """It may read files or open connections; other trials go on."""
    turned = threading.Event()

    def slow(model: Any, _: Any) -> Agent:
        assert turned.wait(10)
        return plain(model)

    asyncio.get_running_loop().call_soon(turned.set)
    await built(slow)


class Wrapper:
    """A target of the user's own class."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    async def invoke_async(self, text: str) -> str:
        return text


class Slotted:
    """No weak reference can be had of it."""

    __slots__ = ()

    async def invoke_async(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Equal:
    """All of them are equal, and still they are many."""

    async def invoke_async(self, text: str) -> str:
        return text


class Unhashable(Wrapper):
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Wrapper, Slotted, Equal, Unhashable])
async def test_the_same_object_twice_is_refused_and_equal_ones_are_not(kind: type) -> None:
    """Trials would share its memory; equality is no identity."""
    kept = [kind() for _ in range(3)]
    objects = iter([*kept, kept[1]])
    factory = StrandsFactory(lambda *_: next(objects), "mine:build")
    for _ in kept:
        await factory.build(None, CASE)
    with pytest.raises(SharedAgentError, match="mine:build returned the same agent object again"):
        await factory.build(None, CASE)


async def test_an_agent_that_is_gone_does_not_count_as_seen() -> None:
    """A new one may get its address."""
    factory = StrandsFactory(lambda *_: Wrapper(), "mine:build")
    for _ in range(200):
        await factory.build(None, CASE)


async def test_a_new_graph_around_an_old_agent_is_refused() -> None:
    """The agents inside remember too."""
    model = in_turn()
    inner = plain(model, name="inner")
    mine = StrandsFactory(lambda *_: a_graph(inner=inner), "mine:build")
    await mine.build(model, CASE)
    with pytest.raises(SharedAgentError):
        await mine.build(model, CASE)


async def test_an_agent_around_another_model_is_refused() -> None:
    """What is under test must be what the run says."""
    with pytest.raises(InputError, match=r"instead of the model it was given .*Agent\(model=model\)"):
        await built(lambda *_: plain(in_turn()))


@pytest.mark.parametrize("wrong", [None, "agent", 5, object()])
async def test_what_is_no_agent_is_refused(wrong: Any) -> None:
    """With what to return instead."""
    with pytest.raises(InputError, match=r"mine:build returned \w+ for case 'c': return a strands.Agent"):
        await built(lambda *_: wrong)


async def test_a_refused_target_is_closed() -> None:
    """What it opened must not stay open."""
    closed: list[bool] = []
    with pytest.raises(InputError):
        await built(lambda *_: Target(plain(in_turn()), close=lambda: closed.append(True)))
    assert closed == [True]


async def test_a_factory_that_may_not_be_used_ends_the_run_and_no_trial() -> None:
    """It is wrong input, exit 2; as an agent's error it would look like a bad answer."""
    agent = Wrapper()
    factory = StrandsFactory(lambda *_: agent, "mine:build")
    await factory.build(None, CASE)  # as planning does
    planned = a_planned_case(CASE)
    with pytest.raises(SharedAgentError):
        await play(a_plan(planned), planned, CASE, 0, factory=factory, model=metered(in_turn()), attempt=1)


# --- talking ---


async def test_calls_answers_and_results_are_logged_in_order() -> None:
    """The log is what checks and judges read."""
    trial = await played(
        lambda model, _: plain(model, tools=[search], system_prompt="Be kind."),
        called("search", {"query": "x"}),
        said("Here."),
    )
    assert (trial.ending, trial.output, trial.stop_reason) == (Ending.COMPLETED, "Here.", "end_turn")
    (call,) = trial.tool_calls
    assert (call.name, call.arguments, call.result, call.status) == (
        "search",
        {"query": "x"},
        "found x",
        "success",
    )
    assert [message["role"] for message in trial.messages] == ["user", "assistant", "user", "assistant"]
    assert trial.system_prompt == "Be kind."
    assert [offered["name"] for offered in trial.tools_offered] == ["search"]
    assert (trial.calls, trial.turns) == (2, 1)


async def test_the_log_keeps_what_the_window_drops() -> None:
    """The agent's own list is cut while it works."""
    replies = [called("search", {"query": str(n)}, use=f"t{n}") for n in range(6)]
    manager = SlidingWindowConversationManager(window_size=2)
    trial = await played(
        lambda model, _: plain(model, tools=[search], conversation_manager=manager), *replies, said("done")
    )
    assert [call.arguments["query"] for call in trial.tool_calls] == list("012345")
    assert len(trial.messages) == 14


async def test_the_log_is_no_window_on_the_agents_memory() -> None:
    """A tool that edits the messages later changes nothing of what was said."""
    agent = plain(in_turn(said("yes")))
    target = await built(lambda *_: agent, agent.model)
    await target.say("hi", {})
    agent.messages[0]["content"][0]["text"] = "forged"
    assert target.messages[0]["content"][0]["text"] == "hi"


async def test_a_history_that_the_factory_gave_is_not_the_agents_doing() -> None:
    """Its calls were not made in this trial."""
    history = [
        {"role": "user", "content": [{"text": "before"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "search", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "status": "success", "content": []}}]},
        {"role": "assistant", "content": [{"text": "then"}]},
    ]
    trial = await played(lambda model, _: plain(model, messages=history), said("now"))
    assert trial.tool_calls == ()
    assert trial.output == "now"


async def test_tools_that_are_not_offered_and_broken_arguments_are_calls_too() -> None:
    """The model asked for them; what came back is an error."""
    trial = await played(
        lambda model, _: plain(model, tools=[search]),
        called("refund", {"all": True}, use="t1"),
        called("search", '{"query": ', use="t2"),
        said("Sorry."),
    )
    unknown, broken = trial.tool_calls
    assert (unknown.name, unknown.status) == ("refund", "error")
    assert (broken.arguments, broken.status) == ('{"query": ', "error")


@pytest.mark.parametrize(
    ("replies", "limits", "ending", "stop", "text"),
    [
        ([said("half an ans", stop="max_tokens")], {}, Ending.AGENT_TRUNCATED, "max_tokens", "half an ans"),
        (
            [said("I cannot say that.", stop="guardrail_intervened")],
            {},
            Ending.AGENT_BLOCKED,
            "guardrail_intervened",
            "I cannot say that.",
        ),
        ([said("No.", stop="content_filtered")], {}, Ending.AGENT_BLOCKED, "content_filtered", "No."),
        (
            [called("search", {"query": str(n)}, use=f"t{n}") for n in range(9)],
            {"turns": 2},
            Ending.AGENT_TRUNCATED,
            "limit_turns",
            "",
        ),
        (
            [called("search", {"query": str(n)}, use=f"t{n}") for n in range(9)],
            {"total_tokens": 20},
            Ending.AGENT_TRUNCATED,
            "limit_total_tokens",
            "",
        ),
    ],
)
async def test_stops_become_endings(
    replies: list[Any], limits: dict[str, int], ending: Ending, stop: str, text: str
) -> None:
    """Pins the SDK's words for its limits; the text until there is kept for the judges."""
    trial = await played(lambda model, _: plain(model, tools=[search]), *replies, limits=limits)
    assert (trial.ending, trial.stop_reason, trial.output) == (ending, stop, text)


async def test_text_under_citations_is_part_of_the_answer() -> None:
    """Bedrock puts it into blocks of their own."""
    message = {
        "content": [
            {"text": "So:"},
            {"citationsContent": {"content": [{"text": "30 days."}], "citations": []}},
        ]
    }
    assert agents._text(message) == "So:\n30 days."


@pytest.mark.parametrize("where", ["factory", "hook", "tool state"])
async def test_an_exception_of_agent_code_is_the_agents_error(where: str) -> None:
    """With its type and text, and without the SDK's wrapping."""

    def factory(model: Any, _: Any) -> Any:
        if where == "factory":
            raise LookupError("no such customer")
        agent = plain(model)
        if where == "hook":
            from strands.hooks import BeforeModelCallEvent

            def refuse(_: Any) -> None:
                raise LookupError("no such customer")

            agent.hooks.add_callback(BeforeModelCallEvent, refuse)
            return agent

        def state() -> Any:
            raise LookupError("no such customer")

        return Target(agent, state=state)

    trial = await played(factory, said("x"))
    assert trial.ending is Ending.AGENT_ERROR
    assert "LookupError: no such customer" in (trial.error or "")


async def test_a_model_that_fails_for_good_is_raised_as_it_is() -> None:
    """The runner tells infrastructure from agent by its type."""

    def reply(*_: Any) -> Any:
        raise ScriptedFailure("auth")

    target = await built(lambda model, _: plain(model), metered(TinyModel(reply)))
    with pytest.raises(ModelCallError):
        await target.say("hi", {})


# --- graphs and swarms ---


def graph_of(model: Any, *names: str) -> Any:
    return a_graph(
        **{name: plain(model, name=name, system_prompt=f"You are {name}.", tools=[search]) for name in names}
    )


async def test_a_graph_is_one_target_with_the_calls_of_all_its_agents() -> None:
    """Whoever of them called a tool, the target did."""
    trial = await played(
        lambda model, _: graph_of(model, "first", "second"),
        called("search", {"query": "a"}),
        said("one"),
        called("search", {"query": "b"}, use="t2"),
        said("two"),
    )
    assert trial.ending is Ending.COMPLETED
    assert [call.arguments["query"] for call in trial.tool_calls] == ["a", "b"]
    assert "two" in trial.output
    assert trial.system_prompt == "You are first.\n\nYou are second."


async def test_a_graph_in_a_graph_is_heard_too() -> None:
    """At any depth."""
    trial = await played(
        lambda model, _: a_graph(outer=graph_of(model, "deep")),
        called("search", {"query": "a"}),
        said("done"),
    )
    assert [call.name for call in trial.tool_calls] == ["search"]


async def test_a_graph_that_never_asked_the_given_model_is_the_agents_error() -> None:
    """It was built around another one, and nothing of it was measured."""
    trial = await played(lambda *_: graph_of(in_turn(said("elsewhere")), "only"))
    assert trial.ending is Ending.AGENT_ERROR
    assert "without one call of the model" in (trial.error or "")


async def test_a_swarm_that_failed_did_not_complete() -> None:
    """It hides the exception of a node behind its status."""

    def factory(model: Any, _: Any) -> Any:
        from strands.hooks import BeforeModelCallEvent

        agent = plain(model, name="only")

        def refuse(_: Any) -> None:
            raise LookupError("no such customer")

        agent.hooks.add_callback(BeforeModelCallEvent, refuse)
        return Swarm([agent])

    trial = await played(factory, said("x"))
    assert trial.ending is Ending.AGENT_ERROR
    assert "ended as failed" in (trial.error or "")


async def test_a_swarm_whose_model_failed_is_the_infrastructures_fault() -> None:
    """The same status, another cause."""
    trial = await played(lambda model, _: Swarm([plain(model, name="only")]), ScriptedFailure("auth"))
    assert trial.ending is Ending.INFRA_ERROR


@pytest.mark.parametrize(
    ("limits", "stop", "calls"),
    [
        ({"turns": 2}, "limit_turns", 2),
        ({"output_tokens": 100}, "limit_output_tokens", 1),
        ({"total_tokens": 150}, "limit_total_tokens", 2),
        ({"turns": 3, "output_tokens": 300}, None, 3),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
async def test_limits_hold_for_several_agents_together(
    limits: dict[str, int], stop: str | None, calls: int, nested: bool
) -> None:
    """The SDK keeps them for one agent's call only; past them no node calls the model again."""
    names = ("one", "two", "three")

    def factory(model: Any, _: Any) -> Any:
        agents = {name: plain(model, name=name) for name in names}
        return a_graph(all=a_graph(**agents)) if nested else a_graph(**agents)

    trial = await played(
        factory, *[said("x", usage={"inputTokens": 10, "outputTokens": 100})] * 3, limits=limits
    )

    assert trial.calls == calls
    assert trial.ending is (Ending.COMPLETED if stop is None else Ending.AGENT_TRUNCATED)
    assert trial.error == (None if stop is None else f"stopped by {stop}")


async def test_limits_hold_for_a_swarm_that_hides_its_failures() -> None:
    """It loops on a tool, and calls its own end a failure: the limit is what ended it."""
    trial = await played(
        lambda model, _: Swarm([plain(model, name="only")]), *[called("nothing")] * 9, limits={"turns": 4}
    )
    assert (trial.ending, trial.calls) == (Ending.AGENT_TRUNCATED, 4)
    assert trial.error == "stopped by limit_turns"


async def test_a_graphs_turns_are_counted_anew_for_each_message() -> None:
    """Limits hold for each agent turn of a conversation."""
    scope, model = a_scope(), metered(in_turn(*[said("x")] * 4))
    target = await built(lambda given, _: a_graph(one=plain(given, name="one")), model)
    with scoped(scope):
        for _ in range(2):
            await target.say("hi", {"turns": 1})
    assert scope.limit_reached() == "limit_turns"
    assert len(scope.calls) == 2


# --- state and close ---


async def test_the_state_is_copied_when_the_trial_is_over() -> None:
    """The world may go on; the record may not."""
    world = {"cases": [{"status": "open"}]}

    async def late() -> Any:
        return world

    for state in (lambda: world, late):
        target = await built(lambda m, _, state=state: Target(plain(m), state=state))
        found = await target.state()
        assert found == world
        assert found["cases"][0] is not world["cases"][0]
    assert await (await built(lambda m, _: plain(m))).state() is None


@pytest.mark.parametrize("wrong", [[], "x", None, 5])
async def test_a_state_that_is_no_mapping_is_the_agent_codes_error(wrong: Any) -> None:
    """A check would otherwise find every path missing."""
    trial = await played(lambda m, _: Target(plain(m), state=lambda: wrong), said("x"))
    assert trial.ending is Ending.AGENT_ERROR
    assert "return a JSON mapping" in (trial.error or "")
    assert trial.final_state is None


async def test_a_target_is_closed_once_however_it_ended() -> None:
    """Sync or async; what it raises is not the trial's."""
    closed: list[str] = []

    async def late() -> None:
        closed.append("late")
        raise LookupError("already gone")

    for close in (lambda: closed.append("sync"), late):
        target = await built(lambda m, _, close=close: Target(plain(m), close=close))
        await target.close()
        await target.close()
    trial = await played(lambda m, _: Target(plain(m), close=lambda: closed.append("error")))
    assert trial.ending is Ending.INFRA_ERROR
    assert closed == ["sync", "late", "error"]


async def test_a_close_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would keep its slot for the rest of the night."""
    monkeypatch.setattr(agents, "_CLOSE_S", 0.01)

    async def hangs() -> None:
        await asyncio.Event().wait()

    trial = await played(lambda m, _: Target(plain(m), close=hangs), said("done"))
    assert trial.output == "done"


# --- what can be seen of it ---


class _Opaque:
    """A target that asks its model and shows no agent."""

    def __init__(self, model: Any) -> None:
        self._model = model

    async def invoke_async(self, text: str) -> str:
        return str(await plain(self._model).invoke_async(text))


async def test_a_target_that_shows_no_agent_leaves_no_trajectory() -> None:
    """That no call was seen must not be read as "no call was made"."""
    trial = await played(lambda model, _: _Opaque(model), said("42"))

    assert trial.ending is Ending.COMPLETED
    assert (trial.tools_offered, trial.recorded) == (None, False)


class _Hidden(MultiAgentBase):
    """A node that asks its model and shows no agent."""

    id = "hidden"

    def __init__(self, model: Any) -> None:
        self._model = model

    async def invoke_async(self, task: Any, invocation_state: Any = None, **more: Any) -> MultiAgentResult:
        result = await plain(self._model, tools=[search]).invoke_async(str(task))
        return MultiAgentResult(
            status=Status.COMPLETED, results={"hidden": NodeResult(result=result, status=Status.COMPLETED)}
        )

    def serialize_state(self) -> dict[str, Any]:
        return {}

    def deserialize_state(self, payload: dict[str, Any]) -> None:
        """Nothing is kept."""


@pytest.mark.parametrize("deep", [False, True])
async def test_one_hidden_node_leaves_no_trajectory(deep: bool) -> None:
    """What the others called is not all: a tool that nobody may call passed unseen."""

    def build(model: Any, _: Any) -> Any:
        hidden = a_graph(inner=_Hidden(model)) if deep else _Hidden(model)
        return a_graph(hidden=hidden, seen=plain(model, name="seen", tools=[search]))

    trial = await played(build, called("search", {"query": "x"}), said("found"), called("search"), said("42"))

    assert trial.ending is Ending.COMPLETED
    assert [call.name for call in trial.tool_calls] == ["search"]
    assert (trial.tools_offered, trial.recorded) == (None, False)


async def test_what_can_be_seen_beside_a_hidden_node_defines_the_target() -> None:
    """A changed tool is another agent, also where the rest cannot be looked into."""
    target = await built(lambda m, _: a_graph(hidden=_Hidden(m), seen=plain(m, name="seen", tools=[search])))

    assert target.tools is None
    assert [tool["name"] for tool in target.offered] == ["search"]


async def test_a_graph_of_agents_is_recorded() -> None:
    """Every node shows its agent."""
    target = await built(
        lambda m, _: a_graph(a=plain(m, name="a", tools=[search]), b=a_graph(c=plain(m, name="c")))
    )

    assert [tool["name"] for tool in target.tools or ()] == ["search"]


async def test_an_agent_that_calls_nothing_has_a_trajectory() -> None:
    """Its silence is recorded."""
    trial = await played(lambda model, _: plain(model), said("42"))

    assert (trial.tools_offered, trial.recorded) == ((), True)


async def test_skills_on_offer_are_shown_with_their_instructions() -> None:
    """An edited SKILL.md is another agent; the SDK tells the model of it only when it is loaded."""
    skill = Skill(name="visa", description="Visa letters", instructions="Ask for the passport.")

    target = await built(lambda model, _: plain(model, plugins=[AgentSkills(skills=[skill])]))

    assert list(target.skills) == [
        {"name": "visa", "description": "Visa letters", "instructions": "Ask for the passport."}
    ]
