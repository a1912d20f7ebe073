"""An agent whose tool waits for an event that nobody sets."""

from __future__ import annotations

import threading
from typing import Any

from strands import Agent, tool


def build(model: Any, case: Any) -> Agent:
    """A fresh agent with one tool that hangs."""

    @tool
    def lookup(topic: str) -> str:
        """Look up a topic.

        Args:
            topic: What to look up.
        """
        threading.Event().wait()
        return topic

    return Agent(model=model, tools=[lookup], callback_handler=None)
