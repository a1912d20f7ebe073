"""The command line as a shell runs it, for tests."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from warm import Child, Warm

ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "cases" / "support"
_WARM = Warm()
DRILLS = ROOT / "tests" / "drills" / "suites"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as strict JSON."""

        def refuse(constant: str) -> Any:
            raise ValueError(f"{constant} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's environment without settings of ours, with the drills' agents importable."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("NIGHTGATE_")}
    env["PYTHONPATH"] = str(DRILLS)
    return {**env, **(extra or {})}


def nightgate(*args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run one command to its end."""
    return Ran(*_WARM.run([str(arg) for arg in args], cwd, environment(env), timeout_s=180))


def start(
    *args: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    script: Path | None = None,
) -> Child:
    """Start one command, or a script with these arguments, for a test that does something to it meanwhile."""
    return _WARM.start([str(arg) for arg in args], cwd, environment(env), script)


def wait_for_trials(store: Path, run_id: str, count: int) -> None:
    """Until the journal holds so many finished trials."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        text = b"".join(p.read_bytes() for p in (store / "spool" / run_id).glob("*.jsonl"))
        if text.count(b'{"kind":"trial"') >= count:
            return
        time.sleep(0.02)
    pytest.fail(f"no {count} trials within a minute")
