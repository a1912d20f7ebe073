"""Holes: what was not judged keeps its count and its reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.scores import Status
from nightgate.summaries import Holes

CELLS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(list(Status)),
        st.sampled_from([None, "infra", "judge"]),
        st.text(max_size=5),
    )
)


@given(cells=CELLS)
def test_holes_add_up_to_the_cells_without_a_verdict(
    cells: list[tuple[str, Status, str | None, str]],
) -> None:
    """Also when there are more reasons than are kept apart."""
    holes = Holes()
    for case, status, blame, reason in cells:
        holes.add(case, "E", status, blame, reason)

    unjudged = [cell for cell in cells if cell[1] in {Status.NOT_APPLICABLE, Status.ERROR, Status.SKIPPED}]
    assert sum(hole.count for hole in holes.of("E")) == len(unjudged)


def test_one_reason_is_told_once_with_its_cases_biggest_first() -> None:
    """An outage that hit a hundred cells is one line."""
    holes = Holes()
    holes.add("odd", "E", Status.NOT_APPLICABLE, None, "no skill invoked")
    for number in range(7):
        holes.add(f"c{number}", "E", Status.ERROR, "infra", "throttled\n to the end")

    first, second = holes.of("E")

    assert (first.status, first.blame, first.count, first.reason) == (
        "error", "infra", 7, "throttled to the end",
    )  # fmt: skip
    assert first.cases == ("c0", "c1", "c2", "c3", "c4")
    assert (second.count, second.cases) == (1, ("odd",))


def test_only_cells_of_the_cases_asked_for_are_told() -> None:
    """Capability cases do not explain a gate that does not count them."""
    holes = Holes()
    for case in ("gates", "reported"):
        holes.add(case, "E", Status.ERROR, "judge", "down")

    assert [hole.count for hole in holes.of("E", {"gates"})] == [1]


def test_holes_of_one_case_are_those_of_a_run_of_that_case_alone() -> None:
    """The summaries table has a row a case."""
    holes = Holes()
    for case, count in (("a", 1), ("b", 2)):
        for _ in range(count):
            holes.add(case, "E", Status.ERROR, "judge", "down")
    holes.add("a", "E", Status.NOT_APPLICABLE, None, "no skill invoked")

    assert holes.of_case("E", "b") == holes.of("E", {"b"})


def test_a_flood_of_reasons_is_bounded() -> None:
    """A run of 20,000 trials with as many error texts must not grow the summary with it."""
    holes = Holes()
    for number in range(1000):
        holes.add("a", "E", Status.ERROR, "infra", f"request {number} failed")

    found = holes.of("E")

    assert len(found) == 21
    assert found[0].count == 980
    assert "other reasons" in found[0].reason


@pytest.mark.parametrize("status", [Status.PASS, Status.FAIL, Status.MEASURED])
def test_what_was_judged_is_no_hole(status: Status) -> None:
    """A fail is a finding."""
    holes = Holes()
    holes.add("a", "E", status, None, "fine")

    assert holes.of("E") == []
