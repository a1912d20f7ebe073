from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned, a_planned_case
from nightgate.cases import Panel
from nightgate.panels import Jury, derived, panel_fingerprint, recounted, ruling, seated
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.scores import Blame, Cell, Score, Status
from nightgate.trials import Usage

P, F, M, N = Status.PASS, Status.FAIL, Status.MEASURED, Status.NOT_APPLICABLE
E, S = Status.ERROR, Status.SKIPPED
JURY = Jury(
    rule="majority",
    judges=("scripted:a", "scripted:b", "scripted:c"),
    fingerprints={"J": ("fa", "fb", "fc")},
)


def columns(rule: str = "majority", size: int = 3, threshold: str | None = "0.85") -> list[PlannedEvaluator]:
    """The members and, last, the panel of evaluator J."""
    jury = Jury(rule=rule, judges=tuple(f"scripted:{name}" for name in "abcdefg"[:size]))
    case = a_planned_case(a_case(), evaluators=("J",))
    _, found = seated(jury, (case,), (a_planned("J", kind="judge", threshold=threshold),))
    return list(found)


def a_vote(planned: PlannedEvaluator, status: Status, **more: Any) -> Cell:
    """What a member found."""
    blame = more.pop("blame", Blame.JUDGE if status is E else None)
    score = Score(
        evaluator=planned.name,
        version=1,
        status=status,
        reason=more.pop("reason", f"{planned.judge_model} says {status.value}"),
        score=more.pop("score", None),
        label=more.pop("label", None),
        blame=blame,
    )
    return Cell(case_id="a", trial=0, score=score, judge_model=planned.judge_model, **more)


def verdict(*said: Status, rule: str = "majority", **more: Any) -> Cell:
    """The panel's cell over members that said this."""
    *members, panel = columns(rule, len(said))
    return derived(panel, [a_vote(each, status, **more) for each, status in zip(members, said, strict=True)])


# --- the rule


@given(
    rule=st.sampled_from(["majority", "all"]),
    said=st.lists(st.sampled_from([P, F, N, E, S]), min_size=2, max_size=6),
)
def test_a_panel_is_decided_exactly_when_nothing_missing_could_change_it(
    rule: str, said: list[Status]
) -> None:
    """As at the gate: what is missing is neither guessed nor left out, it counts as anything at all."""
    options = [[P, F, N] if status in (E, S) else [status] for status in said]
    outcomes = {ruling(rule, list(whole)) for whole in itertools.product(*options)}

    assert ruling(rule, said) is (outcomes.pop() if len(outcomes) == 1 else None)


@given(said=st.permutations([P, P, F, N, E]), rule=st.sampled_from(["majority", "all"]))
def test_the_order_of_the_members_changes_nothing(said: list[Status], rule: str) -> None:
    """No member has the casting vote."""
    assert ruling(rule, said) is ruling(rule, [P, P, F, N, E])


@pytest.mark.parametrize(
    ("said", "wanted"),
    [([P, P, F], P), ([F, F, P], F), ([P, P, E], P), ([P, F, E], None), ([P, F], None), ([P, N, N], N)],
)
def test_a_majority_is_more_than_half_of_all_members(said: list[Status], wanted: Status | None) -> None:
    """Of all, not of those that answered: one of three alone is no majority."""
    assert ruling("majority", said) is wanted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [([P, P], P), ([P, F], F), ([E, F], F), ([P, E], None), ([P, N], None), ([N, N], N), ([M, M], M)],
)
def test_one_fail_is_enough_where_all_must_pass(said: list[Status], wanted: Status | None) -> None:
    """A fail decides whatever the others would say; a pass only with all of them."""
    assert ruling("all", said) is wanted


# --- the cell


