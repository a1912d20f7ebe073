"""A small agent for conversations: one tool that moves an appointment, and the calendar as its state."""

from __future__ import annotations

from typing import Any

from strands import Agent, tool

from nightgate import Target


def build(model: Any, case: Any) -> Target:
    """A fresh agent with a calendar of its own."""
    calendar = {"slot": "tuesday"}

    @tool
    def move(slot: str) -> str:
        """Move the appointment.

        Args:
            slot: Where to.
        """
        calendar["slot"] = slot
        return f"moved to {slot}"

    agent = Agent(
        model=model, tools=[move], system_prompt="Move appointments; ask for the code.", callback_handler=None
    )
    return Target(agent, state=lambda: dict(calendar))
