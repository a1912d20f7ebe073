"""What follows a gate, where something is wrong with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nightgate import wiring
from nightgate.adapters.store.folder import FolderStore
from nightgate.requests import RunRequest
from nightgate.rows.keys import flakiness_key, plan_key
from nightgate.steps.flakyplan import rerun_id
from nights import a_night_plan
from shell import SUPPORT


async def play(request: RunRequest) -> list[str]:
    """A run, and what followed it."""
    finished = await wiring.run_request(request)
    return await wiring.afterwards(request, finished.summary.run_id)


def test_a_damaged_book_is_said_and_the_alerts_go_out(tmp_path: Path) -> None:
    """The verdict is there, and nobody takes silence for "nothing broke"."""
    store = FolderStore(tmp_path)
    store.replace(flakiness_key("support"), b'{"schema": 1, "series": []}')
    request = RunRequest(suite=str(SUPPORT), store=store.uri, model="scripted:upgraded")

    lines = asyncio.run(play(request))

    assert lines[0].startswith("flaky or broken: NOT told: ")
    assert lines[-1].startswith("alerts: 1 sent to default")


def test_the_reruns_of_a_night_count_beside_its_canaries(tmp_path: Path) -> None:
    """They are paid under the same cap, also where the canaries are judged by hand."""
    store = FolderStore(tmp_path)
    request = RunRequest(suite=str(SUPPORT), store=store.uri)
    assert asyncio.run(wiring.reruns_beside(request, "night-1")) == []

    again = a_night_plan(1, run_id=rerun_id("night-1"))
    store.replace(plan_key(again.run_id), again.to_json())

    assert asyncio.run(wiring.reruns_beside(request, "night-1")) == [again.run_id]
