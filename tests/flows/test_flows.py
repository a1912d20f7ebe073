"""The Prefect flow on a real embedded server: the same rows, and a state that follows the gate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate import wiring
from nightgate.requests import RunRequest
from shell import SUPPORT, nightgate

INVENTED = frozenset({"run_id", "scored_at", "latency_ms"})


@pytest.fixture(scope="module")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One temporary Prefect server for the flows of this file."""
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


def score_rows(store: Path) -> list[dict[str, Any]]:
    """All score rows of a store with one run, without ids and times."""
    rows = [
        row
        for part in sorted((store / "scores").rglob("*.parquet"))
        for row in pq.read_table(part).to_pylist()
    ]
    return [{k: v for k, v in row.items() if k not in INVENTED} for row in rows]


def request(store: Path, **values: Any) -> dict[str, Any]:
    """Flow parameters of one support run."""
    return wiring.named(RunRequest.make(SUPPORT, {"store": str(store), **values}).parameters())


def evaluate(parameters: dict[str, Any]) -> Any:
    """Run the flow to its state."""
    from flows.evaluate import evaluate as flow

    async def drive() -> Any:
        return await flow("support", parameters, return_state=True)

    return asyncio.run(drive())


def test_flow_and_plain_run_leave_equal_rows(tmp_path: Path, prefect_server: None) -> None:
    """Prefect orchestrates; it must not change a figure."""
    state = evaluate(request(tmp_path / "flow", trials=3, judge="scripted:judge"))
    asyncio.run(wiring.run_suite(SUPPORT, store=str(tmp_path / "plain"), trials=3, judge="scripted:judge"))

    assert state.is_completed()
    assert score_rows(tmp_path / "flow") == score_rows(tmp_path / "plain")


def test_flow_state_follows_the_gate(tmp_path: Path, prefect_server: None) -> None:
    """All tasks succeed and the flow fails, because the gate does."""
    state = evaluate(request(tmp_path, model="scripted:upgraded"))

    assert state.is_failed()
    assert "ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]" in state.message


