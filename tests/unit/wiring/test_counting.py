"""How far a run is, seen from beside it."""

from __future__ import annotations

from makers import a_case, a_plan, a_planned_case, a_score
from nightgate.scores import Cell
from nightgate.wiring.counting import cells_done, counting

CELL = Cell(
    case_id="a",
    trial=0,
    score=a_score(),
    judge_model=None,
    judge_fingerprint=None,
    cost_nanousd=0,
    latency_ms=1.0,
)


def test_cells_are_counted_with_those_that_were_there() -> None:
    """A resumed run begins where it stopped."""
    progress = counting()
    progress.on_plan(a_plan(a_planned_case(a_case("a"), trials=5)))
    progress.on_there(2, 2)

    progress.on_cell(CELL)

    assert cells_done("r") == (3, 5)


def test_a_run_of_another_process_is_nothing_of_nothing() -> None:
    """Nobody divides by it."""
    assert cells_done("elsewhere") == (0, 0)


def test_counts_go_with_whoever_counts() -> None:
    """A server that plays a night a day keeps none of them."""
    progress = counting()
    progress.on_plan(a_plan(a_planned_case(a_case("a"), trials=5)))
    assert cells_done("r") == (0, 5)

    del progress

    assert cells_done("r") == (0, 0)
