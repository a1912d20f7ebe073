"""A run's end for somebody else's web page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from makers import a_score
from nightgate.adapters.store import open_store
from nightgate.requests import RunRequest
from nightgate.rows.keys import report_key
from nightgate.scores import Status
from nightgate.wiring.showing import Shown, shown
from playedruns import a_run_plan, put_run


async def of_a_run(folder: Path, reason: str = "no source") -> Shown:
    """One case that failed for that reason."""
    store = open_store(folder)
    bad = replace(a_score(), status=Status.FAIL, score=0.0, reason=reason)
    put_run(store, a_run_plan(["late"]), score=lambda *_: bad)
    store.create(report_key("demo-1", "index.html"), b"<!doctype html>")
    return await shown(RunRequest(suite="cases/demo", store=str(folder)), "demo-1")


async def test_it_has_the_verdict_the_case_and_no_link_to_a_folder(tmp_path: Path) -> None:
    """Nobody else can open a path of this machine."""
    found = await of_a_run(tmp_path)

    assert found.markdown.startswith("## ❌ FAIL: `demo`")
    assert [row["reason"] for row in found.failing] == ["no source"]
    assert found.link is None


async def test_a_page_that_is_not_there_has_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without pages would link to nothing."""
    monkeypatch.setenv("NIGHTGATE_REPORT_URL", "https://evals.example")
    assert (await of_a_run(tmp_path)).link == "https://evals.example/runs/demo-1/report/index.html"
    open_store(tmp_path).delete([report_key("demo-1", "index.html")])

    found = await shown(RunRequest(suite="cases/demo", store=str(tmp_path)), "demo-1")

    assert found.link is None


async def test_a_secret_of_this_machine_is_in_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older version stored in the clear is not copied to where others look."""
    secret = "kept-in-the-clear-0123456789"
    found = await of_a_run(tmp_path, f"the answer quotes {secret}")
    assert secret in found.markdown
    monkeypatch.setenv("DESK_API_KEY", secret)
    monkeypatch.setenv("NIGHTGATE_REPORT_URL", f"https://evals.example/?key={secret}&run={{run_id}}")

    again = await shown(RunRequest(suite="cases/demo", store=str(tmp_path)), "demo-1")

    assert secret not in again.markdown
    assert secret not in str(again.failing)
    assert again.link is None