def test_a_broken_shard_still_leaves_gate_and_report(
    tmp_path: Path, prefect_server: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow that is green over failed tasks is the oldest lie of orchestration."""

    async def broken(*_: Any) -> Any:
        msg = "the worker fell over"
        raise RuntimeError(msg)

    monkeypatch.setattr(wiring, "work", broken)
    parameters = request(tmp_path)

    state = evaluate(parameters)
    summary = asyncio.run(wiring.stored_summary(parameters))

    assert state.is_failed()
    assert state.name == "Inconclusive"
    assert (summary["verdict"], summary["exit_code"], summary["complete"]) == ("inconclusive", 3, False)
    assert summary["trials"]["not_run"] == 7


def left_of(run_id: str) -> dict[str, Any]:
    """The newest artifact of each key that names a run, by what follows the suite in the key."""
    from prefect.client.orchestration import get_client

    async def ask() -> Any:
        async with get_client() as client:
            return await client.read_artifacts(limit=200)

    found = [one for one in asyncio.run(ask()) if run_id in (one.description or "")]
    assert all(one.key.startswith("support-") for one in found)
    return {one.key.removeprefix("support-"): one for one in found}


def names_of(run_id: str) -> set[str]:
    """What a run's flow run and task runs are called."""
    from prefect.client.orchestration import get_client

    async def ask() -> list[Any]:
        async with get_client() as client:
            return [*await client.read_flow_runs(limit=200), *await client.read_task_runs(limit=200)]

    runs = asyncio.run(ask())
    (flow,) = (run for run in runs if run.name == f"support {run_id}")
    return {run.name for run in runs if run is flow or getattr(run, "flow_run_id", None) == flow.id}


def test_a_failing_run_shows_verdict_cases_and_page(
    tmp_path: Path, prefect_server: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever lives in Prefect's UI need not look for the store."""
    monkeypatch.setenv("NIGHTGATE_REPORT_URL", "https://me:hunter2@evals.example.com")

    evaluate(request(tmp_path, model="scripted:upgraded", run_id="shown"))
    left = left_of("shown")

    assert set(left) == {"progress", "verdict", "failing", "pages"}
    assert left["progress"].data == 100.0
    assert left["progress"].description == "Run `shown`: 14 of 14 cells"
    assert left["verdict"].data.startswith("## ❌ FAIL: `support`\n")
    rows = json.loads(left["failing"].data)
    assert [(row["case"], row["evaluator"], row["gate"]) for row in rows] == [
        ("refund-out-of-window", "ToolPolicy", "fails"),
        ("refund-out-of-window", "CitesSource", "fails"),
        ("no-resolve-unconfirmed", "ToolPolicy", "fails"),
    ]
    assert all(row["reason"] for row in rows)
    assert "https://evals.example.com/runs/shown/report/index.html" in left["pages"].data
    assert "hunter2" not in left["pages"].data


def test_names_say_what_of_which_suite_and_how_much(tmp_path: Path, prefect_server: None) -> None:
    """A list of flow runs called support, and of tasks called 0, helps nobody."""
    evaluate(request(tmp_path, run_id="named"))

    assert names_of("named") >= {
        "support named",
        "plan-support",
        "support shard 1 of 1: 7 trials of 7 cases",
        "named-finish",
        "named-gate",
    }


def test_a_passing_run_on_a_folder_shows_its_verdict_alone(tmp_path: Path, prefect_server: None) -> None:
    """An empty table and a link that nobody can open say nothing."""
    evaluate(request(tmp_path, run_id="calm"))

    assert set(left_of("calm")) == {"progress", "verdict"}


def test_a_server_that_takes_no_artifact_is_told_of_once(
    tmp_path: Path, prefect_server: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """They are for looking at; the verdict does not hang on them."""
    from prefect import artifacts

    async def away(*_: Any) -> Any:
        msg = "the server is away"
        raise ConnectionError(msg)

    for name in ("progress", "markdown", "table", "link"):
        monkeypatch.setattr(artifacts, f"acreate_{name}_artifact", away)

    state = evaluate(request(tmp_path, run_id="unseen"))

    assert state.is_completed()
    assert left_of("unseen") == {}
    told = [record.message for record in caplog.records if "the server is away" in record.message]
    assert told == ["not all is shown here: ConnectionError: the server is away"]


@pytest.mark.parametrize(
    ("suite", "key"), [("Súpp0rt_1 ../x", "s-pp0rt-1-x"), ("///", "suite"), ("support-2", "support-2")]
)
def test_any_name_of_a_suite_makes_a_key_that_prefect_takes(suite: str, key: str) -> None:
    """Lowercase letters, digits and dashes; a run whose suite cannot be read has the name of its folder."""
    from flows.artifacts import Board

    assert Board({"run_id": "r", "suite": suite})._key == key


def test_a_late_flow_run_takes_the_date_of_its_schedule(tmp_path: Path, prefect_server: None) -> None:
    """A worker that was down for weeks starts what was due, and 02:30 comes twice in that night."""
    from flows.nightly import nightly as flow

    asked = {"suite": str(SUPPORT), "store": str(tmp_path), "alerts": False}
    parameters = {"name": "cases", "requests": [{**asked, "once": True, "timezone": "Europe/Madrid"}]}

    async def drive(scheduled: str) -> Any:
        from prefect.client.orchestration import get_client
        from prefect.flow_engine import run_flow_async
        from prefect.states import Scheduled

        due = Scheduled(scheduled_time=datetime.fromisoformat(scheduled))
        async with get_client() as client:
            run = await client.create_flow_run(flow, parameters=parameters, state=due)
        return await run_flow_async(flow, flow_run=run, parameters=parameters, return_type="state")

    states = [asyncio.run(drive(f"2026-10-25T02:30:00+0{offset}:00")) for offset in (2, 1)]

    assert [state.message for state in states] == ["support PASS", "support PASS"]
    assert [path.name for path in (tmp_path / "nights" / "support").iterdir()] == ["2026-10-25.json"]
    assert [path.parent.name for path in (tmp_path / "manifests").rglob("*.json")] == ["2026-10-25"]


def test_run_through_prefect_prints_the_same_verdict(tmp_path: Path) -> None:
    """The command line drives the flow on the embedded server and reads the figures from the store."""
    ran = nightgate(
        "run", SUPPORT, "--prefect", "--store", tmp_path / "s", "--model", "scripted:upgraded", "--json", "-",
        env={"PREFECT_HOME": str(tmp_path / "prefect")},
    )  # fmt: skip

    assert ran.code == 1, ran.err
    assert [f["text"] for f in ran.json["findings"]] == [
        "ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]",
        "CitesSource: 86% < 100%, failed [refund-out-of-window]",
    ]
