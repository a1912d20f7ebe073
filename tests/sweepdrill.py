"""A stored run to sweep, sweeps that are killed at what the provider sees, and what they leave behind.

Owns the suite of the sweep drills, the killer, and the columns in which two sweeps may differ. Kills are
reached by events of the stand-ins, never by waiting.
"""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from shell import Ran, nightgate, start
from warm import Child

CRITERIA = {"Criterion:polite": "Is it polite?", "Criterion:short": "Is it short?"}
"""Evaluator -> what its judge is asked."""
PRICES = """
version: test
prices:
  - models: ["openai:gpt-judge*", "bedrock:acme.judge*"]
    input: 2
    output: 10
    batch: {factor: 0.5, as_of: 2026-11-29, source: test}
    as_of: 2026-11-29
    source: test
"""
MAY_DIFFER = frozenset({"run_id", "sweep_id", "scored_at", "latency_ms", "attempt", "cost_nanousd", "date"})
"""Ids, times, attempts and cost."""


class LostRequestError(ConnectionError):
    """The provider never got it."""


def write_base(folder: Path, cases: int) -> Path:
    """A committed run ``base`` with one trial a case, its suite and a price table."""
    suite = folder / "sweepy"
    (suite / "scripts").mkdir(parents=True)
    settings = {
        "suite": "sweepy",
        "owner": "us",
        "agent": "drill_agent:build",
        "model": "scripted:agent",
        "judge": "scripted:agent",
    }
    asked = [{"id": name.partition(":")[2], "criterion": text} for name, text in CRITERIA.items()]
    listed = [{"id": f"c{n}", "input": f"question {n}.", "expect": {"judge": asked}} for n in range(cases)]
    script = {
        "replies": {"*": [{"say": "Hello."}]},
        "judgements": {name: {"*": {"fields": "best"}} for name in CRITERIA},
    }
    (suite / "suite.yaml").write_text(json.dumps(settings))
    (suite / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in listed))
    (suite / "scripts" / "agent.yaml").write_text(json.dumps(script))
    (folder / "prices.yaml").write_text(PRICES)
    done = nightgate("run", suite, "--store", folder / "store", "--run-id", "base", "--no-alerts")
    assert done.code == 0, done.err
    return folder


@dataclass(kw_only=True)
class Bench:
    """A store of its own with the base run in it, and the sweeps over it.

    Attributes:
        base: Of ``write_base``.
        store: A copy of its store: a sweep must not find what another one has paid for.
        judges: Their specs.
        env: Settings.
        flags: Of every sweep.
    """

    base: Path
    store: Path
    judges: Sequence[str]
    env: Mapping[str, str]
    flags: Sequence[str] = ()

    def __post_init__(self) -> None:
        shutil.copytree(self.base / "store", self.store)

    @property
    def places(self) -> list[str]:
        """Flags that every command takes."""
        suite, prices = self.base / "sweepy", self.base / "prices.yaml"
        return ["--store", str(self.store), "--suite", str(suite), "--prices", str(prices), "--json", "-"]

    def start(self, run_id: str, *more: str) -> list[str]:
        """Arguments of a new sweep."""
        judges = [flag for judge in self.judges for flag in ("--judge", judge)]
        names = [flag for name in CRITERIA for flag in ("--evaluator", name)]
        return ["sweep", "base", *self.places, *judges, *names, "--run-id", run_id, *self.flags, *more]

    def resume(self, run_id: str, *more: str) -> list[str]:
        """Arguments of a sweep that is gone on with."""
        kept = [flag for flag in self.flags if flag != "--batch"]  # known from its plan
        repeat = kept.index("--repeat") if "--repeat" in kept else None
        if repeat is not None:
            del kept[repeat : repeat + 2]
        return ["sweep", "--resume", run_id, *self.places, *kept, *more]

    def ran(self, arguments: Sequence[str]) -> Ran:
        """A command to its end, which has to be a good one."""
        done = nightgate(*arguments, env=self.env)
        assert done.code == 0, done.err
        assert done.json["complete"]
        return done

    def rows(self, table: str, run_id: str) -> list[dict[str, Any]]:
        """Stored rows of a sweep, as any reader of Parquet sees them, in order of their cells."""
        paths = sorted(self.store.glob(f"{table}/*/*/{run_id}/*.parquet"))
        found = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
        return sorted(found, key=_place)

    def findings(self, run_id: str) -> list[dict[str, Any]]:
        """Scores, all columns but those that may differ."""
        return [
            {name: value for name, value in row.items() if name not in MAY_DIFFER}
            for row in self.rows("scores", run_id)
        ]


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(str(row.get(name)) for name in ("case_id", "trial", "evaluator", "judge_model", "repeat"))


@dataclass
class Killer:
    """Kills a process with signal 9 when its provider is about to do something for the nth time.

    Attributes:
        moment: What the stand-in says.
        nth: Which time.
        lost: Whether the provider never gets that request.
        after: Counted only once this was said.
    """

    moment: str
    nth: int = 1
    lost: bool = False
    after: str | None = None
    seen: Counter[str] = field(default_factory=Counter)
    process: Child | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, moment: str) -> None:
        """The stand-in's event."""
        with self.lock:
            if self.after is not None and not self.seen[self.after] and moment != self.after:
                return
            self.seen[moment] += 1
            now = moment == self.moment and self.seen[moment] == self.nth
        if now and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            if self.lost:
                raise LostRequestError

    def kill(self, provider: Any, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        """Run a command that is killed on its way."""
        with self.lock:
            self.process = start(*arguments, env=env)
            provider.on = self
        _, said = self.process.communicate(timeout=120)
        provider.on = lambda _: None
        assert self.process.returncode == -signal.SIGKILL, said
