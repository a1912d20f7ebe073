"""How nights lie in time."""

from __future__ import annotations

from nightgate.reports.pages.suitevalues import slots


def words(*days: str) -> list[tuple[str, int | None, int]]:
    """Day, night and number of missing nights of each place."""
    return [(slot.word, slot.night, slot.missing) for slot in slots([f"2026-{day}" for day in days])]


def test_a_night_that_never_came_has_a_place() -> None:
    """A line that ran on would hide it."""
    assert words("11-01", "11-02", "11-05", "11-06") == [
        ("11-01", 0, 0), ("11-02", 1, 0), ("11-03", None, 1), ("11-04", None, 1), ("11-05", 2, 0),
        ("11-06", 3, 0),
    ]  # fmt: skip


def test_a_long_absence_has_one_place() -> None:
    """A suite that slept for a winter is not 90 empty columns."""
    assert words("11-01", "11-02", "11-20")[2] == ("11-03", None, 17)


def test_a_weekly_suite_misses_no_days() -> None:
    """How often nights come is taken from themselves."""
    assert words("10-01", "10-08", "10-15", "10-29") == [
        ("10-01", 0, 0), ("10-08", 1, 0), ("10-15", 2, 0), ("10-22", None, 1), ("10-29", 3, 0),
    ]  # fmt: skip


def test_two_runs_of_a_day_miss_nothing() -> None:
    """Somebody started one by hand."""
    assert [night for _, night, _ in words("11-01", "11-01", "11-02")] == [0, 1, 2]


def test_one_night_is_a_history_too() -> None:
    """The first one."""
    assert words("11-01") == [("11-01", 0, 0)]
