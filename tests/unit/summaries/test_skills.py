"""Skill evidence: two coverages beside the rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from makers import a_case, a_plan, a_planned_case
from nightgate.plans import Plan
from nightgate.summaries import SkillEvidence


def a_skill_plan(*expected: str, trials: int = 2) -> Plan:
    """One case that wants these skills loaded."""
    case = a_planned_case(a_case("a"), trials=trials)
    return a_plan(replace(case, evaluators=("SkillPolicy",), expected_loads=expected))


def found(*outcomes: str, observed: tuple[str, ...] = ()) -> dict[str, Any]:
    """What SkillPolicy says of one trial."""
    return {
        "expected": ["visa"],
        "observed": list(observed),
        "invocations": [
            {"skill": "visa", "outcome": outcome, "judgeable": outcome == "loaded"} for outcome in outcomes
        ],
    }


def test_expected_loads_are_counted_against_the_plan() -> None:
    """A trial that left no row is a load that nobody saw, not one that was not expected."""
    evidence = SkillEvidence()
    evidence.add(found("loaded", observed=("visa",)))

    told = evidence.as_dict(a_skill_plan("visa"))

    assert told is not None
    assert told["expected_loads"] == {"planned": 2, "observed": 1, "coverage": 0.5}


def test_invocations_without_a_body_cannot_be_judged() -> None:
    """A judge of the steps needs the steps."""
    evidence = SkillEvidence()
    evidence.add(found("loaded", "no_body", "rejected"))

    told = evidence.as_dict(a_skill_plan("visa"))

    assert told is not None
    assert told["invocations"] == {
        "seen": 3,
        "judgeable": 1,
        "coverage": 1 / 3,
        "outcomes": {"loaded": 1, "no_body": 1, "rejected": 1},
    }


def test_no_invocation_is_an_unknown_coverage() -> None:
    """Not 0% and not 100%."""
    told = SkillEvidence().as_dict(a_skill_plan())

    assert told is not None
    assert (told["expected_loads"]["coverage"], told["invocations"]["coverage"]) == (None, None)


def test_a_suite_without_skills_has_no_such_part() -> None:
    """Nothing was asked."""
    assert SkillEvidence().as_dict(a_plan(a_planned_case(a_case("a")))) is None
