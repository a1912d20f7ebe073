"""Strands agents as agents under test: building, talking, listening, closing.

Owns the border to the user's factory and to the SDK's ``Agent``: the message log comes from
``MessageAddedEvent`` (the agent's own list loses what its window drops) as deep copies, limits go
in with each call (those of a graph or swarm into the scope, where the metering keeps them), and
nothing that the factory opened stays open. Knows no evaluator and no store.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strands import Agent
from strands.hooks import MessageAddedEvent
from strands.types.exceptions import EventLoopException, MaxTokensReachedException

from nightgate.calls import current_scope
from nightgate.cases import Case
from nightgate.errors import InputError
from nightgate.ports import AgentUnderTest, Answer, Target

_CLOSE_S = 10.0
"""A close() that takes longer is left behind: it must not keep an agent's slot."""


class SharedAgentError(InputError):
    """The factory returned an object that it had returned before: trials would share memory."""


class StrandsFactory:
    """Builds one agent a trial from the user's factory; refuses one that hands out an object twice."""

    def __init__(self, factory: Callable[[Any, Case], Any], name: str) -> None:
        self._factory, self._name = factory, name
        self._seen: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._seen_hard: list[Any] = []

    async def build(self, model: Any, case: Case) -> AgentUnderTest:
        """A new agent around ``model``; sync factories run in a thread, they may block.

        Raises:
            SharedAgentError: If this very object came back before.
            InputError: If what came back is no agent, or an agent around another model.
        """
        if inspect.iscoroutinefunction(self._factory):
            made = await self._factory(model, case)
        else:
            made = await asyncio.to_thread(self._factory, model, case)
            if inspect.isawaitable(made):
                made = await made
        target = made if isinstance(made, Target) else Target(made)
        try:
            self._check(target, model, case)
        except InputError:
            await StrandsTarget(target).close()
            raise
        return StrandsTarget(target)

    def _check(self, target: Target, model: Any, case: Case) -> None:
        agent = target.agent
        if not hasattr(agent, "invoke_async"):
            msg = (
                f"{self._name} returned {type(agent).__name__} for case {case.id!r}: return a "
                "strands.Agent, a multi-agent with invoke_async, or nightgate.Target around one"
            )
            raise InputError(msg)
        parts = {id(part): part for part in (agent, *_agents_of(agent))}
        seen = [self._was_seen(part) for part in parts.values()]
        if any(seen):
            msg = (
                f"{self._name} returned the same agent object again (case {case.id!r}): trials would "
                "share its memory. Build a new agent, with all agents inside of it, in each call."
            )
            raise SharedAgentError(msg)
        if isinstance(agent, Agent) and agent.model is not model:
            msg = (
                f"{self._name} built an agent around {type(agent.model).__name__} instead of the model "
                f"it was given (case {case.id!r}): pass `model` to Agent(model=model)"
            )
            raise InputError(msg)

    def _was_seen(self, agent: Any) -> bool:
        # By identity: agents of a user's class may be equal and still be two.
        if self._seen.get(id(agent)) is agent:
            return True
        try:
            self._seen[id(agent)] = agent
        except TypeError:  # no weak references: hold it instead
            if any(agent is other for other in self._seen_hard):
                return True
            self._seen_hard.append(agent)
        return False


