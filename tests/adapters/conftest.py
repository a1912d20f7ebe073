"""What several contract tests of the adapters ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.adapters.store import open_store
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.ports import Store


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.server)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each kind."""
    if request.param == "memory":
        return InMemoryStore()
    if request.param == "folder":
        return open_store(str(tmp_path / "store"))
    return open_store(request.getfixturevalue("s3_uri"))
