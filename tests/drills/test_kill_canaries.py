"""Killed canaries go on: what was judged stays, nothing is judged twice, two never judge at once."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate.canaries import ATTACKS
from shell import nightgate, start
from warm import Child

CASES = 12
CELLS = CASES + 10 * len(ATTACKS)
POLITE = "Criterion:polite"
WINDOW = 2
INVENTED = ("run_id", "sweep_id", "source_run", "date", "scored_at", "latency_ms", "attempt", "git_sha")
"""What may differ between a killed and an unharmed canary run."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve canary cases and a judge that takes its time."""
    folder = tmp_path_factory.mktemp("canny")
    (folder / "scripts").mkdir()
    head = {"suite": "canny", "agent": "nightgate_samples.support:build", "model": "scripted:agent"}
    (folder / "suite.yaml").write_text(json.dumps({**head, "judge": "scripted:judge"}))
    asked = {"judge": [{"id": "polite", "criterion": "Is it friendly?"}]}
    case = {"input": "q", "context": {"customer_id": "C-17"}, "canary": True, "expect": asked}
    cases = [{"id": f"c{n}", **case} for n in range(CASES)]
    (folder / "cases.yaml").write_text(json.dumps({"cases": cases}))
    (folder / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    verdicts: list[dict[str, Any]] = [
        {"sees": "<<answer (?:(?!<<end).)*hello", "fields": {"verdict": "yes", "reason": "It greets."}},
        {"fields": {"verdict": "no", "reason": "It does not greet."}},
    ]
    choices = [verdict | {"delay_s": 0.1, "usage": {"input": 1000}} for verdict in verdicts]
    script = {"price": {"input": 1}, "judgements": {POLITE: {"*": {"first_match": choices}}}}
    (folder / "scripts" / "judge.yaml").write_text(json.dumps(script))
    return folder


def rows(store: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """A run's rows, in a stable order, without what may differ."""
    parts = sorted((store / table).rglob(f"{run_id}/*.parquet"))
    found = [row for part in parts for row in pq.read_table(part).to_pylist()]
    kept = [{key: value for key, value in row.items() if key not in INVENTED} for row in found]
    return sorted(kept, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def started(store: Path) -> Child:
    """The canaries of run n1 in a process of their own."""
    return start("canary", "n1", "--store", store, "--judge-concurrency", str(WINDOW), "--json", "-")


def wait_for_cells(store: Path, count: int) -> None:
    """Until the journal holds so many findings."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        text = b"".join(path.read_bytes() for path in (store / "spool" / "n1-canary").glob("*.jsonl"))
        if text.count(b'{"kind":"cell"') >= count:
            return
        time.sleep(0.02)
    pytest.fail(f"no {count} findings within a minute")


@pytest.fixture(scope="module")
def unharmed(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose canaries nothing happened to."""
    store = tmp_path_factory.mktemp("unharmed")
    assert nightgate("run", suite, "--store", store, "--run-id", "n1").code == 0
    assert nightgate("canary", "n1", "--store", store).code == 0
    return store


@pytest.mark.parametrize("after", [1, 30])
def test_killed_canaries_go_on_to_the_same_rows(
    suite: Path, unharmed: Path, tmp_path: Path, after: int
) -> None:
    """And pay only for what was in flight besides."""
    assert nightgate("run", suite, "--store", tmp_path, "--run-id", "n1").code == 0
    process = started(tmp_path)
    wait_for_cells(tmp_path, after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    again = nightgate("canary", "n1", "--store", tmp_path, "--json", "-")

    assert again.code == 0, again.err
    assert (again.json["complete"], again.json["judged"], again.json["flips"]) == (True, CASES, 0)
    assert rows(tmp_path, "scores", "n1-canary") == rows(unharmed, "scores", "n1-canary")
    calls = rows(tmp_path, "calls", "n1-canary")
    unheard = [call for call in calls if call["outcome"] == "unknown"]
    assert len(calls) - len(unheard) == CELLS
    assert len(unheard) <= WINDOW


def test_two_processes_never_judge_at_once(suite: Path, tmp_path: Path) -> None:
    """The second is told who has them; the first goes on undisturbed."""
    assert nightgate("run", suite, "--store", tmp_path, "--run-id", "n1").code == 0
    first = started(tmp_path)
    wait_for_cells(tmp_path, 1)

    second = nightgate("canary", "n1", "--store", tmp_path)
    out, _ = first.communicate(timeout=120)

    assert second.code == 2
    assert "still being worked on by another process" in second.err
    assert (first.returncode, json.loads(out)["judged"]) == (0, CASES)
    assert len(rows(tmp_path, "calls", "n1-canary")) == CELLS


def test_ctrl_c_leaves_canaries_that_say_so(suite: Path, tmp_path: Path) -> None:
    """Exit 130, and what is missing is no calm."""
    assert nightgate("run", suite, "--store", tmp_path, "--run-id", "n1").code == 0
    process = started(tmp_path)
    wait_for_cells(tmp_path, 5)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    found = json.loads(out)
    assert (process.returncode, found["complete"], found["stopped"]) == (130, False, "cancelled")
    assert found["judged"] + found["unjudged"] == CASES
    assert "they were interrupted" in found["text"]
