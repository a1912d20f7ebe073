"""A fleet at work, for drills and the benchmark: its workers, its parents, and what became of a run.

Owns starting parents and workers as processes, telling how far a run is, and what the store and Prefect's
server say of it. Knows the servers only by their environment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow import BufferReader

from fleetservers import FleetServers, below, bound, kill_tree
from nightgate import wiring
from nightgate.requests import RunRequest
from nightgate.steps.claims import Stage, claims_of
from servers import environment

ROOT = Path(__file__).resolve().parents[1]
FLOWS = ROOT / "tests" / "fleetflows.py"
POOL = "nightgate"
INVENTED = frozenset(
    {"run_id", "started_at", "ended_at", "scored_at", "latency_ms", "wait_ms", "attempt", "transcript"}
)
"""Columns that differ between two plays of the same."""
_TRIAL = b'{"kind":"trial"'
_TOLD = re.compile(r"(?P<owner>\S+): (?P<shards>\d+) shards, (?P<trials>\d+) trials, (?P<taken>\d+) taken")


@dataclass
class Fleet:
    """Workers and parents over the servers.

    Attributes:
        servers: What they stand on.
        folder: For logs and journals.
        modules: Where the suite's agent is found.
        settings: Of every process, besides.
    """

    servers: FleetServers
    folder: Path
    modules: Path
    settings: dict[str, str] = field(default_factory=dict)
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    parents: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """Of every process."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NIGHTGATE_")}
        return {
            **kept,
            **self.servers.env,
            "PYTHONPATH": os.pathsep.join((str(self.modules), str(ROOT))),
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_LOGGING_LEVEL": "INFO",  # else logs do not tell who plays what
            **self.settings,
        }

    def deploy(self) -> None:
        """The work pool and the workers' deployment."""
        subprocess.run([sys.executable, FLOWS, "deploy", POOL], check=True, env=self.env)

    def command(self, *words: str | Path) -> str:
        """A command that must pass; what it says on stdout."""
        done = subprocess.run(
            [sys.executable, "-m", "nightgate.cli", *map(str, words)],
            check=False,
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def work(self, name: str, pool: str = POOL) -> None:
        """Start a worker's process; it takes one flow run at a time."""
        command = ["-m", "nightgate.cli", "worker", "--pool", pool, "--name", name, "--limit", "1"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.workers[name] = subprocess.Popen(
                [*bound(), sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                cwd=self.folder,
            )

    def kill(self, name: str) -> None:
        """A worker and what it plays, without a chance to say anything."""
        kill_tree(self.workers.pop(name).pid)

    def kill_played(self, name: str) -> bool:
        """What a worker plays, and not the worker; False where it plays nothing."""
        played = below(self.workers[name].pid)
        if played:
            kill_tree(played[0])
        return bool(played)

    def worker_of(self, flow_run: str) -> str:
        """Which worker plays a flow run, as its processes' environment tells."""
        return next(
            name
            for name, worker in self.workers.items()
            if any(flow_run.encode() in _environ(pid) for pid in below(worker.pid))
        )

    def request(self, suite: Path, run_id: str, store: str, **values: Any) -> RunRequest:
        """What is asked for of a run."""
        spool = str(self.folder / "spool" / run_id)
        return RunRequest.make(suite, {"store": store, "run_id": run_id, "spool": spool, **values}, {})

    def start(self, request: RunRequest) -> Run:
        """A parent's process; its name in Prefect is the run's id."""
        assert request.run_id is not None
        log = (self.folder / f"{request.run_id}.log").open("ab")
        with log:
            parent = subprocess.Popen(
                [
                    *bound(),
                    sys.executable,
                    FLOWS,
                    "evaluate",
                    request.run_id,
                    json.dumps(request.parameters()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self.env,
                cwd=self.folder,
                text=True,
            )
        self.parents.append(parent)
        return Run(self, request, parent)

    def close(self) -> None:
        """End what still lives."""
        running: list[subprocess.Popen[Any]] = [*self.workers.values(), *self.parents]
        for process in running:
            if process.poll() is None:
                kill_tree(process.pid)
                process.wait()


@dataclass
class Run:
    """One run of a fleet."""

    fleet: Fleet
    request: RunRequest
    parent: subprocess.Popen[str]

    @property
    def run_id(self) -> str:
        """Its id."""
        assert self.request.run_id is not None
        return self.request.run_id

    def wait_for(self, trials: int) -> None:
        """Until the journals hold so many finished trials; no worker may have gone before."""
        folder = self.request.spool_folder / self.run_id

        def count() -> bool:
            text = b"".join(_bytes(path) for path in folder.glob("*.jsonl"))
            return text.count(_TRIAL) >= trials

        until(count, 120, f"{trials} trials of {self.run_id}")

    def played_by(self, owner: str) -> str:
        """The worker that plays for an owner of claims."""
        runs = ask(self.fleet.servers.url, "flow_runs/filter", {"flows": {"name": {"any_": ["drain"]}}})
        (played,) = (run["id"] for run in runs if run["parameters"].get("owner") == owner)
        return self.fleet.worker_of(played)

    def busiest(self) -> str:
        """Who holds most of its shards now."""
        with environment(**self.fleet.servers.s3.env):
            claims = claims_of(wiring.open_store(self.request.store), self.run_id)
        return Counter(claim.owner for claim in claims if claim.stage is Stage.HELD).most_common(1)[0][0]

    def kill_parent(self) -> None:
        """SIGKILL."""
        kill_tree(self.parent.pid)
        self.parent.wait()

    def end(self, timeout_s: float = 300) -> dict[str, Any]:
        """What the parent says at its end, and the run's summary beside it."""
        said, _ = self.parent.communicate(timeout=timeout_s)
        log = (self.fleet.folder / f"{self.run_id}.log").read_text(errors="replace")
        assert said, f"the parent said nothing: {log[-3000:]}"
        return {**json.loads(said), "summary": self.summary()}

    def summary(self) -> dict[str, Any]:
        """As it lies in the store."""
        with environment(**self.fleet.servers.s3.env):
            store = wiring.open_store(self.request.store)
            found: dict[str, Any] = json.loads(store.read(f"runs/{self.run_id}/summary.json"))
        return found

    def rows(self, table: str) -> Counter[str]:
        """Its rows of a table, without what may differ between two plays of the same."""
        with environment(**self.fleet.servers.s3.env):
            return rows(self.request.store, table, self.run_id)

    def ledger(self) -> list[dict[str, Any]]:
        """Its calls, as they are stored."""
        with environment(**self.fleet.servers.s3.env):
            return _stored(self.request.store, "calls", self.run_id)

    def parts(self) -> dict[str, Told]:
        """What the server says of its workers, by their owners' names; those that died said nothing."""
        runs = ask(self.fleet.servers.url, "flow_runs/filter", {"flows": {"name": {"any_": ["drain"]}}})
        found = {}
        for run in runs:
            parameters = run["parameters"]
            if parameters.get("run_id") == self.run_id:
                told = _TOLD.match((run["state"] or {}).get("message") or "")
                counts = (0, 0, 0) if told is None else (int(told[2]), int(told[3]), int(told[4]))
                found[parameters["owner"]] = Told(run["state_type"], *counts)
        return found

    def task_runs(self, at_least: int = 8) -> int:
        """How many the server has recorded; it does so a little later, hence waits for some."""
        name = {"flow_runs": {"name": {"like_": self.run_id}}}
        counts = [0]

        def count() -> bool:
            counts.append(int(ask(self.fleet.servers.url, "task_runs/count", name)))
            return counts[-1] >= at_least and counts[-1] == counts[-2]

        until(count, 30, f"{at_least} task runs of {self.run_id}", pause_s=1.5)
        return counts[-1]


@dataclass(frozen=True, slots=True)
class Told:
    """What Prefect's server says of one worker's part."""

    state: str
    shards: int
    trials: int
    taken_over: int


def rows(store: str, table: str, run_id: str) -> Counter[str]:
    """A run's rows, without what may differ between two plays of the same."""
    found: Counter[str] = Counter()
    for row in _stored(store, table, run_id):
        kept = {k: v for k, v in row.items() if k not in INVENTED and not k.startswith(("tokens", "cost"))}
        found[json.dumps(kept, default=str, sort_keys=True)] += 1
    return found


def _stored(store: str, table: str, run_id: str) -> list[dict[str, Any]]:
    opened = wiring.open_store(store)
    keys = (key for key in opened.find(f"{table}/") if f"/{run_id}/" in key and key.endswith(".parquet"))
    return [row for key in keys for row in pq.read_table(BufferReader(opened.read(key))).to_pylist()]


def ask(url: str, what: str, body: Any = None) -> Any:
    """One question to Prefect's API: a POST where there is a body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/{what}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def _environ(pid: int) -> bytes:
    return _bytes(Path(f"/proc/{pid}/environ"))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # all of it is in the store by now, or the process is gone
        return b""


def until(true: Callable[[], bool], timeout_s: float, what: str, pause_s: float = 0.05) -> None:
    """Wait for something, and say what was missing where it did not come in time.

    Raises:
        TimeoutError: If it does not come true in time.
    """
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            msg = f"no {what} within {timeout_s:.0f} s"
            raise TimeoutError(msg)
        time.sleep(pause_s)
