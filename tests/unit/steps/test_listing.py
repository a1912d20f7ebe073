"""Runs as they are listed: open until the manifest exists, and at a price that pages do not raise."""

from __future__ import annotations

import pytest

from nightgate.errors import MissingError
from nightgate.rows.keys import report_key, selection_key, summary_key
from nightgate.steps.listing import latest, runs_of
from nightgate.testing import InMemoryStore
from nights import SUITE, commit, put_night


class Counting(InMemoryStore):
    """Takes note of what is asked of it, and of every name and document that it answers with."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.names: list[str] = []
        self.read_keys: list[str] = []

    def find(self, prefix: str) -> list[str]:
        """Count the keys."""
        found = super().find(prefix)
        self._count(found)
        return found

    def children(self, prefix: str) -> list[str]:
        """Count the names: the double builds them from keys, a server does not."""
        before = self.calls, list(self.names)
        found = super().children(prefix)
        self.calls, self.names = before
        self._count(found)
        return found

    def read(self, key: str) -> bytes:
        """Count the document."""
        self.calls += 1
        self.read_keys.append(key)
        return super().read(key)

    def _count(self, found: list[str]) -> None:
        self.calls += 1
        self.names += found


def stored(nights: int, pages: int = 0) -> Counting:
    """Committed nights with so many pages each, and a count that starts now."""
    store = Counting()
    for number in range(1, nights + 1):
        run_id = put_night(store, number)
        commit(store, number)
        for page in range(pages):
            store.replace(report_key(run_id, f"case-{page}.html"), b"")
    store.calls, store.names, store.read_keys = 0, [], []
    return store


def test_a_run_that_died_between_its_commit_and_its_summary_is_complete() -> None:
    """The manifest is what makes a run one; it has the verdict, too."""
    store = InMemoryStore()
    run_id = put_night(store, 1)
    commit(store, 1, facts={"verdict": "fail"})
    store.delete([summary_key(run_id)])

    (entry,) = runs_of(store, SUITE)

    assert (entry["complete"], entry["verdict"], entry["total_usd"]) == (True, "fail", None)


def test_a_run_without_a_manifest_is_open_whatever_its_summary_says() -> None:
    """Its process died before the commit."""
    store = InMemoryStore()
    put_night(store, 1)

    assert [entry["complete"] for entry in runs_of(store, SUITE)] == [False]


def test_runs_come_newest_first_and_a_plan_without_a_summary_is_one() -> None:
    """It was planned, and nothing was played yet."""
    store = stored(3)
    store.delete([summary_key("night-2")])

    found = runs_of(store, SUITE)

    assert [entry["run_id"] for entry in found] == ["night-3", "night-2", "night-1"]
    assert runs_of(store, None) == found
    assert runs_of(store, "other") == []


def test_what_lies_under_runs_and_has_no_plan_is_no_run() -> None:
    """A sweep over several runs, a foreign file, a name that is no id of ours."""
    store = stored(1)
    store.replace(selection_key("sweep-1"), b"{}")
    store.replace("runs/notes.txt", b"")
    store.replace("runs/Night_9/plan.json", b"{}")

    assert [entry["run_id"] for entry in runs_of(store, None)] == ["night-1"]


def test_pages_cost_a_list_of_runs_nothing() -> None:
    """Every run writes one page a case: the requests and the names that come back stay the same."""
    bare, full = stored(3), stored(3, pages=50)

    assert runs_of(full, SUITE) == runs_of(bare, SUITE)

    assert (full.calls, sorted(full.names)) == (bare.calls, sorted(bare.names))
    assert len(full.names) == 6  # three runs, three manifests


def test_the_latest_run_is_told_by_plans_alone() -> None:
    """It is asked for by almost every command."""
    store = stored(3, pages=5)

    assert latest(store, SUITE) == "night-3"
    assert sorted(store.read_keys) == [f"runs/night-{number}/plan.json" for number in (1, 2, 3)]
    with pytest.raises(MissingError, match="nightgate run SUITE"):
        latest(store, "other")


def test_only_the_summaries_that_are_told_of_are_read() -> None:
    """Twenty of a year's nights are listed by default."""
    store = stored(4)

    assert [entry["run_id"] for entry in runs_of(store, SUITE, newest=2)] == ["night-4", "night-3"]
    assert sorted(key for key in store.read_keys if key.endswith("summary.json")) == [
        "runs/night-3/summary.json",
        "runs/night-4/summary.json",
    ]
