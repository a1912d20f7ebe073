"""Trials of another run taken over: only what is the same, and only what was measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate import run_suite
from shell import DRILLS, Ran, nightgate

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


CHECKS = """
from nightgate import Score, Status


class Len:
    name, version = "Len", 1

    def __init__(self, max_words=60):
        self.max_words = max_words

    def evaluate(self, trial, case):
        status = Status.PASS if len(trial.output.split()) <= self.max_words else Status.FAIL
        return Score(evaluator="Len", version=1, status=status, reason=f"at most {self.max_words} words")


class Same(Len):
    name = "Same"

    def evaluate(self, trial, case):
        status = Status.PASS if trial.output == case.expected_output else Status.FAIL
        return Score(evaluator="Same", version=1, status=status, reason=str(case.expected_output))
"""


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    """A suite of three cases that code of its own checks: how long the answer is, and what it is."""
    suite = tmp_path / "checked"
    (suite / "scripts").mkdir(parents=True)
    (suite / "drill_checks.py").write_text(CHECKS)
    (suite / "scripts" / "agent.yaml").write_text('replies: {"*": [{say: Two words.}]}')
    (suite / "cases.yaml").write_text(
        "cases:\n"
        + "".join(f"  - {{id: c{n}, input: q{n}, expected_output: Two words.}}\n" for n in range(3))
    )
    configure(suite, 60)
    return suite


def configure(suite: Path, max_words: int) -> None:
    """Write its settings."""
    (suite / "suite.yaml").write_text(
        "suite: checked\nowner: us\nagent: drill_agent:build\nmodel: scripted:agent\n"
        "evaluators:\n"
        f'  AnswerLen: {{use: "drill_checks:Len", params: {{max_words: {max_words}}}}}\n'
        '  Same: {use: "drill_checks:Same"}\n'
    )


def statuses(ran: Ran) -> dict[str, tuple[int, int]]:
    """Passed and failed by evaluator, of a summary or of a sweep's document."""
    return {e["name"]: (e["passed"], e["failed"]) for e in ran.json["evaluators"]}


@pytest.fixture
def ran(checked: Path, tmp_path: Path) -> Path:
    """The store with a run of it in which everything passed."""
    done = nightgate("run", checked, "--store", tmp_path / "s", "--run-id", "a")
    assert done.code == 0, done.err
    return tmp_path / "s"


def test_edited_params_of_code_judge_again(checked: Path, ran: Path) -> None:
    """A finding under 60 words says nothing about 1; version and fingerprint are the same."""
    configure(checked, 1)
    flags = ("--store", ran, "--json", "-")

    plan = nightgate("plan", checked, *flags)
    swept = nightgate("sweep", "a", "--suite", checked, "--evaluator", "AnswerLen", *flags)
    reused = nightgate("run", checked, "--reuse", "a", "--run-id", "b", *flags)

    assert plan.json["cells"] == {"planned": 6, "reused": 3, "rejudged": 3, "judged": 0}
    assert [r["kind"] for r in plan.json["reasons"] if r["of"] == "cells"] == ["evaluator_edited"]
    assert statuses(swept) == {"AnswerLen": (0, 3)}
    assert statuses(reused) == {"AnswerLen": (0, 3), "Same": (3, 0)}
    assert calls(ran, "b", "agent") == 0


def test_an_edited_expected_output_judges_again_who_reads_it(checked: Path, ran: Path) -> None:
    """No agent sees it: the trial stands, and the case hash is as it was."""
    cases = checked / "cases.yaml"
    cases.write_text(cases.read_text().replace("q0, expected_output: Two", "q0, expected_output: Three"))
    flags = ("--store", ran, "--json", "-")

    plan = nightgate("plan", checked, *flags)
    swept = nightgate("sweep", "a", "--suite", checked, "--evaluator", "Same", *flags)
    reused = nightgate("run", checked, "--reuse", "a", "--run-id", "b", *flags)

    # Code of the suite's users may read all of a case: AnswerLen is asked again too.
    assert plan.json["cells"] == {"planned": 6, "reused": 4, "rejudged": 2, "judged": 0}
    assert {r["kind"] for r in plan.json["reasons"] if r["of"] == "cells"} == {"question_edited"}
    assert statuses(swept) == {"Same": (2, 1)}
    assert statuses(reused) == {"AnswerLen": (3, 0), "Same": (2, 1)}
    assert calls(ran, "b", "agent") == 0
