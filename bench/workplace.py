"""Where a benchmark runs: a temporary suite and store, and workers as processes of their own.

Owns the workers' environment. With ``s3`` the store is SeaweedFS on loopback, from ``tests/servers.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workload import Task, write_suite

HERE = Path(__file__).resolve().parent


class Workplace:
    """A suite folder, a store, and the environment of the workers."""

    def __init__(self, task: Task, folder: Path, store: str, environ: Mapping[str, str]) -> None:
        self.task, self._folder, self._store, self._environ = task, folder, store, environ
        self._suite = str(write_suite(folder / "bench", task))
        self._count = 0

    def job(self, **more: Any) -> dict[str, Any]:
        """A job with a store prefix of its own."""
        self._count += 1
        return {
            "task": asdict(self.task),
            "suite": self._suite,
            "store": f"{self._store}/{self._count}",
            "spool": str(self._folder / "spool"),
            **more,
        }

    def run(self, worker: str, job: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """One worker from its start to its report."""
        return self.wait(self.start(worker, job or self.job(**more)))

    def start(self, worker: str, job: Mapping[str, Any]) -> subprocess.Popen[str]:
        """A worker's process."""
        return subprocess.Popen(
            [sys.executable, str(HERE / "run.py"), "--worker", worker, "--job", json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._folder,
            env={**os.environ, **self._environ},
            text=True,
        )

    def wait(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """The report of a worker."""
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"worker {process.args[3]} ended with {process.returncode}")  # type: ignore[index]
        found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        return found


@contextlib.contextmanager
def workplace(task: Task, store: str) -> Iterator[Workplace]:
    """A temporary folder with the suite; with ``s3`` also a server on loopback."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nightgate-bench-")))
        environ = {
            "PREFECT_HOME": str(folder / "prefect"),
            "PYTHONPATH": os.pathsep.join(str(HERE.parent / part) for part in ("bench", "src", ".")),
        }
        uri = str(folder / "store")
        if store == "s3":
            sys.path.insert(0, str(HERE.parent / "tests"))
            from servers import s3_server

            server = stack.enter_context(s3_server(folder / "s3"))
            environ |= server.env
            uri = f"s3://{server.bucket()}/bench"
        yield Workplace(task, folder, uri, environ)