class StrandsTarget:
    """One fresh agent, its message log and what it leaves behind."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._log: list[Mapping[str, Any]] = []
        self._closed = False
        self.single = isinstance(target.agent, Agent)
        self._agents = _agents_of(target.agent)
        for agent in self._agents:
            agent.hooks.add_callback(MessageAddedEvent, self._listen)

    def _listen(self, event: MessageAddedEvent) -> None:
        self._log.append(_copied(event.message))

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """Deep copies of all messages so far, in order."""
        return tuple(self._log)

    @property
    def tools(self) -> Sequence[Mapping[str, Any]] | None:
        """Name, description and input schema of each tool, by name; None when a part shows no agent.

        One node that cannot be looked into may have called anything: what the others called is not all.
        """
        return None if _hidden(self._target.agent) else self.offered

    @property
    def offered(self) -> Sequence[Mapping[str, Any]]:
        """The tools of the agents that can be seen: they define the target, also where it hides others."""
        specs = [spec for agent in self._agents for spec in agent.tool_registry.get_all_tool_specs()]
        return tuple(sorted(specs, key=lambda spec: spec["name"]))

    @property
    def skills(self) -> Sequence[Mapping[str, str]]:
        """Name, description and instructions of each skill on offer, by name.

        The SDK puts them into the prompt only when the agent begins to work, and their bodies only
        when one is loaded: what a probe sees of the prompt does not change with them.
        """
        found = [skill for agent in self._agents for skill in _skills_of(agent)]
        return tuple(sorted(found, key=lambda skill: skill["name"]))

    @property
    def system_prompt(self) -> str | None:
        """The instructions; those of several agents one after the other."""
        prompts = [agent.system_prompt for agent in self._agents if agent.system_prompt]
        return "\n\n".join(prompts) or None

    async def say(self, text: str, limits: Mapping[str, int]) -> Answer:
        """Hand the agent a user message and wait for its answer.

        Raises:
            ModelCallError: If its model failed for good.
            Exception: Whatever else the agent's code raised, without the SDK's wrapping.
        """
        if self.single:
            try:
                result = await self._target.agent.invoke_async(text, limits=dict(limits) or None)
            except Exception as error:  # whatever agent code raises; the runner types the ending
                cause = _unwrapped(error)
                if isinstance(cause, MaxTokensReachedException):
                    return Answer(text=self._last_text(), stop_reason="max_tokens")
                raise cause from None
            return Answer(text=_text(result.message), stop_reason=result.stop_reason)
        scope = current_scope()
        if scope is not None:  # the SDK limits no graph as a whole: the metering refuses its calls
            scope.begin_turn(limits)
        self._log.append({"role": "user", "content": [{"text": text}]})
        result = await self._target.agent.invoke_async(text)
        answer = str(result)
        self._log.append({"role": "assistant", "content": [{"text": answer}]})
        status = getattr(getattr(result, "status", None), "value", None)
        if status == "failed":  # a swarm hides what broke in a node behind its status
            msg = f"the {type(self._target.agent).__name__} ended as failed: {answer[:200]}"
            raise RuntimeError(msg)
        return Answer(text=answer, stop_reason=status or getattr(result, "stop_reason", None))

    def _last_text(self) -> str:
        last = self._log[-1] if self._log and self._log[-1]["role"] == "assistant" else {}
        return _text(last)

    async def state(self) -> Mapping[str, Any] | None:
        """The world as the target shows it, copied; None when it shows none.

        Raises:
            TypeError: If it is no mapping.
        """
        if self._target.state is None:
            return None
        found = await _call(self._target.state)
        if not isinstance(found, Mapping):
            msg = f"state() returned {type(found).__name__}: return a JSON mapping"
            raise TypeError(msg)
        return copy.deepcopy(dict(found))

    async def close(self) -> None:
        """Release what the factory opened; its failure is not the trial's."""
        if self._closed or self._target.close is None:
            return
        self._closed = True
        try:
            async with asyncio.timeout(_CLOSE_S):
                await _call(self._target.close)
        except Exception:  # the user's code; the trial's record is made already
            return


async def _call(function: Callable[[], Any]) -> Any:
    result = await asyncio.to_thread(function) if not inspect.iscoroutinefunction(function) else function()
    return await result if inspect.isawaitable(result) else result


def _agents_of(target: Any) -> list[Agent]:
    """The agent itself, or those in the nodes of a graph or swarm, at any depth."""
    if isinstance(target, Agent):
        return [target]
    nodes = getattr(target, "nodes", None)
    parts = [getattr(node, "executor", node) for node in nodes.values()] if isinstance(nodes, Mapping) else []
    return [agent for part in parts for agent in _agents_of(part)]


def _hidden(target: Any) -> bool:
    """Whether some part of a target, at any depth, is no agent and has no nodes to look into."""
    if isinstance(target, Agent):
        return False
    nodes = getattr(target, "nodes", None)
    parts = [getattr(node, "executor", node) for node in nodes.values()] if isinstance(nodes, Mapping) else []
    return not parts or any(_hidden(part) for part in parts)


def _skills_of(agent: Agent) -> list[dict[str, str]]:
    """The skills of every plugin of the agent that offers some; the SDK has no public way to them."""
    plugins = getattr(getattr(agent, "_plugin_registry", None), "_plugins", {})
    offering = [plugin for plugin in plugins.values() if hasattr(plugin, "get_available_skills")]
    return [
        {"name": skill.name, "description": skill.description, "instructions": skill.instructions}
        for plugin in offering
        for skill in plugin.get_available_skills(agent)
    ]


def _text(message: Any) -> str:
    """The text blocks of a message, as the user would read them."""
    parts = []
    for block in message.get("content", ()):
        cited = block.get("citationsContent", {}).get("content", ())
        parts += [part["text"] for part in (block, *cited) if "text" in part]
    return "\n".join(parts)


def _unwrapped(error: BaseException) -> BaseException:
    """The error inside the event loop's wrapping."""
    while isinstance(error, EventLoopException):
        error = error.original_exception
    return error


def _copied(value: Any) -> Any:
    """A copy of a message: plain containers are rebuilt, which is five times as quick as ``deepcopy``."""
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    return value if kind in _ATOMS else copy.deepcopy(value)


_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
