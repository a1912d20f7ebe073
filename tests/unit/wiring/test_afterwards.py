"""What follows a gate, where something is wrong with it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from nightgate import wiring
from nightgate.adapters.store.folder import FolderStore
from nightgate.requests import RunRequest
from nightgate.rows.keys import alert_report_key, flakiness_key, plan_key
from nightgate.steps.flakyplan import rerun_id
from nights import a_night_plan
from shell import SUPPORT


async def play(request: RunRequest) -> list[str]:
    """A run, and what followed it."""
    finished = await wiring.run_request(request)
    return await wiring.afterwards(request, finished.summary.run_id)


def test_a_newer_book_is_said_and_the_alerts_go_out(tmp_path: Path) -> None:
    """The verdict is there, and nobody takes silence for "nothing broke"."""
    store = FolderStore(tmp_path)
    store.replace(flakiness_key("support"), b'{"schema": 2, "series": []}')
    request = RunRequest(suite=str(SUPPORT), store=store.uri, model="scripted:upgraded")

    lines = asyncio.run(play(request))

    assert lines[0] == (
        "flaky or broken: NOT told: flakiness/support.json: written by a newer nightgate, schema 2; "
        "this one knows 1: upgrade"
    )
    assert lines[-1].startswith("alerts: 1 sent to default")


def test_the_reruns_of_a_night_count_beside_its_canaries(tmp_path: Path) -> None:
    """They are paid under the same cap, also where the canaries are judged by hand."""
    store = FolderStore(tmp_path)
    request = RunRequest(suite=str(SUPPORT), store=store.uri)
    assert asyncio.run(wiring.reruns_beside(request, "night-1")) == []

    again = a_night_plan(1, run_id=rerun_id("night-1"))
    store.replace(plan_key(again.run_id), again.to_json())

    assert asyncio.run(wiring.reruns_beside(request, "night-1")) == [again.run_id]


def test_a_report_of_alerts_that_was_cut_short_is_no_report(tmp_path: Path) -> None:
    """Its process died before it had written where the messages went; the run is not done with."""
    store, request = FolderStore(tmp_path), RunRequest(suite=str(SUPPORT), store=FolderStore(tmp_path).uri)
    run_id = asyncio.run(wiring.run_request(request)).summary.run_id
    asyncio.run(wiring.afterwards(request, run_id))
    resumed = replace(request, resume=run_id)
    whole = asyncio.run(wiring.take_up(resumed))
    report = json.loads(store.read(alert_report_key(run_id)))
    del report["error"]
    store.replace(alert_report_key(run_id), json.dumps(report).encode())

    lines = asyncio.run(wiring.told_afterwards(request, run_id))
    again = asyncio.run(wiring.take_up(resumed))

    assert whole is not None
    assert again is not None
    assert (whole.left, again.left) == ((), ("alerts",))
    assert not any(line.startswith("alerts") for line in lines)
