"""No command lets a text of an agent, a judge or a case file act on the terminal that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hostile import put_hostile_run
from nightgate.adapters.store import open_store
from shell import nightgate

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and direction overrides."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run in which every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    put_hostile_run(open_store(folder))
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("gate", "demo-1"),
        ("publish", "demo-1"),
        ("runs", "demo"),
        ("history", "demo", "--all"),
        ("flaky", "demo", "--all"),
        ("compare", "demo-1", "demo-1"),
        ("promote", "demo-1"),
        ("canary", "demo-1"),
        ("label", "demo-1"),
        ("trace-to-case", "demo-1"),
        ("simulator", "validate", "demo"),
        ("plan", "demo"),
    ],
    ids=" ".join,
)
def test_nothing_that_a_command_prints_moves_a_cursor(store: Path, command: tuple[str, ...]) -> None:
    """Whatever it answers, and its complaints too."""
    ran = nightgate(*command, "--store", store)

    assert ran.out + ran.err
    assert ACTING.findall(ran.out + ran.err) == [], (ran.code, ran.out[:3000], ran.err[:3000])
