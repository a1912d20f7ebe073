"""The live group: it runs when it is asked for, and then it never skips.

Ask by ``pytest tests/live`` or ``pytest -m live``. Everywhere else its tests are left out: they need
packages that compile for minutes, and take minutes themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from live.servers import Cloud, LanguageModel, cloud, language_model


@pytest.fixture(scope="session")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageModel]:
    """The small model, started by the first test that asks."""
    with language_model(tmp_path_factory.mktemp("gemma")) as running:
        yield running


@pytest.fixture(scope="session")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """The cloud stand-in, started by the first test that asks."""
    with cloud(tmp_path_factory.mktemp("aws")) as running:
        yield running
