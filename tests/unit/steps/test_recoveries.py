"""What is proof that an earlier cause has ended, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.messages import End, Kind
from nightgate.steps.causes import read_night
from nightgate.steps.recoveries import over
from nights import canary, flakiness, green, put_night
from rundocs import a_summary


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.mark.parametrize("more", [{"judged": 0}, {"complete": False}])
def test_a_canary_that_was_not_judged_to_the_end_ends_no_drift(store: InMemoryStore, more: Any) -> None:
    """A judge that was down did not recover."""
    night = read_night(store, put_night(store, 1, canary=canary(**more)))

    assert not over(night, Kind.JUDGE_DRIFT, ())


def test_a_damaged_document_is_no_evidence(store: InMemoryStore) -> None:
    """Half a file must not close a cause."""
    run_id = put_night(store, 1)
    store.replace(f"runs/{run_id}/canary.json", b"{")

    night = read_night(store, run_id)

    assert night.canary is None
    assert not over(night, Kind.JUDGE_DRIFT, ())


@pytest.mark.parametrize(
    ("told", "ended"),
    [
        (flakiness(still=["late"]), None),
        (flakiness(suspects=["late"]), None),
        (flakiness(fixed=["late"]), End.MENDED),
        (None, End.MENDED),
    ],
)
def test_a_broken_case_is_over_when_history_or_in_its_absence_tonight_says_so(
    store: InMemoryStore, told: Any, ended: End | None
) -> None:
    """One lucky pass of a case that the history calls broken is not its recovery."""
    night = read_night(store, put_night(store, 1, flakiness=told))

    assert over(night, Kind.NEWLY_BROKEN, ("late", "ToolPolicy")) is ended


def test_a_case_that_was_not_played_is_not_over(store: InMemoryStore) -> None:
    """An outage recovers nothing."""
    row = green()["cases"][0] | {"passed": 0, "error": 1}

    night = read_night(store, put_night(store, 1, {**green(), "cases": [row]}, flakiness=flakiness()))

    assert not over(night, Kind.NEWLY_BROKEN, ("late", "ToolPolicy"))


def test_an_open_run_ends_nothing_but_what_it_shows(store: InMemoryStore) -> None:
    """What is not measured is no recovery."""
    open_run = a_summary(verdict="inconclusive", code=3, complete=False)

    night = read_night(store, put_night(store, 1, open_run))

    over_now = {kind for kind in Kind if over(night, kind, ("late", "ToolPolicy", "x"))}
    assert over_now == {Kind.EMPTY_RUN}
