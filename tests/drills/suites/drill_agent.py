"""A small agent for drills: one lookup tool that never fails, and a state that counts its calls."""

from __future__ import annotations

from typing import Any

from strands import Agent, tool

from nightgate import Target


def build(model: Any, case: Any) -> Target:
    """A fresh agent with one tool."""
    calls: list[str] = []

    @tool
    def lookup(topic: str) -> str:
        """Look up a topic.

        Args:
            topic: What to look up.
        """
        calls.append(topic)
        return f"All about {topic}. [KB-1]"

    agent = Agent(
        model=model, tools=[lookup], system_prompt="Answer from lookup, cite it.", callback_handler=None
    )
    return Target(agent, state=lambda: {"lookups": len(calls), "case": case.id})
