"""Cells for people to label."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nightgate.calibration.drawing import Judged, drawn

cells = st.lists(
    st.builds(
        Judged,
        evaluator=st.sampled_from("EFG"),
        case_id=st.text(max_size=3),
        trial=st.integers(0, 5),
        verdict=st.booleans(),
    ),
    max_size=60,
    unique_by=lambda cell: (cell.evaluator, cell.case_id, cell.trial),
)


@given(cells, st.integers(1, 80), st.integers(0, 5), st.booleans())
def test_as_many_as_asked_for_and_none_twice(
    given: list[Judged], size: int, seed: int, stratified: bool
) -> None:
    """All of them where there are fewer."""
    found = drawn(given, size, seed=seed, stratified=stratified)

    assert len(found) == len(set(found)) == min(size, len(given))
    assert set(found) <= set(given)


@given(cells, st.integers(1, 80), st.integers(0, 5), st.booleans())
def test_the_order_of_the_rows_changes_nothing(
    given: list[Judged], size: int, seed: int, stratified: bool
) -> None:
    """Two stores with the same run give the same sheet."""
    again = drawn(reversed(given), size, seed=seed, stratified=stratified)
    assert drawn(given, size, seed=seed, stratified=stratified) == again


def test_both_verdicts_are_drawn_alike() -> None:
    """Fails are rare, and half of what is needed."""
    given = [Judged("E", f"c{n}", 0, n >= 40) for n in range(400)]

    found = drawn(given, 100, seed=0)

    assert Counter(cell.verdict for cell in found) == {True: 60, False: 40}


def test_within_a_verdict_every_cell_is_as_likely() -> None:
    """Also cells of a case that has many: weights know nothing of cases."""
    given = [Judged("E", "often", n, True) for n in range(90)]
    given += [Judged("E", f"c{n}", 0, True) for n in range(10)]

    counts = Counter(cell for seed in range(2000) for cell in drawn(given, 10, seed=seed))

    assert len(counts) == 100
    assert max(counts.values()) < 2 * min(counts.values())


def test_cases_are_met_by_their_share() -> None:
    """Nobody labels one case ten times while others go unseen."""
    given = [Judged("E", f"c{n % 10}", n, True) for n in range(200)]

    found = drawn(given, 20, seed=3)

    assert Counter(cell.case_id for cell in found) == {f"c{n}": 2 for n in range(10)}


def test_a_random_sample_ignores_the_verdict() -> None:
    """What a prediction-powered mean is right for."""
    given = [Judged("E", f"c{n}", 0, n >= 40) for n in range(400)]

    fails = sum(
        not cell.verdict for seed in range(100) for cell in drawn(given, 100, seed=seed, stratified=False)
    )

    assert 900 < fails < 1100
