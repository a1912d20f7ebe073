"""Workers of a fleet on one run, each a process on this machine, for drills: their parent is the test.

Owns planning the run, starting and killing its workers, and committing it. Knows no suite.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nightgate.requests import RunRequest
from nightgate.wiring.fleets import finish_fleet, plan_fleet
from servers import environment as with_environment
from shell import start
from warm import Child

DRAINER = Path(__file__).resolve().with_name("drainer.py")
LONGEST_S = 300.0
"""Of a worker: a test of one that hangs must end all the same."""


class Crew:
    """Workers on one run; they share a machine's spool unless they are ``apart``.

    Args:
        suite: Its folder.
        store: A folder.
        run_id: Planned here, or taken up.
        env: Of the workers, beside the usual.
        patience_s: After which the others take over from one that is silent.
        options: Of the request.
    """

    def __init__(
        self,
        suite: Path,
        store: Path,
        run_id: str,
        *,
        env: Mapping[str, str] | None = None,
        patience_s: float = 2.0,
        **options: Any,
    ) -> None:
        self.store, self.run_id, self.env = store, run_id, dict(env or {})
        self.patience_s = patience_s
        self.apart = False
        asked = {"store": str(store), "run_id": run_id, "drainers": 3, "spool": str(store / "parent")}
        self.request = RunRequest.make(suite, {**asked, **options}, {})
        self.workers: dict[str, Child] = {}
        self.count = 0
        self.take_up()

    def take_up(self) -> None:
        """Plan the run, or go on with it, as a parent does that is started with its run id."""
        with with_environment(**self.env):
            self.planned = asyncio.run(plan_fleet(self.request))

    def start(self, script: Path = DRAINER, env: Mapping[str, str] | None = None) -> str:
        """One worker more; its name.

        Args:
            script: What it runs, with the arguments of ``DRAINER``.
            env: Of this one alone.
        """
        self.count += 1
        owner = f"w{self.count}"
        asked = self.planned["request"] | {"spool": str(self.store / (owner if self.apart else "spool"))}
        words = (json.dumps(asked), self.run_id, owner, str(self.patience_s))
        self.workers[owner] = start(*words, script=script, env={**self.env, **(env or {})})
        return owner

    def kill(self, owner: str, how: int = signal.SIGKILL) -> None:
        """Without a chance to say anything."""
        os.kill(self.workers[owner].pid, how)

    def wait(self, *owners: str) -> dict[str, dict[str, Any]]:
        """What the workers say that they did."""
        found = {}
        for owner in owners:
            said, _ = self.workers[owner].communicate(timeout=LONGEST_S)
            found[owner] = json.loads(said)
        return found

    def wait_for(self, trials: int) -> None:
        """Until all journals hold so many trials, those that were staged and gone included."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            text = b"".join(path.read_bytes() for path in self.store.glob("*/*/*.jsonl"))
            if text.count(b'{"kind":"trial"') >= trials:
                return
            time.sleep(0.02)
        pytest.fail(f"no {trials} trials within a minute")

    def finish(self) -> dict[str, Any]:
        """Commit what is complete; the summary."""
        return asyncio.run(finish_fleet(self.request, self.run_id)).summary.as_dict()

    def close(self) -> None:
        """End what still lives."""
        for process in self.workers.values():
            process.forget()
