"""The live group: it runs when it is asked for, and then it never skips.

Ask by ``pytest tests/live`` or ``pytest -m live``. Everywhere else its tests are left out: they need
packages that compile for minutes, and take minutes themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from live.servers import Cloud, LanguageModel, cloud, language_model

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the live tests out unless they were asked for."""
    named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    if "live" in config.option.markexpr or any(path.is_relative_to(_HERE) for path in named):
        return
    left_out = [item for item in items if item.get_closest_marker("live")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


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
