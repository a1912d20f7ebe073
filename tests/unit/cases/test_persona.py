from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.cases import Persona
from nightgate.cases.binding import bind
from nightgate.cases.documents import parse_yaml

HERE = Path("x.yaml")


def _bind(text: str) -> tuple[Persona | None, list[str]]:
    persona, problems = bind(Persona, parse_yaml(text, HERE), HERE)
    return persona, [problem.message for problem in problems]


def test_a_persona_reads_all_its_parts() -> None:
    """Withheld values are text: an id number keeps its leading zeros."""
    persona, _ = _bind(
        """
        goal: move Tuesday's slot to Thursday afternoon
        kind: hostile
        opening: Quiero cambiar mi cita
        withheld:
          dni: {value: 00123456, asked_by: "dni|documento"}
        tone: terse
        patience: 8
        restrictions: [opens no links]
        success: {state: {slot: thursday}}
        max_turns: 10
        """
    )

    assert persona.withheld["dni"].value == "00123456"
    assert (persona.stratum, persona.patience, persona.max_turns) == ("insistent", 8, 10)
    assert (persona.closing_token, persona.leaving_token) == ("[DONE]", "[LEAVE]")
    assert persona.restrictions == ("opens no links",)


def test_one_restriction_needs_no_list() -> None:
    """Most personas have one."""
    persona, _ = _bind("{goal: g, success: {state: {a: b}}, restrictions: typos}")

    assert persona.restrictions == ("typos",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{goal: g}", "needs success: {state: ...}, forbidden: {state: ...} or both"),
        ("{goal: g, success: {state: {}}}", "success.state: must not be empty"),
        ("{goal: g, success: {state: {a: b}}, kind: hostil}", "did you mean 'hostile'?"),
        ("{goal: g, forbidden: {state: {a: b}}, min_attempts: 9, max_turns: 8}", "9 min_attempts do not fit"),
        ("{goal: g, success: {state: {a: b}}, closing_token: X, leaving_token: X}", "are both 'X'"),
        ("{goal: g, success: {state: {a: b}}, forbidden: {state: {a: b}}}", "are the same state"),
        (
            "{goal: g, success: {state: {a: b}}, withheld: {x: {value: 1, asked_by: '('}}}",
            "is no regular expression",
        ),
        (
            "{goal: g, success: {state: {a: b}}, withheld: {x: {valu: 1, asked_by: a}}}",
            "unknown key 'valu' in withheld.x",
        ),
        ("{goal: g, success: {state: {a: b}}, max_turn: 3}", "'max_turn'; did you mean 'max_turns'?"),
        (
            "{goal: g, success: {state: {a: b}}, mood: bad}",
            "unknown key 'mood'; known are goal, kind, opening",
        ),
        (
            "{goal: g, success: {state: {a: b}}, withheld: {x: {value: 1, asked_by: a, zzz: 1}}}",
            "unknown key 'zzz' in withheld.x; known are value, asked_by",
        ),
    ],
)
def test_wrong_parts_of_a_persona_are_named(text: str, message: str) -> None:
    """A persona is the one part of a case that is easy to get wrong."""
    _, messages = _bind(text)

    assert any(message in found for found in messages), messages


def test_a_persona_with_only_a_forbidden_state_is_a_limits_case() -> None:
    """Running to the limit is then the expected end."""
    limits, _ = _bind("{goal: g, forbidden: {state: {a: b}}}")
    both, _ = _bind("{goal: g, forbidden: {state: {a: b}}, success: {state: {a: c}}}")

    assert limits.limits_only
    assert not both.limits_only
