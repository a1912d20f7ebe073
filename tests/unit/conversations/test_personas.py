"""The simulated user's prompt: all of the persona is in it."""

from __future__ import annotations

import hashlib

import pytest

from nightgate.cases import Persona
from nightgate.conversations.personas import PROMPT_VERSION, render

FULL = {
    "goal": "Move the appointment to Thursday.",
    "kind": "withholding",
    "tone": "hurried",
    "restrictions": ["no accents"],
    "withheld": {"dni": {"value": "12345678-Z", "asked_by": "dni"}},
    "success": {"state": {"slot": "thu"}},
    "min_attempts": 5,
    "closing_token": "[OK]",
    "leaving_token": "[BYE]",
}


@pytest.mark.parametrize(
    "part",
    ["Move the appointment", "hurried", "no accents", "dni: 12345678-Z", "[OK]", "[BYE]", "5 times", "'es'"],
)
def test_every_part_of_the_persona_is_told(part: str) -> None:
    """A part that is left out is a persona that nobody plays."""
    assert part in render(Persona.model_validate(FULL), "es")


def test_the_goals_state_is_not_told() -> None:
    """A user does not know what the database should say."""
    assert "slot" not in render(Persona.model_validate(FULL))


def test_the_wording_belongs_to_its_version() -> None:
    """Whoever changes the prompt raises the version: another prompt is another user."""
    told = hashlib.sha256(render(Persona.model_validate(FULL), "es").encode()).hexdigest()[:12]

    assert (PROMPT_VERSION, told) == (1, "fd26b791cfc8")
