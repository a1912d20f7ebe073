"""A run goes on only as it began: what may differ between its stored plan and the suite of today."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from makers import a_case, a_plan, a_planned_case
from nightgate.errors import InputError
from nightgate.plans import Plan
from nightgate.steps.planning import refuse_mixing


def a_run(questions: dict[str, str] | None = None, **evaluator: Any) -> Plan:
    """A plan of one case and one evaluator."""
    plan = a_plan(replace(a_planned_case(a_case("a")), questions=questions or {}))
    return replace(plan, evaluators=(replace(plan.evaluators[0], **evaluator),))


@pytest.mark.parametrize(
    ("stored", "fresh", "told"),
    [
        (a_run(config="old"), a_run(config="new"), "evaluator E changed"),
        (a_run(version=1), a_run(version=2), "evaluator E changed"),
        (
            a_run({"E": "q", "F": "same"}),
            a_run({"E": "p", "F": "same"}),
            "case 'a' has another expected output, which E reads",
        ),
    ],
    ids=["params", "version", "expected output"],
)
def test_a_run_does_not_go_on_with_another_configuration(stored: Plan, fresh: Plan, told: str) -> None:
    """Half of its rows would be findings of something else."""
    with pytest.raises(InputError, match=told):
        refuse_mixing(stored, fresh)


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        (a_run({"E": "q"}), a_run({"E": "q"})),
        (a_run(config=None), a_run()),
        (a_run(), a_run({"E": "p"})),
    ],
    ids=["the same", "a plan without params", "a plan without questions"],
)
def test_a_run_goes_on_where_nothing_is_known_to_differ(stored: Plan, fresh: Plan) -> None:
    """An open run of an earlier version can be finished."""
    refuse_mixing(stored, fresh)
