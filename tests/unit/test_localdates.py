"""Zones, scheduled starts and their local dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate import localdates
from nightgate.errors import InputError
from nightgate.localdates import local_date, refuse_ahead, stamp, start_given, zone_named

ZONES = sorted(available_timezones())
MADRID = ZoneInfo("Europe/Madrid")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Madrid", "Europe/Madrid"),
        ("europe/madrid", "Europe/Madrid"),
        ("Europe/Madird", "Europe/Madrid"),
        ("new york", "America/New_York"),
        ("Utc", "UTC"),
    ],
)
def test_an_unknown_zone_is_answered_with_the_nearest(asked: str, meant: str) -> None:
    """A misspelt zone that fell back to UTC would move every date by hours."""
    with pytest.raises(InputError, match=f"did you mean {meant}\\?"):
        zone_named(asked)


@pytest.mark.parametrize(
    "asked", ["", "../etc/passwd", "/etc/localtime", "Europe", "§§§§", "x" * 5000, "a\0b"]
)
def test_what_is_no_zone_is_wrong_input(asked: str) -> None:
    """Never a file of the machine, never another error."""
    with pytest.raises(InputError):
        zone_named(asked)


def test_a_machine_without_zones_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slim images have none."""
    monkeypatch.setattr(localdates, "available_timezones", set)

    with pytest.raises(InputError, match="install the package tzdata"):
        zone_named("UTC")


@pytest.mark.parametrize(
    "text", ["", "tonight", "2026-10-25", "2026-10-25T02:30", "02:30+01:00", "0001-01-01T00:00:00+14:00"]
)
def test_a_start_without_its_offset_is_refused(text: str) -> None:
    """02:30 comes twice in one night of the year."""
    with pytest.raises(InputError, match="--scheduled"):
        start_given(text)


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)),  # noqa: DTZ001 - zones are given beside
    st.sampled_from(ZONES),
    st.integers(-14 * 60, 14 * 60),
)
def test_a_date_does_not_hang_on_how_the_start_is_written(moment: datetime, zone: str, minutes: int) -> None:
    """Schedulers hand over UTC, their own zone, or any offset."""
    start = moment.replace(tzinfo=UTC, microsecond=0)
    offset = timedelta(minutes=minutes)
    written = (start + offset).replace(tzinfo=None).isoformat()
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)

    given_back = start_given(f"{written}{sign}{hours:02}:{rest:02}")

    assert given_back == start == start_given(stamp(start))
    assert local_date(given_back, zone_named(zone)) == local_date(start, ZoneInfo(zone))


def test_an_hour_that_comes_twice_is_of_one_date() -> None:
    """02:30 in Madrid on 2026-10-25, before and after the change."""
    twice = [start_given("2026-10-25T00:30:00Z"), start_given("2026-10-25T01:30:00Z")]

    assert {start.astimezone(MADRID).strftime("%H:%M") for start in twice} == {"02:30"}
    assert {local_date(start, MADRID) for start in twice} == {date(2026, 10, 25)}


def test_a_start_that_is_not_due_is_refused() -> None:
    """It would take the date of a night that is still to come; clocks may differ by minutes."""
    now = start_given("2026-10-25T00:30:00Z")
    refuse_ahead(now + timedelta(minutes=59), now)

    with pytest.raises(InputError, match="lies ahead"):
        refuse_ahead(now + timedelta(minutes=61), now)
