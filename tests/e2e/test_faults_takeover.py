"""Two workers on one run: one record of each trial counts, both are paid for, whoever finishes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from drill_lab import a_case, play, rows, write_suite

from nightgate import gate
from nightgate.calls import Call, CallStart, Outcome, Role
from nightgate.errors import StoreError
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import staging_key
from nightgate.rows.records import encode_record
from nightgate.steps.collecting import collect
from nightgate.steps.finishing import finish_run
from nightgate.testing import InMemoryStore
from nightgate.trials import Trial, Usage


class WatchedStore(InMemoryStore):
    """Runs ``meanwhile`` once, just before an object under ``prefix`` is read or put."""

    def __init__(self) -> None:
        super().__init__("watched")
        self.prefix, self.meanwhile = "", None

    def when(self, prefix: str, meanwhile: Callable[[], object]) -> None:
        self.prefix, self.meanwhile = prefix, meanwhile

    def create(self, key: str, data: bytes) -> None:
        self._look(key)
        super().create(key, data)

    def read(self, key: str) -> bytes:
        self._look(key)
        return super().read(key)

    def _look(self, key: str) -> None:
        meanwhile = self.meanwhile
        if meanwhile is not None and key.startswith(self.prefix):
            self.meanwhile = None
            meanwhile()


def a_call(number: int) -> Call:
    """The call of another worker for trial 0 of case ``one``: a token that somebody paid for."""
    moment = datetime(2026, 11, 29, tzinfo=UTC)
    return Call(
        call_id=f"other-{number}",
        run_id="two",
        suite="drill",
        role=Role.AGENT,
        case_id="one",
        trial=0,
        evaluator=None,
        model="scripted:agent",
        attempt=1,
        outcome=Outcome.OK,
        usage=Usage(input=1),
        cost_nanousd=0,
        started_at=moment,
        ended_at=moment,
        play=2,
    )


def stage(store: InMemoryStore, name: str, *records: Trial | Call | CallStart) -> None:
    """What another worker's recorder puts."""
    lines = [encode_record(record) for record in records]
    InMemoryStore.create(store, staging_key("two", name), encode_group(lines))


@pytest.fixture
def played(tmp_path: Path) -> WatchedStore:
    """A run that is played to its end and not committed, as a worker leaves it just before its finish."""
    store = WatchedStore()
    suite = write_suite(tmp_path / "s", [a_case("one"), a_case("two")])

    def die() -> None:
        raise StoreError("the worker is gone")

    store.when("transcripts/", die)
    with pytest.raises(StoreError, match="is gone"):
        play(suite, store, run_id="two")
    return store


def test_one_record_of_a_trial_counts_and_both_calls_are_paid(played: WatchedStore) -> None:
    """The lowest claim epoch wins, however late the other one comes."""
    found = collect(played, "two")
    late = replace(found.trial("one", 0), output="Late by a second.", attempt=2)
    stage(played, "000009-other-000000.jsonl.zst", late, a_call(1))

    summary = finish_run(played, "two").summary.as_dict()

    outputs = {(row["case_id"], row["output"]) for row in rows(played, "trials")}
    assert outputs == {("one", "Gladly. [KB-1]"), ("two", "Gladly. [KB-1]")}
    assert len(rows(played, "scores")) == 2
    assert sorted((row["case_id"], row["play"]) for row in rows(played, "calls")) == [
        ("one", 1),
        ("one", 2),
        ("two", 1),
    ]
    assert summary["tokens"]["agent"]["input"] == 1
    assert not played.find("staging/")


@pytest.mark.parametrize("prefix", ["staging/", "scores/", "manifests/drill"])
def test_a_finisher_that_comes_second_reports_what_was_committed(played: WatchedStore, prefix: str) -> None:
    """Whatever it is doing when the first one commits, and although it knew of another call."""

    def first() -> None:
        stage(played, "000009-other-000000.jsonl.zst", a_call(1))
        finish_run(played, "two")

    # The manifest is read before it is put; what happens at its put is the race.
    played.when(prefix, (lambda: played.when(prefix, first)) if prefix.startswith("manifests/") else first)

    second = finish_run(played, "two")

    assert (second.summary.complete, second.summary.exit_code) == (True, 0)
    assert gate(played, "two").exit_code == 0
    assert len(rows(played, "trials")) == len(rows(played, "scores")) == 2
    assert len(rows(played, "calls")) == 3