def test_the_panels_cell_names_who_said_what() -> None:
    """A reviewer acts on the reason; the details tell each member's status to a program."""
    cell = verdict(P, F, P)

    assert cell.score.status is P
    assert cell.score.reason.startswith("majority of 3 judges: 2 pass, 1 fail. scripted:a: pass (")
    assert "scripted:b: fail (scripted:b says fail)" in cell.score.reason
    members = cell.score.details["panel"]["members"]
    assert [(m["evaluator"], m["judge"], m["status"]) for m in members] == [
        ("J @ scripted:a", "scripted:a", "pass"),
        ("J @ scripted:b", "scripted:b", "fail"),
        ("J @ scripted:c", "scripted:c", "pass"),
    ]
    assert cell.judge_model == "majority of scripted:a, scripted:b, scripted:c"


def test_an_undecided_panel_has_the_status_and_blame_of_the_member_that_broke() -> None:
    """It is no verdict: a member's outage must not look like a disagreement."""
    *members, panel = columns()
    votes = [a_vote(members[0], P), a_vote(members[1], F), a_vote(members[2], E, blame=Blame.INFRA)]

    score = derived(panel, votes).score

    assert (score.status, score.blame, score.score) == (E, Blame.INFRA, None)
    assert score.reason.startswith("undecided by majority of 3 judges: 1 pass, 1 fail, 1 error.")


def test_members_that_answered_and_tie_leave_an_error_of_the_judges() -> None:
    """Never a pass by default, and no not_applicable that a case could be allowed to skip."""
    assert (verdict(P, F).score.status, verdict(P, F).score.blame) == (E, Blame.JUDGE)
    assert (verdict(P, F, N).score.status, verdict(P, F, N).score.blame) == (E, Blame.JUDGE)


def test_a_member_that_was_not_asked_leaves_an_undecided_panel_skipped() -> None:
    """As the cells of a run that was stopped or curtailed."""
    *members, panel = columns()
    votes = [a_vote(members[0], P), a_vote(members[1], F), a_vote(members[2], S, blame=Blame.CURTAILED)]

    assert (derived(panel, votes).score.status, derived(panel, votes).score.blame) == (S, Blame.CURTAILED)


def test_what_the_trial_itself_decided_is_said_as_it_was() -> None:
    """An agent that timed out fails for that, and not by a vote of judges that nobody asked."""
    *members, panel = columns()
    votes = [a_vote(m, F, blame=Blame.AGENT, reason="agent_timeout: 120 s", score=0.0) for m in members]

    score = derived(panel, votes).score

    assert (score.status, score.blame, score.reason, score.score) == (
        F,
        Blame.AGENT,
        "agent_timeout: 120 s",
        0.0,
    )
    assert score.evaluator == "J"


@given(figures=st.lists(st.floats(0, 1), min_size=3, max_size=3), cut=st.floats(0.01, 1))
def test_the_score_lies_on_the_verdicts_side_of_the_cut(figures: list[float], cut: float) -> None:
    """A graded judge's figure and its verdict must not contradict each other in one row."""
    for rule in ("majority", "all"):
        *members, panel = columns(rule)
        votes = [a_vote(m, P if f >= cut else F, score=f) for m, f in zip(members, figures, strict=True)]

        score = derived(panel, votes).score

        assert score.score is not None
        assert (score.score >= cut) is (score.status is P)


def test_a_metric_without_a_threshold_is_measured_by_its_middle_figure() -> None:
    """It has no verdict to vote on; one outlier must not move it."""
    *members, panel = columns(threshold=None)
    votes = [
        a_vote(member, M, score=figure, label="pass")
        for member, figure in zip(members, (0.1, 0.8, 0.9), strict=True)
    ]

    score = derived(panel, votes).score

    assert (score.status, score.score, score.label) == (M, 0.8, "pass")


def test_the_panels_cell_costs_nothing_and_is_as_late_as_its_last_member() -> None:
    """The money stands in the members' rows; and whoever reckons it again gets the same row."""
    *members, panel = columns()
    moments = [datetime(2026, 11, 29, 22, minute, tzinfo=UTC) for minute in (3, 9, 5)]
    votes = [
        a_vote(member, P, cost_nanousd=5, usage=Usage(input=7), scored_at=moment)
        for member, moment in zip(members, moments, strict=True)
    ]

    cell = derived(panel, votes)

    assert (cell.cost_nanousd, cell.usage, cell.latency_ms, cell.scored_at) == (0, Usage(), None, moments[1])
    assert derived(panel, votes) == cell


