"""The test that deploys needs ministack, of the dependency group ``live``: left out unless asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Ask by ``pytest tests/infra -m live`` or by the file's name."""
    named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    if "live" in config.option.markexpr:
        return
    left_out = [
        item
        for item in items
        if item.path.is_relative_to(_HERE) and item.get_closest_marker("live") and item.path not in named
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
