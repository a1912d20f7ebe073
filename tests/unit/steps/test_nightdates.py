"""One run a local date: whatever fires, in whatever zone, however often."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError
from nightgate.localdates import local_date, start_given, zone_named
from nightgate.ports import Store
from nightgate.rows.jsondocs import NewerDocumentError
from nightgate.rows.keys import night_key
from nightgate.steps.nightdates import NightDate, busy_line, claim, done_line

MADRID = ZoneInfo("Europe/Madrid")
DAY = date(2026, 10, 25)
CLOCK_CHANGES = [date(2026, 10, 25), date(2027, 3, 28)]


def a_date(start: datetime, zone: ZoneInfo, run_id: str, suite: str = "support") -> NightDate:
    """What a start at that moment claims."""
    return NightDate(
        suite=suite,
        date=local_date(start, zone),
        zone=zone.key,
        run_id=run_id,
        scheduled_at=start,
        claimed_at=start + timedelta(seconds=3),
    )


def runs_of(store: Store, starts: list[datetime], zone: ZoneInfo) -> dict[date, str]:
    """Run ids by date, after these starts; each brings an id of its own."""
    claims = [claim(store, a_date(start, zone, f"run-{n}")) for n, start in enumerate(starts)]
    return {night.date: night.run_id for night in claims}


def firings(cron: str, zone: str, after: datetime, count: int) -> list[datetime]:
    """When Prefect starts a deployment with that schedule."""
    from prefect.server.schemas.schedules import CronSchedule

    found = asyncio.run(CronSchedule(cron=cron, timezone=zone).get_dates(count, start=after))
    return [datetime.fromtimestamp(moment.timestamp(), UTC) for moment in found]


def test_a_claim_is_read_again_as_it_was_put() -> None:
    """Whoever comes second needs all of it for the reason."""
    store, wanted = InMemoryStore(), a_date(start_given("2026-10-25T02:30:00+02:00"), MADRID, "run-1")

    assert claim(store, wanted) is wanted
    assert claim(store, a_date(wanted.scheduled_at + timedelta(hours=1), MADRID, "run-2")) == wanted
    assert json.loads(store.read("nights/support/2026-10-25.json")) == {
        "schema": 1,
        "suite": "support",
        "date": "2026-10-25",
        "zone": "Europe/Madrid",
        "run_id": "run-1",
        "scheduled_at": "2026-10-25T00:30:00Z",
        "claimed_at": "2026-10-25T00:30:03Z",
    }


@given(
    st.sampled_from(sorted(available_timezones())),
    st.datetimes(datetime(2000, 1, 1), datetime(2050, 1, 1)),  # noqa: DTZ001 - made UTC below
    st.lists(st.integers(0, 6 * 24 * 60), min_size=1, max_size=30),
)
def test_any_starts_give_one_run_for_each_of_their_dates(
    zone: str, first: datetime, minutes: list[int]
) -> None:
    """Two schedulers, late ones and repeated ones included."""
    there = zone_named(zone)
    starts = [first.replace(tzinfo=UTC) + timedelta(minutes=m) for m in minutes]
    store = InMemoryStore()

    runs = runs_of(store, starts, there)

    assert set(runs) == {start.astimezone(there).date() for start in starts}
    assert len(set(runs.values())) == len(runs)
    assert runs == runs_of(store, list(reversed(starts)), there)  # a third scheduler changes nothing
    assert len(store.find("nights/")) == len(runs)


@given(
    st.sampled_from(sorted(available_timezones())),
    st.dates(date(2000, 1, 2), date(2050, 1, 1)),
    st.tuples(st.integers(0, 23), st.integers(0, 59)),
)
def test_a_wall_time_gives_each_date_its_run_whatever_the_clocks_do(
    zone: str, day: date, wall: tuple[int, int]
) -> None:
    """Both readings of each day's wall time fire; where it does not exist they are an hour apart as well."""
    there = zone_named(zone)
    days = [day + timedelta(days=n) for n in range(3)]
    starts = [
        datetime(d.year, d.month, d.day, *wall, tzinfo=there, fold=fold).astimezone(UTC)
        for d in days
        for fold in (0, 1)
    ]
    runs = runs_of(InMemoryStore(), starts, there)

    assert set(runs) == {start.astimezone(there).date() for start in starts}
    assert len(runs) <= len(days) + 1  # a change at midnight moves one reading into the neighbouring day


