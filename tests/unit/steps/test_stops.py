"""The word from a parent to its workers."""

from __future__ import annotations

import pytest

from nightgate.errors import DamagedError
from nightgate.rows.keys import stop_key
from nightgate.steps.stops import is_stopped, let_workers_go_on, stop_workers
from nightgate.testing import InMemoryStore

RUN = "support-1"


def test_workers_of_a_run_go_on_unless_they_are_told() -> None:
    """Most runs end by themselves, and leave no word."""
    store = InMemoryStore()
    let_workers_go_on(store, RUN)
    assert not is_stopped(store, RUN)
    assert store.find("runs/") == []


def test_workers_that_were_stopped_stay_so_until_the_run_is_taken_up() -> None:
    """One that starts late must hear it too."""
    store = InMemoryStore()
    stop_workers(store, RUN)
    first = is_stopped(store, RUN)
    let_workers_go_on(store, RUN)
    assert (first, is_stopped(store, RUN)) == (True, False)


def test_another_runs_word_is_not_for_these_workers() -> None:
    """Two runs share a store every night."""
    store = InMemoryStore()
    stop_workers(store, "support-2")
    assert not is_stopped(store, RUN)


def test_a_word_that_is_none_is_refused_by_name() -> None:
    """It is not taken for either."""
    store = InMemoryStore()
    store.replace(stop_key(RUN), b'{"schema": 1, "word": "perhaps"}')
    with pytest.raises(DamagedError, match=r"stop\.json"):
        is_stopped(store, RUN)
