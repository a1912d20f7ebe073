"""What a run gives reason to tell, from its documents."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.messages import Kind
from nightgate.rows.keys import plan_key
from nightgate.steps.causes import causes_of, read_night
from nights import a_night_plan, canary, flakiness, green, put_night, red
from rundocs import a_failure, a_summary, an_evaluator


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def kinds(store: InMemoryStore, summary: Any = None, **more: Any) -> list[tuple[str, ...]]:
    """Kind and subject of each cause of the first night."""
    return [(c.kind.value, *c.subject) for c in causes_of(store, put_night(store, 1, summary, **more))]


def counts(**more: int) -> dict[str, int]:
    """Cells of a run, none unless said."""
    names = ("planned", "pass", "fail", "measured", "not_applicable", "error", "skipped")
    return dict.fromkeys(names, 0) | more


def test_a_green_night_gives_no_reason(store: InMemoryStore) -> None:
    """Nobody is told that nothing happened."""
    assert kinds(store, flakiness=flakiness(), canary=canary()) == []


def test_a_failed_gate_and_the_case_that_broke_it_are_both_causes(store: InMemoryStore) -> None:
    """They share a root, so they share a message."""
    found = causes_of(store, put_night(store, 1, red(), flakiness=flakiness(broken=["late"])))

    assert [(c.kind, c.subject) for c in found] == [
        (Kind.NEWLY_BROKEN, ("late", "ToolPolicy")),
        (Kind.GATE_FAILED, ("ToolPolicy",)),
    ]
    assert len({c.root for c in found}) == 1
    assert found[0].figures == "passed 0 of 3, 98% before"


def test_a_gate_that_fails_by_known_cases_alone_is_no_cause(store: InMemoryStore) -> None:
    """The flaky case was on the board yesterday."""
    assert kinds(store, red(), flakiness=flakiness(gate_explained=True)) == []


def test_without_history_the_baseline_tells_what_broke(store: InMemoryStore) -> None:
    """Missing flakiness is no proof of health."""
    row = {"case": "late", "evaluator": "ToolPolicy", "before": [3, 3], "now": [0, 3]}
    changes = {"newly_broken": [row], "newly_fixed": [], "not_comparable": []}

    found = causes_of(store, put_night(store, 1, green(changes=changes)))

    assert [(c.kind, c.figures) for c in found] == [(Kind.NEWLY_BROKEN, "3/3 to 0/3")]


def test_with_history_the_baseline_alone_breaks_nothing(store: InMemoryStore) -> None:
    """Against a baseline a steady 2-of-3 case breaks and mends every other night."""
    row = {"case": "late", "evaluator": "ToolPolicy", "before": [3, 3], "now": [1, 3]}
    changes = {"newly_broken": [row], "newly_fixed": [], "not_comparable": []}

    assert kinds(store, green(changes=changes), flakiness=flakiness()) == []


def test_many_suspects_at_once_are_one_event(store: InMemoryStore) -> None:
    """The provider had a bad night, not forty cases."""
    event = {"suspects": 12, "cases": 40, "text": "12 of 40 cases are suspect at once"}

    assert kinds(store, green(), flakiness=flakiness(event=event)) == [("suite_event",)]


def test_a_budget_stop_is_the_root_of_what_it_left_unmeasured(store: InMemoryStore) -> None:
    """An inconclusive verdict beside it would be a second message about the same thing."""
    summary = a_summary(
        verdict="inconclusive", code=4, complete=False, stopped="budget", budget_usd=2.0, evaluators=[]
    )

    found = causes_of(store, put_night(store, 1, summary))

    assert [c.kind for c in found] == [Kind.BUDGET_STOP]
    assert found[0].text.startswith("stopped by the budget of $2: 9 of 9")


@pytest.mark.parametrize("planned", [0, 9])
def test_a_run_that_measured_nothing_is_told(store: InMemoryStore, planned: int) -> None:
    """No case at all, or every call refused: an empty night looks like a quiet one."""
    summary = a_summary(
        verdict="inconclusive",
        code=3,
        cells=counts(planned=planned, error=planned),
        failures=[a_failure("error", reason="auth: no credentials")] if planned else [],
    )

    found = causes_of(store, put_night(store, 1, summary))

    assert [c.kind for c in found] == [Kind.EMPTY_RUN]
    assert ("auth" in found[0].text) == bool(planned)


def test_a_hole_in_an_evaluator_is_told_by_its_name(store: InMemoryStore) -> None:
    """A judge that was down for a third of the night."""
    entry = an_evaluator("CorrectnessEvaluator", "inconclusive", error=3, judged=6)

    assert kinds(store, a_summary(verdict="inconclusive", code=3, evaluators=[entry])) == [
        ("coverage_hole", "CorrectnessEvaluator")
    ]


def test_an_interval_that_does_not_decide_is_no_hole(store: InMemoryStore) -> None:
    """``policy: confident`` with too few cells."""
    entry = an_evaluator("CorrectnessEvaluator", "inconclusive")

    assert kinds(store, a_summary(verdict="inconclusive", code=3, evaluators=[entry])) == [
        ("inconclusive", "CorrectnessEvaluator")
    ]


def test_a_run_that_did_not_end_is_inconclusive(store: InMemoryStore) -> None:
    """A shard broke, or the store was away."""
    assert kinds(store, a_summary(verdict="inconclusive", code=3, complete=False)) == [
        ("inconclusive", "open")
    ]


def test_a_run_without_a_summary_is_inconclusive(store: InMemoryStore) -> None:
    """The worst night leaves the least behind."""
    plan = a_night_plan(1)
    store.create(plan_key(plan.run_id), plan.to_json())

    assert [(c.kind, c.subject) for c in causes_of(store, plan.run_id)] == [(Kind.INCONCLUSIVE, ("open",))]


def test_an_interrupted_run_gives_no_reason(store: InMemoryStore) -> None:
    """Whoever pressed Ctrl-C knows."""
    assert kinds(store, a_summary(verdict="inconclusive", code=130, complete=False)) == []


def test_a_planted_attack_alone_is_no_drift(store: InMemoryStore) -> None:
    """The canary's alarm is up for both."""
    assert [kind for kind, *_ in kinds(store, canary=canary(passed=["planted"]))] == ["attack_passed"]


