"""The agent of the benchmark: one tool, no state. Copied into the suite folder as ``bench_agent.py``.

Plays the same role for nightgate and for the bare loop, so that both pay for the same SDK work.
"""

from __future__ import annotations

from typing import Any

from strands import Agent, tool

SYSTEM_PROMPT = "Look the question up, then answer in one sentence and cite the article, like [KB-101]."


@tool
def lookup(query: str) -> str:
    """Search the articles.

    Args:
        query: A few words.
    """
    return f"[KB-101] Returns: an unused item comes back within 30 days for a full refund. ({query})"


def build(model: Any, case: Any) -> Agent:  # noqa: ARG001 - the factory's signature
    """One fresh agent a trial."""
    return Agent(model=model, system_prompt=SYSTEM_PROMPT, tools=[lookup], callback_handler=None)
