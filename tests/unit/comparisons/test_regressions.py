"""The gate's optional rule, and what it never lets through in silence."""

from __future__ import annotations

import pytest

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.comparisons import NO_BASE, Outcome, held
from nightgate.gates import Verdict
from nightgate.steps.gating import gate_run
from nightgate.steps.promoting import promote
from pairs import a_side, beside, play, some


def outcome(before: dict[str, str], after: dict[str, str]) -> Outcome:
    """Two runs beside each other."""
    return Outcome(base="a", comparison=beside(a_side("a", before), a_side("b", after)))


@pytest.mark.parametrize(("failed", "passes"), [(3, True), (4, False)])
def test_a_drop_of_exactly_what_is_allowed_passes(failed: int, passes: bool) -> None:
    """3 of 100 is 0.03 to the last bit; floats say 0.030000000000000027."""
    found = held({"max_drop": "0.03", "alpha": None}, outcome(some(100), some(100 - failed, failed)), "E")

    assert found.passed is passes


def test_alpha_fails_a_drop_of_any_size_that_is_more_than_chance() -> None:
    """And leaves alone what chance makes."""
    rule = {"max_drop": None, "alpha": "0.05"}

    assert held(rule, outcome(some(100), some(94, 6)), "E").passed is False
    assert held(rule, outcome(some(100), some(95, 5)), "E").passed is True


def test_with_neither_written_certainty_decides() -> None:
    """``regression: {}`` asks for something."""
    assert held({"max_drop": None, "alpha": None}, outcome(some(100), some(94, 6)), "E").passed is False


def test_a_rise_never_fails() -> None:
    """However large, and however certain."""
    assert held({"max_drop": "0", "alpha": "0.99"}, outcome(some(0, 40), some(40)), "E").passed is True


@pytest.mark.parametrize(
    "lost", [outcome(some(10), some(8)), Outcome(base="a", trouble="baseline a cannot be read: gone")]
)
def test_what_cannot_be_compared_is_not_passed(lost: Outcome) -> None:
    """Inconclusive, with the reason."""
    found = held({"max_drop": "0.5", "alpha": None}, lost, "E")

    assert found.passed is None
    assert "not held against baseline a" in (found.text or "")


def test_a_suite_that_does_not_ask_for_the_rule_is_not_held_to_it() -> None:
    """A lost baseline must not stop those who never asked for one."""
    assert held(None, Outcome(base="a", trouble="gone"), "E").passed is True
    assert held({"max_drop": "0"}, NO_BASE, "E").passed is True


def test_five_nights_that_fall_two_points_each_fail_by_the_third() -> None:
    """No night falls by more than was allowed against the one before; the baseline stays where it is."""
    store, rule = InMemoryStore(), {"max_drop": "0.03", "alpha": None}
    play(store, "night-0", some(45, 5), rule=rule)
    promote(store, "night-0")

    nights = [
        play(store, f"night-{n}", some(passed, 50 - passed), rule=rule)
        for n, passed in enumerate((45, 44, 43, 42, 41), start=1)
    ]

    verdicts = [night.decision.verdict for night in nights]
    assert verdicts == [Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.FAIL]
    assert "fell by 4.0 points" in (nights[2].decision.evaluators[0].text or "")
    assert "newly broken [c43, c44]" in (nights[2].decision.evaluators[0].text or "")


def test_gating_again_gives_the_same_decision_when_the_baseline_is_another() -> None:
    """The plan names the run that it was held against."""
    store, rule = InMemoryStore(), {"max_drop": "0.03", "alpha": None}
    play(store, "first", some(40), rule=rule)
    promote(store, "first")
    fell = play(store, "fell", some(36, 4), rule=rule)
    promote(store, "fell", why="the cases were too kind")

    assert gate_run(store, "fell") == fell.decision
    assert fell.decision.verdict is Verdict.FAIL


def test_the_verdict_in_the_manifest_is_that_of_the_rule_too() -> None:
    """Whoever reads manifests alone must not see a pass."""
    store, rule = InMemoryStore(), {"max_drop": "0.03", "alpha": None}
    play(store, "first", some(40), rule=rule)
    promote(store, "first")
    play(store, "fell", some(36, 4), rule=rule)

    assert b'"verdict": "fail"' in store.read("manifests/demo/2026-11-29/fell.json")
