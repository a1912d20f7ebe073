"""Rows of a run case by case, though they lie in parts."""

from __future__ import annotations

from datetime import date
from typing import Any

from nightgate.rows.casewise import CaseRows
from nightgate.rows.tables import trials_table


def a_part(*trials: tuple[str, int]) -> Any:
    """A part of the trials table."""
    return trials_table(
        {
            "run_id": "r",
            "suite": "demo",
            "date": date(2026, 11, 29),
            "case_id": case,
            "case_hash": "h",
            "trial": trial,
            "ending": "completed",
        }
        for case, trial in trials
    )


def test_a_case_is_gathered_from_all_parts() -> None:
    """A run is written by trial number first, so a case lies in as many parts as it has batches."""
    rows = CaseRows([a_part(("b", 0), ("a", 0), ("b", 1)), a_part(("b", 2), ("c", 0))])

    assert [(row["case_id"], row["trial"]) for row in rows.of("b")] == [("b", 0), ("b", 1), ("b", 2)]
    assert [row["trial"] for row in rows.of("a")] == [0]


def test_a_case_without_rows_has_none() -> None:
    """A run that is open has cases that were never played."""
    assert CaseRows([a_part(("a", 0))]).of("z") == []
    assert CaseRows([]).of("a") == []


def test_only_the_columns_that_are_asked_for_are_unpacked() -> None:
    """A page needs a third of a row; the rest of 13,500 rows is not worth a second."""
    rows = CaseRows([a_part(("a", 0), ("a", 1))], ["case_id", "trial"])

    assert rows.of("a") == [{"case_id": "a", "trial": 0}, {"case_id": "a", "trial": 1}]