@pytest.mark.parametrize("changed", CLOCK_CHANGES, ids=str)
def test_prefect_fires_once_on_each_date_about_a_clock_change(changed: date) -> None:
    """Cron at 02:30 in Madrid: the first of the two in autumn, 03:30 in spring, where 02:30 is left out."""
    after = datetime(changed.year, changed.month, changed.day, tzinfo=MADRID) - timedelta(days=1)
    starts = firings("30 2 * * *", "Europe/Madrid", after, 4)

    walls = {s.astimezone(MADRID).date(): s.astimezone(MADRID).strftime("%H:%M %Z") for s in starts}
    runs = runs_of(InMemoryStore(), starts, MADRID)

    expected = {date(2026, 10, 25): "02:30 CEST", date(2027, 3, 28): "03:30 CEST"}
    assert walls[changed] == expected[changed]
    assert list(runs) == [changed + timedelta(days=n) for n in (-1, 0, 1, 2)]


@pytest.mark.parametrize("changed", CLOCK_CHANGES, ids=str)
def test_two_schedulers_of_different_minds_still_give_one_run_a_date(changed: date) -> None:
    """Prefect, and one that fires at every 02:30 there is and counts 24 hours where there is none."""
    after = datetime(changed.year, changed.month, changed.day, tzinfo=MADRID) - timedelta(days=1)
    days = [changed + timedelta(days=n) for n in (-1, 0, 1, 2)]
    other = [
        datetime(d.year, d.month, d.day, 2, 30, tzinfo=MADRID, fold=fold).astimezone(UTC)
        for d in days
        for fold in (0, 1)
    ]
    starts = sorted([*firings("30 2 * * *", "Europe/Madrid", after, 4), *other])

    assert list(runs_of(InMemoryStore(), starts, MADRID)) == days


def test_of_many_who_fire_at_once_all_find_the_same_run() -> None:
    """The store decides, not who asked first."""
    store, start = InMemoryStore(), start_given("2026-10-25T02:30:00+02:00")
    together = Barrier(16)

    def fire(number: int) -> str:
        together.wait()
        return claim(store, a_date(start, MADRID, f"run-{number}")).run_id

    with ThreadPoolExecutor(16) as threads:
        assert len(set(threads.map(fire, range(16)))) == 1


def test_suites_have_dates_of_their_own() -> None:
    """One that is done stops no other."""
    store, start = InMemoryStore(), start_given("2026-10-25T02:30:00+02:00")

    assert claim(store, a_date(start, MADRID, "run-1")).run_id == "run-1"
    assert claim(store, a_date(start, MADRID, "run-2", suite="search")).run_id == "run-2"


@pytest.mark.parametrize(
    "damage",
    [
        {"run_id": "../../x"},
        {"date": "2026-10-26"},
        {"suite": "search"},
        {"scheduled_at": "2026-10-25T02:30:00"},
        {"claimed_at": None},
        {"zone": 7},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_claim_is_told_and_not_believed(damage: dict[str, object]) -> None:
    """What stands there becomes a run id and a start."""
    store, wanted = InMemoryStore(), a_date(start_given("2026-10-25T02:30:00+02:00"), MADRID, "run-1")
    store.create(night_key("support", DAY), json.dumps(json.loads(wanted.to_json()) | damage).encode())

    with pytest.raises(
        DamagedError, match=r"nights/support/2026-10-25\.json: no claim of a date .*remove it"
    ):
        claim(store, wanted)


def test_a_newer_claim_is_left_alone() -> None:
    """It may mean something else."""
    store, wanted = InMemoryStore(), a_date(start_given("2026-10-25T02:30:00+02:00"), MADRID, "run-1")
    store.create(night_key("support", DAY), b'{"schema": 2}')

    with pytest.raises(NewerDocumentError):
        claim(store, wanted)


def test_the_reason_says_which_run_has_the_date_and_how_to_go_on() -> None:
    """Whoever reads a scheduler's log in the morning has nothing else."""
    night = a_date(start_given("2026-10-25T02:30:00+02:00"), MADRID, "run-1")
    has = (
        "support: run run-1 has 2026-10-25 (Europe/Madrid), scheduled 2026-10-25T00:30:00Z, "
        "claimed 2026-10-25T00:30:03Z; it is "
    )

    assert done_line(night, "pass").startswith(f"{has}complete, verdict pass.")
    busy = busy_line(night, "process 7 on vm", "cases/my suite", "s3://b/p")
    assert busy.startswith(f"{has}not complete, still being worked on by process 7 on vm.")
    assert "`nightgate run 'cases/my suite' --resume run-1 --store s3://b/p`" in busy
