"""The command line as a shell runs it, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "cases" / "support"
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
    done = subprocess.run(
        [sys.executable, "-m", "nightgate.cli", *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(env),
        timeout=180,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
