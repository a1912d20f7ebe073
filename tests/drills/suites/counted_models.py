"""Judges and an agent that count themselves: a line a call in the file that ``COUNTED_CALLS`` names.

What a ledger says of calls is our word for it; this is the other side's.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from fault_models import Plain
from strands import Agent

from nightgate import Score, Status
from nightgate_samples import support

VERDICT = '{"verdict": "yes", "reason": "so it is"}'


def count(who: str) -> None:
    """One line, whole whichever thread or process writes beside it."""
    with Path(os.environ["COUNTED_CALLS"]).open("a") as file:
        file.write(f"{who}\n")


class Judge(Plain):
    """Says yes to everything, at once."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def get_config(self) -> dict[str, Any]:
        return {"model_id": self.name}

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        told = str(messages)
        count(f"{self.name} {'rubric' if 'RUBRIC' in told else 'criterion'}")
        async for event in super().stream(messages, *args, **kwargs):
            delta = event.get("contentBlockDelta")
            yield event if delta is None else {"contentBlockDelta": {"delta": {"text": VERDICT}}}


class Talker(Plain):
    """Says one cited sentence, as an agent's model."""

    async def before(self) -> None:
        count("talker")


def talker() -> Talker:
    """The agent's model."""
    return Talker()


def one() -> Judge:
    """The first judge."""
    return Judge("one")


def two() -> Judge:
    """The second judge."""
    return Judge("two")


class Rubric:
    """A judge evaluator of a user's, with its rubric in suite.yaml."""

    name, version = "Rubric", 1

    def __init__(self, model: Any, rubric: str) -> None:
        self.model, self.rubric = model, rubric

    async def evaluate(self, trial: Any, case: Any) -> Score:
        """Ask, and take the answer for what it is."""
        text = f"RUBRIC: {self.rubric}\nANSWER: {trial.output}"
        said = ""
        async for event in self.model.stream([{"role": "user", "content": [{"text": text}]}]):
            said += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        passed = '"yes"' in said
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.PASS if passed else Status.FAIL,
            score=float(passed),
            reason=said,
        )


def build(model: Any, case: Any) -> Agent:
    """The support agent, counted each time that one is made."""
    count("agent")
    return support.build(model, case)