def test_no_verdict_is_made_without_all_members() -> None:
    """A cell of two of three would be a verdict of another panel."""
    *members, panel = columns()

    with pytest.raises(ValueError, match="its members are"):
        derived(panel, [a_vote(members[0], P), a_vote(members[1], P)])


# --- the plan


def test_each_judge_takes_a_column_and_the_panel_one_after_them() -> None:
    """Code is judged once; the panel's column comes last, because it is made of the others."""
    case = a_planned_case(a_case(), evaluators=("J", "C"))
    (found,), evaluators = seated(JURY, (case,), (a_planned("J", kind="judge"), a_planned("C")))

    assert found.evaluators == ("J @ scripted:a", "J @ scripted:b", "J @ scripted:c", "J", "C")
    by_name = {planned.name: planned for planned in evaluators}
    member, panel = by_name["J @ scripted:b"], by_name["J"]
    assert (member.evaluator, member.panel, member.judge_model, member.judge_fingerprint) == (
        "J",
        "J",
        "scripted:b",
        "fb",
    )
    assert panel.members == found.evaluators[:3]
    assert (member.asks, panel.asks, by_name["C"].asks) == (True, False, False)


def test_another_member_or_rule_is_another_judge() -> None:
    """Baselines never cross it; the order in which members are written is no difference."""
    base = panel_fingerprint("majority", ["fa", "fb", "fc"])

    assert panel_fingerprint("majority", ["fc", "fa", "fb"]) == base
    assert panel_fingerprint("all", ["fa", "fb", "fc"]) != base
    assert panel_fingerprint("majority", ["fa", "fb", "fx"]) != base
    assert panel_fingerprint("majority", ["fa", None, "fc"]) is None


def test_a_plan_with_a_panel_comes_back_as_it_was_stored() -> None:
    """Gate and resume read the document, not the suite."""
    plan = a_paneled_plan()

    assert Plan.from_json(json.loads(plan.to_json())) == plan
    assert plan.panel_members == {"J @ scripted:a", "J @ scripted:b", "J @ scripted:c"}
    assert replace(plan, run_kind="sweep").panel_members == frozenset()


def test_a_panel_is_made_again_from_the_accepted_findings() -> None:
    """Two workers may have judged a trial: the row of the panel must fit the members' rows beside it."""
    plan = a_paneled_plan()
    (case,) = plan.cases
    *members, panel = plan.evaluators
    stale = derived(panel, [a_vote(member, P) for member in members])
    accepted = [a_vote(members[0], F), a_vote(members[1], F), a_vote(members[2], P)]
    cells = [(case, cell.score.evaluator, cell) for cell in (*accepted, stale)]

    found = list(recounted(plan, cells))

    assert found[-1][2].score.status is F
    assert found[:3] == cells[:3]


def test_a_panel_without_all_members_is_left_as_it_was_recorded() -> None:
    """An open run may lack some; what there is, is shown."""
    plan = a_paneled_plan()
    (case,) = plan.cases
    *members, panel = plan.evaluators
    there = derived(panel, [a_vote(member, P) for member in members])

    (only,) = recounted(plan, [(case, "J", there)])

    assert only[2] is there


def a_paneled_plan() -> Plan:
    """One case, judged by three."""
    cases, evaluators = seated(
        JURY, (a_planned_case(a_case(), evaluators=("J",)),), (a_planned("J", kind="judge"),)
    )
    return replace(
        a_plan(*cases), evaluators=evaluators, panel={"rule": "majority", "judges": list(JURY.judges)}
    )


def test_a_panel_that_is_taken_up_again_leaves_ties_undecided() -> None:
    """The stored plan names its judges; that ties were allowed is plain from their number."""
    assert Panel.of("majority", ["scripted:a", "scripted:b"]).ties == "undecided"
    assert Panel.of("majority", ["scripted:a", "scripted:b", "scripted:c"]).ties is None
