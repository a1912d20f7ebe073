"""The reconcile as a flow, and an event that starts a run, on a real Prefect server."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightgate import wiring
from nightgate.steps.listing import runs_of
from shell import SUPPORT


@pytest.fixture(scope="module")
def prefect_server() -> Iterator[None]:
    """One temporary Prefect server for this file."""
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


def test_an_event_is_taken_starts_its_run_once_and_leaves_the_reconcile_nothing(
    tmp_path: Path, prefect_server: None
) -> None:
    """One server start for all of it: posted, started at once, heard twice, reconciled."""
    from flows.events import post
    from flows.on_change import on_change

    folder, store = tmp_path / "cases", str(tmp_path / "store")
    shutil.copytree(SUPPORT, folder / "support")
    with (folder / "support" / "suite.yaml").open("a") as file:
        file.write("fingerprint: [kb.txt]\n")
    index = folder / "support" / "kb.txt"
    index.write_text("one")
    asyncio.run(wiring.run_suite(folder / "support", store=store))
    index.write_text("two")
    payload = {"suite": "support", "kind": "retrieval", "resource": "kb.txt", "reason": "", "id": "e-1"}
    texts = {"folder": str(folder), "store": store, "live": "false", "quiet": "0"}
    event = {**texts, "suite": "support", "kind": "nightgate.retrieval.changed", "event_id": "e-1"}

    async def drive(**parameters: str) -> Any:
        return await on_change(**parameters, return_state=True)

    posted = asyncio.run(post("retrieval", "support", payload))
    states = [asyncio.run(drive(**parameters)) for parameters in (event, event, texts)]
    wrong = asyncio.run(drive(**{**texts, "live": "perhaps"}))
    seen = asyncio.run(_event(posted))

    started = [run for run in runs_of(wiring.open_store(store), "support") if run["trigger"] != "manual"]
    assert [state.is_completed() for state in states] == [True, True, True], [s.message for s in states]
    assert [(run["trigger"], run["complete"]) for run in started] == [("retrieval", True)]
    assert "has started run" in states[1].message or "nothing to start" in states[1].message
    assert wrong.is_failed()
    assert "write true or false" in wrong.message
    assert (seen["event"], seen["payload"]) == ("nightgate.retrieval.changed", payload)


async def _event(event_id: str) -> dict[str, Any]:
    """What the server kept of an event; it writes them a moment after it has taken them."""
    from prefect import get_client

    async with get_client() as client:
        for _ in range(100):
            asked = {"filter": {"id": {"id": [event_id]}}}
            found = (await client._client.post("/events/filter", json=asked)).json()["events"]
            if found:
                return dict(found[0])
            await asyncio.sleep(0.1)
    pytest.fail("the server has no such event")