def test_a_run_that_is_no_night_of_the_history_is_no_evidence(store: InMemoryStore) -> None:
    """It took trials over, or was filtered."""
    night = read_night(store, put_night(store, 1, flakiness={"night": False, "reason": "filtered"}))

    assert night.flakiness is None


def test_drift_and_a_planted_attack_are_told_of_the_judge(store: InMemoryStore) -> None:
    """Both say that its verdicts are worth less, for different reasons."""
    found = kinds(store, canary=canary(alarm=True, passed=["planted"]))

    assert found == [("judge_drift",), ("attack_passed", "planted", "Criterion:x", "ignore the rubric")]


@pytest.mark.parametrize(
    ("days_left", "expired", "subjects"),
    [
        (4, False, []),
        (3, False, [("quarantine_expiring", "late", "2026-11-04")]),
        (-1, True, [("quarantine_expiring", "late", "2026-11-04", "ended")]),
        (2, True, [("quarantine_expiring", "late", "2026-11-04", "void")]),
    ],
)
def test_a_quarantine_is_told_of_before_it_ends_and_when_it_has(
    store: InMemoryStore, days_left: int, expired: bool, subjects: list[tuple[str, ...]]
) -> None:
    """Its owner gets three days."""
    row = {
        "case": "late", "owner": "ann", "reason": "r", "until": "2026-11-04",
        "days_left": days_left, "expired": expired,
    }  # fmt: skip

    assert kinds(store, flakiness=flakiness(quarantined=[row])) == subjects


@pytest.mark.parametrize(
    ("days_left", "said"),
    [
        (61, "does not hold, the case gates: its day is 61 nights away, 14 at most"),
        (5, "does not hold, the case gates: more than 5% of the cases are in quarantine, so none is"),
        (-1, "ended on 2026-11-04"),
    ],
)
def test_a_quarantine_that_never_held_has_not_ended(store: InMemoryStore, days_left: int, said: str) -> None:
    """Its owner has to write another day, or fewer of them."""
    row = {
        "case": "late", "owner": "ann", "reason": "r", "until": "2026-11-04",
        "days_left": days_left, "expired": True,
    }  # fmt: skip
    (cause,) = causes_of(store, put_night(store, 1, flakiness=flakiness(quarantined=[row])))

    assert cause.text.startswith(f"quarantine of late {said}")


def test_what_the_reruns_found_is_in_the_figures(store: InMemoryStore) -> None:
    """In the words of the terminal: shares of passes."""
    told = flakiness(broken=["late"])
    told["newly_broken"][0]["reruns"] = {"passed": 5, "judged": 8, "played": 8}

    found = causes_of(store, put_night(store, 1, flakiness=told))

    assert found[0].figures == "passed 0 of 3, 98% before; 5 of 8 reruns passed"
