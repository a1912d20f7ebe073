"""Kill it at any moment: what was finished stays, what is resumed equals a run that nothing happened to."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from shell import DRILLS, nightgate, start, wait_for_trials
from warm import Child

SUITE = DRILLS / "slow"
TRIALS = 20
INVENTED = frozenset(
    {
        "run_id",
        "started_at",
        "ended_at",
        "scored_at",
        "latency_ms",
        "wait_ms",
        "attempt",
        "transcript",
        "git_sha",
    }
)
"""What may differ between a killed and an unharmed run."""


def rows(store: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """A run's rows, without what may differ, in a stable order."""
    parts = sorted((store / table).rglob(f"{run_id}/*.parquet"))
    found = [row for part in parts for row in pq.read_table(part).to_pylist()]
    kept = [
        {k: v for k, v in row.items() if k not in INVENTED and not k.startswith(("tokens", "cost"))}
        for row in found
    ]
    return sorted(kept, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def started(store: Path, run_id: str, *flags: str) -> Child:
    """A run in a process of its own, two trials at a time."""
    return start("run", SUITE, "--store", store, "--run-id", run_id, "--concurrency", "2", *flags)


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run that nothing happened to."""
    store = tmp_path_factory.mktemp("unharmed")
    assert nightgate("run", SUITE, "--store", store, "--run-id", "whole").code == 0
    return store


@pytest.mark.parametrize("after", [1, 7, 15])
def test_a_killed_run_resumes_to_the_same_rows(tmp_path: Path, unharmed: Path, after: int) -> None:
    """SIGKILL gives no chance to clean up; the journal must have it all."""
    process = started(tmp_path, "killed")
    wait_for_trials(tmp_path, "killed", after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    open_gate = nightgate("gate", "killed", "--store", tmp_path)

    resumed = nightgate("run", SUITE, "--store", tmp_path, "--resume", "killed", "--json", "-")

    assert open_gate.code == 3
    assert resumed.code == 0, resumed.err
    for table in ("scores", "trials"):
        assert rows(tmp_path, table, "killed") == rows(unharmed, table, "whole")


def test_a_kill_repeats_only_what_was_in_flight(tmp_path: Path) -> None:
    """Two agents at a time: at most two agent calls and some judge calls are paid twice."""
    process = started(tmp_path, "killed")
    wait_for_trials(tmp_path, "killed", 8)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    resumed = nightgate("run", SUITE, "--store", tmp_path, "--resume", "killed", "--json", "-")

    calls = [
        row for part in (tmp_path / "calls").rglob("*.parquet") for row in pq.read_table(part).to_pylist()
    ]
    agent = [call for call in calls if call["role"] == "agent"]
    unheard = [call for call in agent if call["outcome"] == "unknown"]
    assert 2 * TRIALS <= len(agent) <= 2 * TRIALS + 4
    assert len(unheard) <= 2
    assert resumed.json["cost_usd"]["at_least"]["agent"] >= TRIALS * 360e-6 - 1e-12


def test_ctrl_c_leaves_a_readable_marked_run(tmp_path: Path) -> None:
    """Exit 130, a partial summary that says so, and nothing that could be taken for whole."""
    process = started(tmp_path, "stopped", "--json", "-")
    wait_for_trials(tmp_path, "stopped", 6)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    summary = json.loads(out)
    assert process.returncode == 130
    assert (summary["complete"], summary["stopped"], summary["exit_code"]) == (False, "cancelled", 130)
    assert 6 <= summary["trials"]["completed"] < TRIALS
    trials = summary["trials"]
    assert trials["completed"] + trials["cancelled"] + trials["not_run"] == TRIALS
    assert trials["cancelled"] <= 2
    assert not list((tmp_path / "manifests").rglob("*.json"))
    assert nightgate("gate", "stopped", "--store", tmp_path).code == 3


def test_resume_refuses_another_configuration(tmp_path: Path) -> None:
    """Half a run with one prompt and half with another is no run."""
    process = started(tmp_path, "mixed")
    wait_for_trials(tmp_path, "mixed", 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    refused = nightgate("run", SUITE, "--store", tmp_path, "--resume", "mixed", "--model", "scripted:judge")

    assert refused.code == 2
    assert "the agent changed (model)" in refused.err


def test_a_complete_run_has_nothing_to_resume(unharmed: Path) -> None:
    """A committed run never changes: the command says so in a line and answers as `gate` does."""
    before = {path: path.read_bytes() for path in unharmed.rglob("*") if path.is_file()}

    again = nightgate("run", SUITE, "--store", unharmed, "--resume", "whole")

    assert again.code == nightgate("gate", "whole", "--store", unharmed).code == 0
    assert again.out == (
        "run whole is complete, and so is all that follows its gate: nothing to resume (pass)\n"
    )
    assert {path: path.read_bytes() for path in unharmed.rglob("*") if path.is_file()} == before
