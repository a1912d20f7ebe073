"""Nights from left to right."""

from __future__ import annotations

from suiteaxes import an_axis


def test_an_inconclusive_night_is_marked_where_nights_as_such_are_drawn() -> None:
    """It cost less because less was played."""
    axis = an_axis([(3, 3)] * 3, verdicts={1: "inconclusive"})

    assert [(mark.at, mark.name, mark.hole) for mark in axis.marks()] == [(1, "inconclusive", True)]
    assert list(axis.marks("E")) == []
