"""Curtailment: what is left out cannot have changed the verdict."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned, a_planned_case, a_score
from nightgate.curtailment import Curtailment
from nightgate.gates import decide
from nightgate.plans import Plan
from nightgate.scores import Cell, Status
from nightgate.summaries import tally

OUTCOMES = (Status.PASS, Status.FAIL, Status.ERROR, Status.NOT_APPLICABLE)


def a_grid(threshold: str, *, cases: int = 2, trials: int = 2, **more: object) -> Plan:
    """Cases with one evaluator."""
    gate = {"min_coverage": "1.0", "max_error_share": "0.0", "policy": "point"} | more.pop("gate", {})  # type: ignore[operator]
    planned = [replace(a_planned_case(a_case(f"c{n}"), trials=trials), **more) for n in range(cases)]  # type: ignore[arg-type]
    evaluator = replace(a_planned("E", threshold=threshold), min_coverage=str(gate["min_coverage"]))
    return replace(a_plan(*planned), evaluators=(evaluator,), gate=gate)


def a_finding(case_id: str, trial: int, status: Status) -> Cell:
    """A cell with this status."""
    return Cell(case_id=case_id, trial=trial, score=a_score(status))


def verdict(plan: Plan, found: list[tuple[str, Status]]) -> str:
    """The gate's word on these cells."""
    rows = [(case_id, "E", status.value, None, None) for case_id, status in found]
    return str(decide(tally(plan, rows)).verdict)


@settings(max_examples=60)
@given(
    outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=4),
    threshold=st.sampled_from(["1.0", "0.75", "0.5", "0"]),
    coverage=st.sampled_from(["1.0", "0.5", "0"]),
    errors=st.sampled_from(["0.0", "0.5", "1.0"]),
    policy=st.sampled_from(["point", "confident"]),
    blocking=st.booleans(),
    rule=st.sampled_from(["require", "may_skip", ""]),
)
def test_once_settled_no_outcome_of_the_rest_changes_the_verdict(
    outcomes: list[Status],
    threshold: str,
    coverage: str,
    errors: str,
    policy: str,
    blocking: bool,
    rule: str,
) -> None:
    """Held against the gate itself, over every way in which the rest could come out."""
    gate = {"min_coverage": coverage, "max_error_share": errors, "policy": policy}
    more = {rule: ("E",)} if rule else {}
    plan = a_grid(threshold, gate=gate, blocking=blocking, **more)
    curtailment = Curtailment(plan)
    found: list[tuple[str, Status]] = []
    cells = [(case.case_id, trial) for case, trial in plan.trials()]
    for (case_id, trial), status in zip(cells, outcomes, strict=False):
        curtailment.found(a_finding(case_id, trial, status))
        found.append((case_id, status))
        rest = cells[len(found) :]
        if curtailment.trial(plan.cases[0]) and rest:
            ends = {
                verdict(plan, [*found, *((c, s) for (c, _), s in zip(rest, more_of, strict=True))])
                for more_of in itertools.product(OUTCOMES, repeat=len(rest))
            }
            assert len(ends) == 1
            break


def test_a_failed_cell_settles_a_threshold_of_one() -> None:
    """Whatever comes, it fails."""
    curtailment = Curtailment(a_grid("1.0"))

    curtailment.found(a_finding("c0", 0, Status.FAIL))

    assert curtailment.trial(curtailment.plan.cases[1])


def test_a_pass_is_never_settled_where_all_has_to_be_measured() -> None:
    """An error in the rest would make it inconclusive."""
    curtailment = Curtailment(a_grid("0.5"))

    for trial in range(2):
        curtailment.found(a_finding("c0", trial, Status.PASS))

    assert not curtailment.trial(curtailment.plan.cases[1])


def test_what_does_not_gate_is_reported_whole() -> None:
    """A capability is there to be looked at."""
    plan = a_grid("1.0")
    plan = replace(plan, cases=(plan.cases[0], replace(plan.cases[1], stage="capability")))
    curtailment = Curtailment(plan)

    curtailment.found(a_finding("c0", 0, Status.FAIL))

    assert curtailment.trial(plan.cases[0])
    assert not curtailment.trial(plan.cases[1])
