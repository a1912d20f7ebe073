"""The drill that none of nine tools printed right: every planned cell, typed, in one summary."""

from __future__ import annotations

from typing import Any

import pytest

from shell import DRILLS, Ran, nightgate


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run of the drill."""
    return nightgate("run", DRILLS / "honest", "--store", tmp_path_factory.mktemp("store"), "--json", "-")


def _evaluator(drill: Ran, name: str) -> dict[str, Any]:
    return next(e for e in drill.json["evaluators"] if e["name"] == name)


def test_citations_count_12_of_15_with_the_rest_typed(drill: Ran) -> None:
    """Two throttled trials say nothing about the agent; the one failure does."""
    cites = _evaluator(drill, "CitesSource")

    assert (cites["planned"], cites["passed"], cites["failed"], cites["error"]) == (15, 12, 1, 2)


def test_tone_counts_7_passes_and_8_typed_holes(drill: Ran) -> None:
    """Judge down, criterion not applicable, infrastructure: three different holes."""
    tone = _evaluator(drill, "Criterion:tone")

    assert (tone["planned"], tone["passed"], tone["failed"]) == (15, 7, 0)
    assert (tone["not_applicable"], tone["error"]) == (3, 5)
    blames = {
        (f["case"], f["blame"]): f["count"] for f in drill.json["failures"] if f["evaluator"] == tone["name"]
    }
    assert blames == {("judge-down", "judge"): 3, ("throttled", "infra"): 2, ("no-tone", None): 3}


def test_the_flaky_case_is_a_fact_beside_them(drill: Ran) -> None:
    """Two of three."""
    assert drill.json["flaky"] == [{"case": "shaky", "evaluator": "CitesSource", "passed": 2, "judged": 3}]


def test_the_gate_says_no(drill: Ran) -> None:
    """A deterministic failure at 1.0 fails; it would be inconclusive without it; never a pass."""
    assert drill.code == 1
    assert drill.json["verdict"] == "fail"


def test_cells_add_up(drill: Ran) -> None:
    """Every planned cell has exactly one status."""
    cells = dict(drill.json["cells"])

    assert cells.pop("planned") == sum(cells.values()) == 30
