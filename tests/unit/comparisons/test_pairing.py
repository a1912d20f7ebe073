"""What of two runs may be held against each other, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.comparisons import Word, pair
from pairs import a_side, beside, judge, lenient, some


def reason(base, now) -> str | None:
    """Why E is not comparable."""
    return pair(base, now).evaluators[0].reason


def test_cases_that_only_one_run_has_are_listed_and_not_compared() -> None:
    """A removed failing case would otherwise read as an improvement."""
    found = pair(a_side("a", {"x": "P", "old": "F"}), a_side("b", {"x": "P", "new": "P"}))

    assert (found.shared, found.added, found.removed) == (("x",), ("new",), ("old",))
    assert {"case": "old", "reason": "removed since a"} in found.not_comparable("a")


def test_the_same_8_cases_without_the_2_that_failed_are_no_improvement() -> None:
    """The rate goes from 80% to 100%, and nothing got better."""
    found = beside(a_side("a", some(8, 2)), a_side("b", some(8)))

    assert found.word is Word.NOT_COMPARABLE
    assert found.pairing.removed == ("c8", "c9")
    assert found.changes[0].reason == "8 of 10 cases in common, want 90%"


def test_edited_text_under_the_same_id_is_changed() -> None:
    """Another question under an old name is another case."""
    found = pair(a_side("a", some(2)), a_side("b", some(2), hashes={"c1": "another"}))

    assert (found.shared, found.changed) == (("c0",), ("c1",))
    assert {"case": "c1", "reason": "edited since a"} in found.not_comparable("a")


def test_two_equal_rates_can_hide_a_case_that_broke_and_one_that_was_fixed() -> None:
    """.90 and .90: both cases are named."""
    before = {**some(8, trials=3), "breaks": "PPP", "mends": "FFF"}
    after = {**some(8, trials=3), "breaks": "FFF", "mends": "PPP"}

    found = pair(a_side("a", before), a_side("b", after))

    assert [flip.as_dict() for flip in found.newly_broken] == [
        {"case": "breaks", "evaluator": "E", "before": [3, 3], "now": [0, 3]}
    ]
    assert [flip.case for flip in found.newly_fixed] == ["mends"]


@given(*(st.text("PF", min_size=1, max_size=5) for _ in range(2)))
def test_newly_broken_is_more_than_half_before_and_not_now(before: str, now: str) -> None:
    """Half of the trials is not more than half."""
    found = pair(a_side("a", {"x": before}), a_side("b", {"x": now}))

    def most(letters: str) -> bool:
        return 2 * letters.count("P") > len(letters)

    assert bool(found.newly_broken) is (most(before) and not most(now))
    assert bool(found.newly_fixed) is (most(now) and not most(before))


@pytest.mark.parametrize("now", ["EEE", "NNN"])
def test_a_case_that_nobody_judged_is_neither_broken_nor_fixed(now: str) -> None:
    """What was not measured is no fail."""
    found = pair(a_side("a", {"x": "PPP"}), a_side("b", {"x": now}))

    assert not found.newly_broken
    assert found.evaluators[0].reason is not None


def test_a_required_finding_that_does_not_apply_breaks_a_case() -> None:
    """The gate counts it as a failure; so does this."""
    required = {"x": {"require": ("E",)}}

    found = pair(a_side("a", {"x": "PPP"}, facts=required), a_side("b", {"x": "NNN"}, facts=required))

    assert found.newly_broken[0].now.pair() == [0, 3]


@pytest.mark.parametrize(("holes", "comparable"), [(1, True), (2, False)])
@pytest.mark.parametrize("side", ["before", "now"])
def test_under_95_percent_of_the_cells_covered_is_not_comparable(
    holes: int, comparable: bool, side: str
) -> None:
    """19 of 20 are enough, 18 are not, in either run."""
    whole, torn = some(20), {**some(20), **{f"c{i}": "E" for i in range(holes)}}
    pairs = (torn, whole) if side == "before" else (whole, torn)

    why = reason(a_side("a", pairs[0]), a_side("b", pairs[1]))

    assert (why is None) is comparable
    assert comparable or "covered 18 of 20 cells, want 95%" in (why or "")


def test_cells_that_may_be_skipped_are_no_hole() -> None:
    """Nothing to judge, as the case allows: nothing to have in common either."""
    allowed = {f"c{i}": {"may_skip": ("E",)} for i in range(5)}
    letters = {**some(20), **{f"c{i}": "N" for i in range(5)}}

    assert reason(a_side("a", letters, facts=allowed), a_side("b", letters, facts=allowed)) is None


def test_another_judge_is_not_comparable_and_the_reason_says_what_to_do() -> None:
    """Its verdicts do not cross: a change of it looks like one of the agent."""
    base, now = (
        a_side("a", some(20), evaluators=[judge("1" * 16)]),
        a_side("b", some(20), evaluators=[judge()]),
    )

    assert reason(base, now) == (
        "judge changed (its prompt, params or script); run `nightgate sweep baseline`"
    )
    assert not pair(base, a_side("b", some(0, 20), evaluators=[judge()])).newly_broken


@pytest.mark.parametrize(
    ("before", "after", "told"), [("a", "b", True), ("a", "a", False), (None, "b", False), ("a", None, False)]
)
def test_edited_params_of_a_check_are_not_comparable(
    before: str | None, after: str | None, told: bool
) -> None:
    """Sixty words then and one word now: another question; runs from before it was kept do not say."""
    base = a_side("a", some(20), evaluators=[lenient(config=before)])
    now = a_side("b", some(20), evaluators=[lenient(config=after)])

    assert ("its params were edited" in (reason(base, now) or "")) is told


def test_another_version_of_an_evaluator_is_not_comparable() -> None:
    """Its findings may be others over the same trials."""
    base, now = a_side("a", some(20)), a_side("b", some(20), evaluators=[lenient(version=2)])

    assert "evaluator version 1 -> 2" in (reason(base, now) or "")


def test_an_evaluator_of_one_run_only_is_listed_with_the_reason() -> None:
    """One that failed and was dropped would read as an improvement."""
    found = pair(a_side("a", some(20), evaluators=[lenient(), lenient("Gone")]), a_side("b", some(20)))

    assert [(e.name, e.reason) for e in found.evaluators] == [("E", None), ("Gone", "b does not plan it")]


def test_a_filtered_run_is_compared_on_what_it_was_asked_for() -> None:
    """The rest is neither removed nor missing in common."""
    now = a_side("b", {f"c{i}": "P" for i in range(5)}, filters={"case": ["c?"]})

    found = pair(a_side("a", some(40)), now)

    assert (found.removed, found.evaluators[0].reason) == ((), None)
    assert len(found.evaluators[0].cases) == 5


def test_cases_that_do_not_gate_decide_nothing_and_are_still_named_when_they_break() -> None:
    """A capability case that fell over is news, and no regression."""
    stage = {"c0": {"stage": "capability"}}

    found = pair(a_side("a", some(3), facts=stage), a_side("b", {**some(3), "c0": "F"}, facts=stage))

    assert found.evaluators[0].cases == ("c1", "c2")
    assert [flip.case for flip in found.newly_broken] == ["c0"]
