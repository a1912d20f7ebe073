"""The state of the change watchers: shared by swap, and refused when it is not what it should be."""

from __future__ import annotations

import json

import pytest

from nightgate.errors import DamagedError
from nightgate.rows.keys import watch_key
from nightgate.steps import watchdocs
from nightgate.testing import InMemoryStore


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": 1, "suite": "demo"}',
        b'{"schema": 1, "suite": "demo", "lines": {"suite": {"settled": 7}}}',
        b'{"schema": 1, "suite": "another", "lines": {}}',
    ],
)
def test_a_damaged_state_is_refused_with_the_way_out(data: bytes) -> None:
    """Begun anew by itself it would start every change once more, on somebody's bill."""
    store = InMemoryStore()
    store.replace(watch_key("demo"), data)

    with pytest.raises(DamagedError, match=r"watch/demo\.json: no state of the change watchers .* remove it"):
        watchdocs.change(store, "demo", "suite", lambda _: None)

    assert store.read(watch_key("demo")) == data


def test_a_newer_state_is_left_as_it_is() -> None:
    """Two versions of nightgate may watch one store while the new one is rolled out."""
    store = InMemoryStore()
    store.replace(watch_key("demo"), json.dumps({"schema": 2, "anything": True}).encode())

    with pytest.raises(DamagedError, match="newer nightgate"):
        watchdocs.change(store, "demo", "suite", lambda _: None)


def test_lines_of_one_suite_do_not_touch_each_other() -> None:
    """The suite's own models and its live ones are two things under test."""
    store = InMemoryStore()
    for name in ("suite", "live"):
        watchdocs.change(store, "demo", name, lambda line, name=name: line["unread"].update(part=name))

    assert watchdocs.line_of(store, "demo", "suite")["unread"] == {"part": "suite"}
    assert watchdocs.line_of(store, "demo", "live")["unread"] == {"part": "live"}


def test_a_step_that_changes_nothing_writes_nothing_new() -> None:
    """A look every minute must not fill a versioned bucket."""
    store = InMemoryStore()
    watchdocs.change(store, "demo", "suite", lambda line: line["unread"].update(part="x"))
    before = store.read(watch_key("demo"))
    swaps: list[str] = []
    store.swap = lambda key, *_: swaps.append(key)  # type: ignore[method-assign]

    watchdocs.change(store, "demo", "suite", lambda _: None)

    assert swaps == []
    assert store.read(watch_key("demo")) == before
