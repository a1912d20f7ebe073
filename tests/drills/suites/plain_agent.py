"""An agent for drills without a tool: one call is one trial, so calls made twice are trials played twice."""

from __future__ import annotations

from typing import Any

from strands import Agent


def build(model: Any, case: Any) -> Agent:
    """A fresh agent."""
    return Agent(model=model, system_prompt="Answer in one sentence, and cite it.", callback_handler=None)
