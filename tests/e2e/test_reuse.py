"""Trials of another run taken over: only what is the same, and only what was measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate import run_suite
from shell import DRILLS

SLOW = DRILLS / "slow"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A copy of the slow suite, to be changed."""
    return Path(shutil.copytree(SLOW, tmp_path / "slow"))


async def run(suite: Path, store: Path, **options: Any) -> dict[str, Any]:
    """One run of it."""
    return (await run_suite(suite, store=str(store), **options)).as_dict()


def calls(store: Path, run_id: str, role: str) -> int:
    """Calls of a role in a run's ledger."""
    parts = (store / "calls").rglob(f"{run_id}/*.parquet")
    return sum(row["role"] == role for part in parts for row in pq.read_table(part).to_pylist())


async def test_five_trials_after_three_play_two(suite: Path, tmp_path: Path) -> None:
    """Three are there already, and say where they are from."""
    await run(suite, tmp_path / "s", trials=3, run_id="a")

    second = await run(suite, tmp_path / "s", trials=5, reuse="latest", run_id="b")

    assert second["trials"]["completed"] == 25
    assert calls(tmp_path / "s", "b", "agent") == 2 * 5 * 2
    rows = [r for p in (tmp_path / "s" / "trials").rglob("b/*.parquet") for r in pq.read_table(p).to_pylist()]
    assert sorted(row["trial"] for row in rows if row["reused_from"] == "a") == sorted([0, 1, 2] * 5)


async def test_a_changed_prompt_plays_everything_again(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run's answers say nothing about the new prompt."""
    source = (DRILLS / "drill_agent.py").read_text()
    agent = suite / "own_agent.py"
    agent.write_text(source)
    settings = suite / "suite.yaml"
    settings.write_text(settings.read_text().replace("drill_agent:build", "own_agent:build"))
    await run(suite, tmp_path / "s", trials=1, run_id="a")
    agent.write_text(source.replace("cite it.", "always cite it."))
    monkeypatch.delitem(__import__("sys").modules, "own_agent")

    await run(suite, tmp_path / "s", trials=1, reuse="a", run_id="b")

    assert calls(tmp_path / "s", "b", "agent") == 10


async def test_a_changed_judge_judges_again_and_calls_no_agent(suite: Path, tmp_path: Path) -> None:
    """The answers are the same; the findings of another judge are not."""
    await run(suite, tmp_path / "s", trials=1, run_id="a")
    judge = suite / "scripts" / "judge.yaml"
    judge.write_text(judge.read_text().replace("friendly", "very friendly"))

    second = await run(suite, tmp_path / "s", trials=1, reuse="a", run_id="b")

    assert second["verdict"] == "pass"
    assert calls(tmp_path / "s", "b", "agent") == 0
    assert calls(tmp_path / "s", "b", "judge") == 5


async def test_an_edited_case_is_played_again(suite: Path, tmp_path: Path) -> None:
    """The same id with another question is another case."""
    await run(suite, tmp_path / "s", trials=1, run_id="a")
    cases = suite / "cases.yaml"
    cases.write_text(cases.read_text().replace("What about returns?", "And what about returns?"))

    await run(suite, tmp_path / "s", trials=1, reuse="a", run_id="b")

    assert calls(tmp_path / "s", "b", "agent") == 2
