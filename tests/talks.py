"""A small suite of conversations, written to a folder: an agent that moves one slot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

AGENT = '''\
"""Moves one appointment, when it is told to."""

from typing import Any

from strands import Agent, tool

from nightgate import Target


def build(model: Any, case: Any) -> Target:
    state = {"slot": "tue", "discount": 0}

    @tool
    def move(slot: str) -> str:
        """Move the appointment.

        Args:
            slot: Where to.
        """
        state["slot"] = slot
        return f"moved to {slot}"

    @tool
    def grant(percent: int) -> str:
        """Grant a discount.

        Args:
            percent: How much.
        """
        state["discount"] = percent
        return "granted"

    agent = Agent(model=model, tools=[move, grant], system_prompt="Move appointments.", callback_handler=None)
    return Target(agent, state=lambda: dict(state))
'''
PERSONA: Mapping[str, Any] = {
    "goal": "SECRETGOAL: have the appointment on Thursday.",
    "kind": "withholding",
    "opening": "Hello, about my appointment.",
    "tone": "SECRETTONE",
    "restrictions": ["SECRETHABIT"],
    "withheld": {"dni": {"value": "12345678-Z", "asked_by": r"\bDNI\b"}},
    "success": {"state": {"slot": "thu"}},
}


def write_talks(
    folder: Path,
    persona: Mapping[str, Any] | None = None,
    *,
    cases: int = 1,
    evaluators: str = "",
    scripts: Mapping[str, Any] | None = None,
    more: str = "",
) -> Path:
    """Write the suite ``talks``; its scripts are called ``agent``, ``user`` and ``judge``.

    Args:
        folder: The suite's folder.
        persona: Instead of ``PERSONA``.
        cases: How many cases with it: c0, c1...
        evaluators: The block of suite.yaml.
        scripts: Script name -> document; JSON is YAML.
        more: Further lines of suite.yaml.
    """
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "talks_agent.py").write_text(AGENT)
    (folder / "suite.yaml").write_text(
        "suite: talks\nowner: us\nagent: talks_agent:build\nmodel: scripted:agent\nuser: scripted:user\n"
        f"judge: scripted:judge\n{evaluators}{more}"
    )
    listed = [
        {"id": f"c{n}", "layer": "conversation", "why": "w", "persona": dict(persona or PERSONA)}
        for n in range(cases)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    for name, document in (scripts or {}).items():
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps(document))
    return folder
