"""The gate: exact, honest about holes, and the same on any day."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_plan
from nightgate.gates import Decision, Verdict, decide
from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.scores import Blame, Status
from nightgate.summaries import tally

P, F, NA, E, SK, M = (
    Status.PASS,
    Status.FAIL,
    Status.NOT_APPLICABLE,
    Status.ERROR,
    Status.SKIPPED,
    Status.MEASURED,
)
OPEN = None
"""A planned cell without a row."""


def plan_of(
    cells: dict[str, list[Status | None]],
    *,
    threshold: str | None = "1.0",
    min_coverage: str = "1.0",
    rules: dict[str, Any] | None = None,
    **facts: dict[str, Any],
) -> Plan:
    """A plan with one evaluator ``E`` and these cases; ``facts`` changes single cases."""
    cases = tuple(
        replace(
            PlannedCase(
                case_id=name,
                case_hash="h",
                agent_fingerprint="f",
                layer="behavior",
                stage="regression",
                trials=len(statuses),
                evaluators=("E",),
            ),
            **facts.get(name, {}),
        )
        for name, statuses in cells.items()
    )
    evaluator = PlannedEvaluator(
        name="E", version=1, kind="code", threshold=threshold, min_coverage=min_coverage
    )
    return replace(a_plan(*cases), evaluators=(evaluator,), gate={"max_error_share": "0.0", **(rules or {})})


def decision(cells: dict[str, list[Status | None]], **plan: Any) -> Decision:
    """The decision on these cells."""
    rows = [
        (name, "E", status.value, None, None)
        for name, statuses in cells.items()
        for status in statuses
        if status is not None
    ]
    return decide(tally(plan_of(cells, **plan), rows))


def spread(passed: int, failed: int, *others: Status | None) -> dict[str, list[Status | None]]:
    """So many cells, one a case."""
    statuses: list[Status | None] = [P] * passed + [F] * failed + list(others)
    return {f"c{i}": [status] for i, status in enumerate(statuses)}


@pytest.mark.parametrize(("passed", "verdict"), [(18, Verdict.PASS), (17, Verdict.FAIL)])
def test_18_of_21_pass_85_percent_and_17_do_not(passed: int, verdict: Verdict) -> None:
    """Neither rounding nor a float ceiling may decide."""
    assert decision(spread(passed, 21 - passed), threshold="0.85").verdict is verdict


@given(
    passed=st.integers(0, 30),
    failed=st.integers(0, 30),
    percent=st.integers(0, 1000),
)
def test_without_holes_the_verdict_is_the_exact_comparison(passed: int, failed: int, percent: int) -> None:
    """Fractions against decimals, for any counts."""
    threshold = f"{percent / 1000:.3f}"
    if passed + failed == 0:
        expected = Verdict.INCONCLUSIVE
    else:
        expected = Verdict.PASS if Fraction(passed, passed + failed) >= Fraction(threshold) else Verdict.FAIL

    assert decision(spread(passed, failed), threshold=threshold).verdict is expected


@given(
    passed=st.integers(0, 12),
    failed=st.integers(0, 12),
    holes=st.lists(st.sampled_from([NA, E, SK, OPEN]), min_size=1, max_size=8),
    percent=st.integers(0, 100),
)
def test_holes_never_turn_into_a_pass(
    passed: int, failed: int, holes: list[Status | None], percent: int
) -> None:
    """With full coverage asked for a pass needs every cell; a fail is one however holes turn out."""
    threshold = Fraction(percent, 100)
    total = passed + failed + len(holes)

    verdict = decision(spread(passed, failed, *holes), threshold=f"{percent / 100:.2f}").verdict

    assert verdict is not Verdict.PASS
    even_if_all_passed = Fraction(passed + len(holes), total)
    assert (verdict is Verdict.FAIL) == (passed + failed > 0 and even_if_all_passed < threshold)


def test_a_pass_that_holds_whatever_the_holes_say_needs_leave_to_have_holes() -> None:
    """9 of 10 passed at 0.85 with one error: passes only where coverage and errors are allowed for."""
    cells = spread(9, 0, E)
    lenient = {"max_error_share": "0.1"}

    assert decision(cells, threshold="0.85").verdict is Verdict.INCONCLUSIVE
    assert decision(cells, threshold="0.85", min_coverage="0.9").verdict is Verdict.INCONCLUSIVE
    assert decision(cells, threshold="0.85", min_coverage="0.9", rules=lenient).verdict is Verdict.PASS


def test_not_applicable_counts_as_covered_where_the_case_allows_it() -> None:
    """``may_skip`` is the case's own word."""
    cells = spread(3, 0, NA)

    assert decision(cells).verdict is Verdict.INCONCLUSIVE
    assert decision(cells, c3={"may_skip": ("E",)}).verdict is Verdict.PASS


def test_required_not_applicable_fails() -> None:
    """A mandatory skill that never loaded left nothing to judge, and passed such a gate once."""
    found = decision(spread(3, 0, NA), c3={"require": ("E",)})

    assert found.verdict is Verdict.FAIL
    assert found.evaluators[0].text == "E: 75% < 100%, failed [c3]"
    assert found.evaluators[0].tally.not_applicable == 1


