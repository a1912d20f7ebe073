"""Agents as users write them on a bad day; what goes wrong is named by the case's context."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from strands import Agent, tool
from strands.hooks import BeforeModelCallEvent

from nightgate import Target
from nightgate.testing import ScriptedModel, scripted_model

PLANNING = "RefusingModel"
_SHARED: dict[str, Agent] = {}


def _agent(model: Any, tools: list[Any] | None = None) -> Agent:
    return Agent(model=model, tools=tools or [], system_prompt="Answer.", callback_handler=None)


def _planning(model: Any) -> bool:
    return type(model).__name__ == PLANNING


def shared(model: Any, case: Any) -> Agent:
    """The same object for every case."""
    return _SHARED.setdefault("it", _agent(model))


def cached_in_trials(model: Any, case: Any) -> Agent:
    """Fresh agents at planning, one agent a model afterwards."""
    return _agent(model) if _planning(model) else _SHARED.setdefault(f"{id(model)}", _agent(model))


def another_model(model: Any, case: Any) -> Agent:
    """Built around a model of its own."""
    return _agent(ScriptedModel(scripted_model_of(case), "other"))


def scripted_model_of(case: Any) -> Any:
    """The script that lies beside the case."""
    return scripted_model(case.path.parent / "scripts" / "agent.yaml").script


def broken(model: Any, case: Any) -> Agent:
    """Never builds."""
    raise RuntimeError("no database here")


async def exits(model: Any, case: Any) -> Agent:
    """Asks the process to end, and says that all is well."""
    sys.exit(0)


def no_agent(model: Any, case: Any) -> Any:
    """Returns something else."""
    return "an agent"


class Deaf:
    """A target that never calls its model."""

    async def invoke_async(self, text: str) -> str:
        return "I know it all. [KB-1]"


class Swallowing:
    """A target that hides what its model raised."""

    def __init__(self, model: Any) -> None:
        self.model = model

    async def invoke_async(self, text: str) -> str:
        try:
            await _agent(self.model).invoke_async(text)
        except Exception:
            return "All fine. [KB-1]"
        return "All fine. [KB-1]"


def _tools(fault: str) -> list[Any]:  # noqa: C901 - one fault a line
    @tool
    def lookup(topic: str) -> str:
        """Look up a topic.

        Args:
            topic: What to look up.
        """
        if fault == "tool raises":
            raise ConnectionError("the knowledge base is away")
        if fault == "tool exits":
            sys.exit(0)
        if fault == "tool stops":
            raise StopIteration
        if fault == "slow tool":
            time.sleep(1.5)
        if fault == "odd tool":
            return "half a pair \ud83d, a null \x00, an escape \x1b[2J"
        return f"All about {topic}. [KB-1]"

    @tool
    async def ponder(topic: str) -> str:
        """Think about a topic.

        Args:
            topic: What to think about.
        """
        if fault == "tool cancels":
            raise asyncio.CancelledError
        if fault == "async tool exits":
            sys.exit(0)
        if fault == "slow async tool":
            await asyncio.sleep(1.5)
        return topic

    return [lookup, ponder]


def _state(fault: str) -> Any:
    if fault == "state raises":
        raise KeyError("case_id")
    found: dict[str, Any] = {
        "state is a list": [1],
        "state is no JSON": {"when": {1, 2}},
        "state is NaN": {"balance": float("nan")},
    }
    return found.get(fault, {"ok": True})


def _close(fault: str) -> None:
    if fault == "close raises":
        raise OSError("already closed")


def _raise(error: BaseException) -> Any:
    raise error


def build(model: Any, case: Any) -> Any:
    """An agent with the fault that its case names; at planning it builds."""
    fault = case.context.get("fault", "")
    if not _planning(model):
        if fault == "factory raises":
            raise RuntimeError("no database here")
        if fault == "factory exits":
            sys.exit(0)
        if fault == "deaf":
            return Deaf()
        if fault == "swallows":
            return Swallowing(model)
        if fault == "slow factory":
            time.sleep(1.5)
    agent = _agent(model, _tools(fault))
    if fault == "hook raises":
        agent.hooks.add_callback(BeforeModelCallEvent, lambda _: _raise(ZeroDivisionError("no such hook")))
    return Target(agent, state=lambda: _state(fault), close=lambda: _close(fault))


def loud(model: Any, case: Any) -> Agent:
    """With the callback handler that the SDK gives to every agent, and prints of its own."""
    print("a print in a factory")  # noqa: T201 - the fault
    return Agent(model=model, system_prompt="Answer.")
