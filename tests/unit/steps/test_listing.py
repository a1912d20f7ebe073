"""Runs as they are listed: open until the manifest exists."""

from __future__ import annotations

from nightgate.rows.keys import summary_key
from nightgate.steps.listing import runs_of
from nightgate.testing import InMemoryStore
from nights import SUITE, commit, put_night


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