def test_a_required_finding_that_did_not_apply_is_not_called_judged() -> None:
    """It counts in the rate; nobody judged it."""
    found = decision(spread(0, 0, NA, NA, E), threshold="0.1", c0={"require": ("E",)})

    assert found.evaluators[0].text is not None
    assert found.evaluators[0].text.startswith("E: inconclusive, 0% of 1 judged or required (wanted 10%)")


def test_all_not_applicable_is_not_measured() -> None:
    """Never green, never 0."""
    found = decision(spread(0, 0, NA, NA))

    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.evaluators[0].pass_rate is None


def test_one_failed_trial_of_a_blocking_case_fails_the_gate() -> None:
    """Whatever the threshold says."""
    found = decision({"a": [P] * 9, "b": [P, P, F]}, threshold="0.5", b={"blocking": True})

    assert found.verdict is Verdict.FAIL
    assert found.evaluators[0].text == "E: blocking case failed [b]"


def test_an_unjudged_blocking_cell_is_inconclusive() -> None:
    """It might have been the one."""
    found = decision(
        {"a": [P] * 9, "b": [P, P, E]},
        threshold="0.5",
        min_coverage="0.5",
        rules={"max_error_share": "0.5"},
        b={"blocking": True},
    )

    assert found.verdict is Verdict.INCONCLUSIVE


def test_capability_cases_are_reported_and_do_not_gate() -> None:
    """They may fail at first."""
    found = decision({"a": [P], "b": [F]}, b={"stage": "capability"})

    assert found.verdict is Verdict.PASS
    assert found.evaluators[0].capability is not None
    assert found.evaluators[0].capability.failed == 1


@pytest.mark.parametrize(
    ("cells", "plan"),
    [
        ({}, {}),
        ({"a": [F]}, {"a": {"stage": "capability"}}),
        ({"a": [M]}, {"threshold": None}),
    ],
    ids=["no cases", "capability only", "figures only"],
)
def test_a_run_without_a_gating_cell_is_inconclusive(cells: dict[str, Any], plan: dict[str, Any]) -> None:
    """``all([])`` is true, and no gate may use it."""
    found = decision(cells, **plan)

    assert (found.verdict, found.exit_code) == (Verdict.INCONCLUSIVE, 3)
    assert found.reasons


def test_on_inconclusive_allow_lets_it_through_and_says_so() -> None:
    """The exit code is 0, the verdict stays what it is."""
    found = decision(spread(1, 0, E), rules={"on_inconclusive": "allow"})

    assert (found.verdict, found.exit_code) == (Verdict.INCONCLUSIVE, 0)


def test_curtailed_cells_leave_both_shares() -> None:
    """Cells that were given up because the verdict stood are no hole in coverage."""
    cells = spread(9, 0, SK)
    plan = plan_of(cells, threshold="0.85")
    rows: list[Any] = [(f"c{i}", "E", "pass", None, None) for i in range(9)]

    curtailed = decide(tally(plan, [*rows, ("c9", "E", "skipped", Blame.CURTAILED.value, None)]))
    skipped = decide(tally(plan, [*rows, ("c9", "E", "skipped", Blame.BUDGET.value, None)]))

    assert curtailed.verdict is Verdict.PASS
    assert skipped.verdict is Verdict.INCONCLUSIVE


def test_an_open_run_is_inconclusive_whatever_it_holds() -> None:
    """Also when all that it holds passed."""
    cells = spread(3, 0)
    rows: list[Any] = [(name, "E", "pass", None, None) for name in cells]

    assert decide(tally(plan_of(cells), rows), complete=False).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("passed", "failed", "verdict"),
    [(40, 0, Verdict.PASS), (37, 3, Verdict.INCONCLUSIVE), (20, 20, Verdict.FAIL)],
)
def test_confident_policy_wants_the_whole_interval_on_one_side(
    passed: int, failed: int, verdict: Verdict
) -> None:
    """37 of 40 is 92%, and may still be under 85%."""
    assert (
        decision(spread(passed, failed), threshold="0.85", rules={"policy": "confident"}).verdict is verdict
    )


def test_confident_policy_uses_the_point_where_no_interval_can_help() -> None:
    """At threshold 1.0 no lower bound would ever reach it."""
    assert decision(spread(7, 0), rules={"policy": "confident"}).verdict is Verdict.PASS


def test_pass_k_is_undefined_where_a_case_has_too_few_judged_trials() -> None:
    """One survivor of four is no 100% at k = 4."""
    found = decision({"a": [P, E, E, E]}).evaluators[0]

    assert dict(found.pass_k) == {"1": 1.0, "2": None, "3": None, "4": None}
    assert (found.tally.passed, found.tally.planned) == (1, 4)


def test_printed_rates_never_hide_the_comparison() -> None:
    """17 of 21 is 80.95%, which is less than 81%."""
    assert decision(spread(17, 4), threshold="0.81").evaluators[0].text == (
        "E: 80.95% < 81%, failed [c17, c18, c19, c20]"
    )


def test_an_advisory_judge_is_reported_and_does_not_gate() -> None:
    """Its failures are shown, and no verdict hangs on them."""
    plan = replace(plan_of(spread(0, 3)), advisory=("E",))
    rows = [(f"c{n}", "E", "fail", None, None) for n in range(3)]

    found = decide(tally(plan, rows))

    assert (found.verdict, found.evaluators[0].verdict) == (Verdict.INCONCLUSIVE, None)
    assert any("E does not gate" in reason for reason in found.reasons)
