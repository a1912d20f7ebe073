"""The night that never ran is told by somebody else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.steps.overdue import alert_overdue, last_complete, overdue
from nightgate.testing import FixedClock, RecordingChannel
from nights import AT_ONCE, SUITE, commit, green, moment, put_night, tell


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def test_a_suite_without_any_complete_run_is_overdue(store: InMemoryStore) -> None:
    """An empty store is no quiet one."""
    cause = overdue(store, SUITE, moment(1), 26)

    assert cause is not None
    assert cause.text == "no complete run for 26 hours: there is none at all"


@pytest.mark.parametrize(("hours", "late"), [(23, True), (24, False)])
def test_the_age_counts_from_the_scheduled_start(store: InMemoryStore, hours: float, late: bool) -> None:
    """A run that took three hours is not three hours younger."""
    put_night(store, 1)
    commit(store, 1)

    assert (overdue(store, SUITE, moment(2), hours) is not None) is late


def test_open_filtered_and_rerun_runs_do_not_count(store: InMemoryStore) -> None:
    """Nobody measured the suite."""
    put_night(store, 1)
    commit(store, 1)
    put_night(store, 2)
    put_night(store, 3, filters={"case": ["late"]})
    commit(store, 3)
    put_night(store, 4, run_kind="rerun")
    commit(store, 4, run_kind="rerun")

    assert last_complete(store, SUITE) == moment(1)


def test_an_outage_is_told_once_and_its_end_once(store: InMemoryStore) -> None:
    """The check runs every hour; people want to hear of it twice."""
    channel = RecordingChannel()
    for hour in range(5):
        clock = FixedClock(moment(2) + timedelta(hours=hour))
        assert alert_overdue(store, SUITE, 26, [channel], clock, owner="team", telling=AT_ONCE) is not None
    assert [message.title for message in channel.messages] == ["support: no complete run"]

    put_night(store, 3, green())
    tell(store, "night-3", channel, at=moment(3))

    assert [message.title for message in channel.messages][1:] == ["support: over: no complete run"]


def test_a_suite_that_runs_is_not_told_of(store: InMemoryStore) -> None:
    """Nothing is sent and nothing is stored."""
    put_night(store, 1)
    commit(store, 1)
    channel = RecordingChannel()

    assert alert_overdue(store, SUITE, 26, [channel], FixedClock(moment(1)), telling=AT_ONCE) is None
    assert store.find("alerts/") == []


def test_hours_are_those_that_pass(store: InMemoryStore) -> None:
    """From 02:30 to 02:30 over the autumn's clock change 25 hours pass in Madrid, over the spring's 23."""
    autumn = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    put_night(store, 1, started_at="2026-10-25T00:30:00.000Z", date="2026-10-25")
    commit(store, 1, started_at=autumn, date=autumn.date())
    next_night = datetime.fromisoformat("2026-10-26T02:30:00+01:00")

    assert overdue(store, SUITE, next_night, 25) is None
    assert overdue(store, SUITE, next_night, 24.9) is not None

    spring = datetime(2027, 3, 27, 1, 30, tzinfo=UTC)
    put_night(store, 2, started_at="2027-03-27T01:30:00.000Z", date="2027-03-27")
    commit(store, 2, started_at=spring, date=spring.date())

    assert overdue(store, SUITE, datetime.fromisoformat("2027-03-28T02:30:00+01:00"), 24) is None
    assert overdue(store, SUITE, datetime.fromisoformat("2027-03-28T03:00:00+02:00"), 23.5) is None
    assert overdue(store, SUITE, datetime.fromisoformat("2027-03-28T03:30:00+02:00"), 23.5) is not None


def test_a_start_by_a_wrong_clock_is_not_young_for_ever(store: InMemoryStore) -> None:
    """A machine a year ahead would keep the look quiet for a year."""
    put_night(store, 1)
    commit(store, 1)
    put_night(store, 300)
    commit(store, 300)

    cause = overdue(store, SUITE, moment(4), 26)

    assert cause is not None
    assert cause.text.endswith("the last one started at 2026-11-01 02:00 UTC")


def test_another_suite_s_run_does_not_count(store: InMemoryStore) -> None:
    """Each suite has nights of its own."""
    put_night(store, 1, suite="search", run_id="night-1")
    commit(store, 1, suite="search")

    assert overdue(store, "search", moment(1), 26) is None
    assert overdue(store, SUITE, moment(1), 26) is not None


def test_a_message_without_a_run_names_none(store: InMemoryStore) -> None:
    """There is no report to look at."""
    channel = RecordingChannel()

    alert_overdue(store, SUITE, 26, [channel], FixedClock(moment(1)), telling=AT_ONCE)

    body = channel.messages[0].body
    assert "since: 2026-11-01\n" in body
    assert "(none)" not in body
    assert "report:" not in body
