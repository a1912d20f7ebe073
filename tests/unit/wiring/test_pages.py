"""A run's pages in its store: there before the alerts, and never a reason to fail."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from nightgate import wiring
from nightgate.adapters.store.folder import FolderStore
from nightgate.errors import StoreError
from nightgate.requests import RunRequest
from nightgate.rows.keys import alert_report_key, report_key, summary_key
from nightgate.steps.runpages import has_pages
from nightgate.testing import InMemoryStore
from playedruns import a_run_plan, put_run
from shell import SUPPORT


def kept(store: InMemoryStore, **more: bool) -> str | None:
    """What is said of the pages of a run."""
    return asyncio.run(wiring.keep_report(RunRequest(suite="demo", **more), "demo-1", store=store))


def test_a_run_leaves_its_pages_before_its_alerts(tmp_path: Path) -> None:
    """The message links there."""
    order: list[str] = []

    class Noting(FolderStore):
        def replace(self, key: str, data: bytes) -> None:
            order.append(key)
            super().replace(key, data)

    store = Noting(tmp_path)
    request = RunRequest(suite=str(SUPPORT), store=str(tmp_path), model="scripted:upgraded")

    run_id = asyncio.run(_play(request, store))

    assert has_pages(store, run_id)
    assert order.index(report_key(run_id, "index.html")) < order.index(alert_report_key(run_id))


async def _play(request: RunRequest, store: FolderStore) -> str:
    run_id = (await wiring.run_request(request, store=store)).summary.run_id
    await wiring.afterwards(request, run_id, store=store)
    return run_id


def test_pages_that_cannot_be_written_are_told_in_a_line() -> None:
    """The verdict stands, and the line says how to have them later."""

    class Full(InMemoryStore):
        def replace(self, key: str, data: bytes) -> None:
            if "/report/" in key:
                raise StoreError("the disk is full")
            super().replace(key, data)

    store = Full()
    put_run(store, a_run_plan(["a"]))

    assert kept(store) == (
        "report: NOT written: the disk is full; `nightgate report demo-1 --out DIR` makes it again"
    )


def test_who_wants_no_pages_gets_none() -> None:
    """--no-report, NIGHTGATE_REPORT=false."""
    store = InMemoryStore()
    put_run(store, a_run_plan(["a"]))

    assert kept(store, report=False) is None
    assert not has_pages(store, "demo-1")


def test_a_run_that_a_person_stopped_gets_none_yet() -> None:
    """Who pressed Ctrl-C does not wait for pages; who ran out of money looks at them."""
    store = InMemoryStore()
    summary = put_run(store, a_run_plan(["a"], trials=2), left_out=1)
    for stopped, there in (("cancelled", False), ("budget", True)):
        store.replace(summary_key("demo-1"), json.dumps(summary | {"stopped": stopped}).encode())

        assert kept(store) is None
        assert has_pages(store, "demo-1") is there


@pytest.mark.parametrize("report", [True, False])
def test_a_committed_run_without_pages_is_taken_up_for_them(tmp_path: Path, report: bool) -> None:
    """Its process died in between; where nobody wants them nothing is left."""
    store = FolderStore(tmp_path)
    request = RunRequest(suite=str(SUPPORT), store=str(tmp_path), report=report)
    run_id = asyncio.run(_play(request, store))
    store.delete(store.find(f"runs/{run_id}/report/"))

    taken = asyncio.run(wiring.take_up(replace(request, resume=run_id)))

    assert taken is not None
    assert taken.left == (("report",) if report else ())
    assert has_pages(store, run_id) is report
