"""Suites on disk, as small as a test needs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

SUITE = """\
suite: small
agent: my_agents.small:build
model: scripted:good
"""
CASES = """\
cases:
  - id: one
    input: Hello
    expect: {tools: {must_call: [search]}}
"""
GOOD = """\
replies:
  "*":
    - say: hi
"""


@pytest.fixture
def write_suite(tmp_path: Path) -> Callable[..., Path]:
    """Write a suite folder that loads; each given file (path -> text) replaces or adds one."""

    def write(files: dict[str, str | bytes | None] | None = None) -> Path:
        whole = {"suite.yaml": SUITE, "cases.yaml": CASES, "scripts/good.yaml": GOOD, **(files or {})}
        folder = tmp_path / "small"
        for name, text in whole.items():
            if text is None:
                continue
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        return folder

    return write
