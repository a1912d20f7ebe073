"""A run and a worker of a fleet, as their log tells them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightgate import logs, wiring
from nightgate.requests import RunRequest
from nightgate.steps.claims import Taken
from nightgate.wiring.drains import drain
from nightgate.wiring.fleets import finish_fleet, plan_fleet
from nightgate.wiring.telling import tell_claim
from shell import SUPPORT


@pytest.fixture(autouse=True)
def _asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(logs.SETTING, "json")
        patch.setenv(logs.LEVEL, "debug")
        yield
    logs.set_up()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines on stderr."""
    return [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]


def of(found: list[dict[str, Any]], area: str) -> list[dict[str, Any]]:
    """Those of one logger."""
    return [line for line in found if line["logger"] == f"nightgate.{area}"]


async def test_a_fleets_worker_tells_its_shards_and_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose they are is on every line, though the trial knows nothing of shards and workers."""
    values = {"store": str(tmp_path), "run_id": "told", "trials": 1, "drainers": 2}
    request = RunRequest.make(SUPPORT, values, {})
    planned = RunRequest.of_parameters((await plan_fleet(request))["request"])
    done = await drain(planned, "told", "w1")
    await finish_fleet(request, "told")

    found = lines(capsys)
    claimed, played = of(found, "shards")
    trials = of(found, "trials")
    whose = {"run": "told", "suite": "support", "worker": "w1", "shard": 0}
    assert [line["message"] for line in (claimed, played)] == [
        "shard 0 claimed",
        f"shard 0 done: {done.trials} trials, {done.cells} cells",
    ]
    assert len(trials) == done.trials
    assert all(whose.items() <= line.items() for line in (claimed, played, *trials))
    assert {line["ending"] for line in trials} == {"completed"}
    assert all(line["case"] and line["trial"] == 0 and line["duration_s"] >= 0 for line in trials)
    assert [line["message"] for line in of(found, "store")] == ["run told committed"]


def test_a_run_tells_its_plan_its_commit_and_its_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this order, with the run on each line."""
    summary = asyncio.run(
        wiring.run_suite(SUPPORT, store=tmp_path, model="scripted:upgraded", run_id="told", alerts=True)
    )

    found = lines(capsys)
    assert [line["logger"] for line in found if line["logger"] != "nightgate.trials"] == [
        "nightgate.runs",
        "nightgate.shards",
        "nightgate.store",
        "nightgate.gate",
        "nightgate.alerts",
        "nightgate.alerts",
    ]
    assert {line["run"] for line in found} == {"told"}
    (gate,) = of(found, "gate")
    assert (gate["verdict"], gate["exit_code"], gate["complete"]) == ("fail", 1, True)
    assert gate["calls"] == summary.as_dict()["calls"]["total"]


def test_a_check_before_runs_tells_of_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It plans one that nobody will find."""
    asyncio.run(wiring.preflight(RunRequest.make(SUPPORT, {"store": str(tmp_path)}, {})))

    assert lines(capsys) == []


@pytest.mark.parametrize(
    ("taken", "line"),
    [
        (Taken(shard=1, before=None), "shard 1 claimed"),
        (Taken(shard=1, before="w0"), "shard 1 taken over from w0, which let it go"),
        (Taken(shard=1, before="w0", silent=True), "shard 1 taken over from w0, which went silent"),
    ],
)
def test_a_shard_that_is_taken_over_says_from_whom(
    capsys: pytest.CaptureFixture[str], taken: Taken, line: str
) -> None:
    """A worker that goes silent is looked for on its machine."""
    logs.set_up()
    tell_claim(taken)

    assert [found["message"] for found in lines(capsys)] == [line]
