"""The local date of a night: on which day of a time zone its scheduled start falls.

Owns what counts as a time zone and as a scheduled start, in the words of a flag. A date is that of the
scheduled start, never that of the moment at which something came to run, so a late or long night keeps its
own. Knows no suite and no store. Imports the standard library and ``errors`` only.
"""

from __future__ import annotations

import difflib
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

from nightgate.errors import InputError

DEFAULT_ZONE = "UTC"
AHEAD = timedelta(hours=1)
"""Clocks differ, but a start that lies further ahead would take a date that is not due yet."""

_YEARS = 1970, 2999


def zone_named(name: str) -> ZoneInfo:
    """The time zone of an IANA name.

    Raises:
        InputError: If there is none; with the nearest that there is.
    """
    known = available_timezones()
    if name in known:
        return ZoneInfo(name)
    if not known:
        msg = f"--timezone {name}: this machine has no time zone database: install the package tzdata"
        raise InputError(msg)
    near = _nearest(name, sorted(known))
    hint = f"did you mean {near}?" if near else "use an IANA name, such as Europe/Madrid or UTC"
    msg = f"--timezone {name!r}: no such time zone; {hint}"
    raise InputError(msg)


def _nearest(name: str, known: list[str]) -> str | None:
    """The zone that was meant: by its letters, by its city, else the one that looks most alike."""
    wanted = name.strip().replace(" ", "_").casefold()
    folded = {zone.casefold(): zone for zone in known}
    cities = {zone.casefold().rpartition("/")[2]: zone for zone in reversed(known)}
    found = folded.get(wanted) or cities.get(wanted)
    if found is None and (close := difflib.get_close_matches(wanted, list(folded), n=1)):
        found = folded[close[0]]
    if found is None and (close := difflib.get_close_matches(wanted.rpartition("/")[2], list(cities), n=1)):
        found = cities[close[0]]
    return found


def start_given(text: str) -> datetime:
    """A scheduled start as ISO 8601 with an offset, in UTC.

    Raises:
        InputError: If it is none. Without an offset it would be a guess on the night that has an hour twice.
    """
    try:
        start = datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"--scheduled {text!r}: write ISO 8601 with an offset, as in 2026-10-25T02:30:00+02:00"
        raise InputError(msg) from error
    if start.tzinfo is None:
        msg = f"--scheduled {text!r}: add the offset, as in {start.isoformat()}+02:00 or {start.isoformat()}Z"
        raise InputError(msg)
    if not _YEARS[0] <= start.year <= _YEARS[1]:
        msg = f"--scheduled {text!r}: a year from {_YEARS[0]} to {_YEARS[1]}"
        raise InputError(msg)
    return start.astimezone(UTC)


def refuse_ahead(start: datetime, now: datetime) -> None:
    """Check that a start is due.

    Raises:
        InputError: If it lies ahead: its date would be taken, and the night that is due then refused.
    """
    if start - now > AHEAD:
        msg = f"scheduled start {stamp(start)} lies ahead of this machine's clock ({stamp(now)}): not due yet"
        raise InputError(msg)


def local_date(start: datetime, zone: ZoneInfo) -> date:
    """The day of the zone on which a start falls; of an hour that comes twice both times are one day.

    >>> local_date(start_given("2026-10-25T02:30:00+02:00"), ZoneInfo("Europe/Madrid"))
    datetime.date(2026, 10, 25)
    >>> local_date(start_given("2026-10-24T23:30:00Z"), ZoneInfo("Europe/Madrid"))
    datetime.date(2026, 10, 25)
    """
    return start.astimezone(zone).date()


def stamp(moment: datetime) -> str:
    """A moment as stored documents and messages have it: UTC, whole seconds.

    >>> stamp(start_given("2026-10-25T02:30:00+01:00"))
    '2026-10-25T01:30:00Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
