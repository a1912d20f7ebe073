"""The night that never ran is told by somebody else."""

from __future__ import annotations

from datetime import timedelta

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
    assert cause.text == "no complete run since 26 hours: there is none at all"


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
