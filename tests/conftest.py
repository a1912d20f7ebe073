"""Fixtures that need more than a test file: real servers, and the environment that finds them."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Nothing in these tests is timed: the machine may be busy.
settings.register_profile("nightgate", deadline=None)
settings.load_profile("nightgate")

# In CI the tests' own runs are not the step's: they would fill its summary.
os.environ.pop("GITHUB_STEP_SUMMARY", None)

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    # Test folders are no packages; shared helpers (``servers``) are plain modules beside this file.
    sys.path.insert(0, _HERE)

from servers import S3Server, s3_server  # noqa: E402 - needs the path above

_GROUPS = ("live", "fleet", "long")
"""Tests that take minutes, or packages that compile for minutes: they run when they are asked for."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a group out unless it is asked for: by ``-m live``, by the file, or by ``tests/live``."""
    named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    files = {path for path in named if path.is_file()}
    folders = [path for path in named if path.is_dir() and path.name in _GROUPS]
    away = [name for name in _GROUPS if name not in config.option.markexpr]

    def asked(item: pytest.Item) -> bool:
        inside = any(item.path.is_relative_to(folder) for folder in folders)
        return inside or item.path in files or not any(map(item.get_closest_marker, away))

    left_out = [item for item in items if not asked(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if asked(item)]


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the collector need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Leave the heap as it is around a run in this process.

    A run begins and ends with a walk over all that its process holds, here pytest and every library of every
    test before it: a quarter of a second for a run of milliseconds. Runs in processes of their own do it.
    """
    rooms = sys.modules.get("nightgate.wiring.rooms")
    if rooms is not None:
        rooms.settled_heap = contextlib.nullcontext  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def s3_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One S3 server for the whole session, started by the first test that asks."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_process: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The S3 server, found through the usual AWS variables for the length of one test."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    for name, value in s3_process.env.items():
        monkeypatch.setenv(name, value)
    return s3_process


@pytest.fixture
def s3_uri(s3: S3Server) -> str:
    """``s3://bucket/prefix`` of an empty bucket."""
    return f"s3://{s3.bucket()}/evals/nightly"
