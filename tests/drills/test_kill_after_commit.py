"""Killed behind the commit: `--resume` does what is left after the gate, and nothing twice."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hooks import Hook, hook
from nightgate.requests import NIGHTLY, RunRequest
from nightgate.wiring import run_request, run_suite
from nightgate.wiring.reruns import find_flaky
from shell import nightgate, start

pytestmark = pytest.mark.server

HEAD = {
    "suite": "evening",
    "agent": "drill_agent:build",
    "model": "scripted:good",
    "judge": "scripted:judge",
    "trials": 3,
    "alerts": ["default"],
}
POLITE = "Criterion:polite"
YES: dict[str, Any] = {"say": "yes"}
SLOW_YES = {**YES, "delay_s": 0.2}
SLOW_NO = {"say": "no", "delay_s": 0.2}
FIRST = datetime.now(UTC) - timedelta(days=10)

NIGHT = """\
import asyncio, sys
from dataclasses import replace
from nightgate import wiring
from nightgate.requests import NIGHTLY, RunRequest

request = RunRequest.make(sys.argv[1], {"store": sys.argv[2], "model": "scripted:worse", "run_id": "n4"})
request = replace(request, night=True, trigger=NIGHTLY)

async def night():
    await wiring.run_request(request)
    await wiring.afterwards(request, "n4")

asyncio.run(night())
"""
"""A night as `nightgate nightly` plays it, without Prefect's server."""
HELD = """\
import sys, time
from pathlib import Path
from nightgate.cli import main
from nightgate.steps import flaky

def hold(*_, **__):
    Path(sys.argv[1]).touch()
    time.sleep(600)

flaky.settle = hold
main(sys.argv[2:])
"""
"""A run that gets no further than to its gate."""


class Clock:
    """The evening of an earlier night."""

    def __init__(self, night: int) -> None:
        self.night = night

    def now(self) -> datetime:
        """Its scheduled start."""
        return FIRST + timedelta(days=self.night)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Three canary cases; under ``worse`` one of them fails once a night, slowly, as do its reruns."""
    folder = tmp_path / "evening"
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(json.dumps(HEAD))
    asked = {
        "answer": {"contains": ["yes"]},
        "judge": [{"id": "polite", "criterion": "Is it friendly?"}],
    }
    cases = [{"id": case, "input": case, "canary": True, "expect": asked} for case in "abc"]
    (folder / "cases.yaml").write_text(json.dumps({"cases": cases}))
    worse = {"*": [YES], "a": {"trials": [[SLOW_NO], [SLOW_YES], [SLOW_YES]]}}
    for name, replies in {"good": {"*": [YES]}, "worse": worse}.items():
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps({"replies": replies}))
    verdict = {"fields": {"verdict": "yes", "reason": "It is."}, "delay_s": 0.1}
    (folder / "scripts" / "judge.yaml").write_text(json.dumps({"judgements": {POLITE: {"*": verdict}}}))
    return folder


@pytest.fixture
async def past(suite: Path, tmp_path: Path) -> Path:
    """A store with four nights in which all passed."""
    store = tmp_path / "store"
    for number in range(4):
        request = RunRequest.make(suite, {"store": str(store), "run_id": f"n{number}"})
        await run_request(request, clock=Clock(number))
        await find_flaky(request, f"n{number}", clock=Clock(number))
    return store


@pytest.fixture
def chat() -> Iterator[Hook]:
    """Where the suite's alerts go."""
    with hook() as found:
        yield found


def channels(chat: Hook) -> dict[str, str]:
    """The variables that lead there."""
    return {"NIGHTGATE_ALERT_CHANNELS": "default=webhook:CHAT_URL", "CHAT_URL": chat.url}


def program(folder: Path, code: str) -> Path:
    """A script of that code."""
    script = folder / "program.py"
    script.write_text(code)
    return script


def killed(script: Path | None, *args: str | Path, when: Callable[[], bool], env: dict[str, str]) -> None:
    """Run a script, or a command, in a process of its own and kill it as soon as something is there."""
    process = start(*args, env=env, script=script)
    try:
        deadline = time.monotonic() + 120
        while not when():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def journalled(store: Path, run_id: str, kind: str) -> bool:
    """Whether the journal of a run that is being played holds a finished trial or finding."""
    paths = list((store / "spool" / run_id).glob("*.jsonl"))
    return any(f'{{"kind":"{kind}"'.encode() in path.read_bytes() for path in paths)


def committed_objects(store: Path, run_id: str) -> dict[str, bytes]:
    """All that a run consists of once it is committed."""
    found = [path for path in store.rglob("*") if path.is_file() and run_id in (path.stem, path.parent.name)]
    kept = ("scores", "trials", "calls", "summaries", "manifests", "transcripts")
    named = {str(path.relative_to(store)): path for path in found}
    documents = (f"runs/{run_id}/plan.json", f"runs/{run_id}/summary.json")
    return {
        name: path.read_bytes() for name, path in named.items() if name.startswith(kept) or name in documents
    }


def objects(store: Path) -> dict[Path, bytes]:
    """All that lies in a store."""
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


def told_once(chat: Hook) -> bool:
    """Whether the gate and the judge (who lets planted attacks pass) were told of in one message each."""
    titles = [document["title"] for document in chat.taken]
    return len(titles) == len(chat.requests) == len(set(titles)) == 2


def calls(store: Path, run_id: str) -> list[str]:
    """How the calls of a run ended."""
    parts = (store / "calls").rglob(f"{run_id}/*.parquet")
    return [row["outcome"] for part in parts for row in pq.read_table(part).to_pylist()]


def test_a_run_that_was_killed_behind_its_gate_is_finished(suite: Path, tmp_path: Path, chat: Hook) -> None:
    """Its history and its message were missing for ever; its verdict stays what it was."""
    store, held, env = tmp_path / "store", tmp_path / "held", channels(chat)
    env["NIGHTGATE_TRIGGER"] = "ci"  # by hand another model than the suite's tells nobody
    flags = ("run", suite, "--store", store, "--model", "scripted:worse", "--run-id", "r1")
    killed(program(tmp_path, HELD), held, *flags, when=held.exists, env=env)
    before = committed_objects(store, "r1")
    again = ("run", suite, "--store", store, "--resume", "r1", "--json", "-")
    assert nightgate("gate", "r1", "--store", store).code == 1

    first = nightgate(*again, env=env)
    second = nightgate(*again, env=env)

    assert (first.code, first.json["run_id"], first.json["verdict"]) == (1, "r1", "fail"), first.err
    assert "left to do after its gate: flaky or broken, report, alerts" in first.err
    assert (second.code, second.json) == (1, first.json)
    assert "nothing to resume (fail)" in second.err
    assert committed_objects(store, "r1") == before
    assert not list((store / "staging").rglob("*.zst"))
    assert json.loads((store / "runs" / "r1" / "flakiness.json").read_text())["run_id"] == "r1"
    assert [document["run_id"] for document in chat.taken] == ["r1"]


def test_a_night_that_is_killed_in_its_reruns_and_in_its_canaries_is_finished(
    suite: Path, past: Path, tmp_path: Path, chat: Hook
) -> None:
    """By hand, without the flag that made it a night; what was played is not played again."""
    env = channels(chat)
    night = program(tmp_path, NIGHT)
    killed(night, suite, past, when=lambda: journalled(past, "n4-rerun", "trial"), env=env)
    before = committed_objects(past, "n4")
    assert before
    resume = ("run", suite, "--store", past, "--resume", "n4")
    killed(None, *resume, when=lambda: journalled(past, "n4-canary", "cell"), env=env)
    reruns = committed_objects(past, "n4-rerun")
    assert chat.requests == []

    last = nightgate(*resume, env=env)
    again = nightgate(*resume, env=env)

    assert (last.code, again.code) == (1, 1), last.err
    assert "left to do after its gate: canaries, report, alerts" in last.out
    assert again.out.count("\n") == 1
    assert committed_objects(past, "n4") == before
    assert committed_objects(past, "n4-rerun") == reruns
    told = json.loads((past / "runs" / "n4" / "flakiness.json").read_text())
    trials = [
        row["ending"]
        for part in (past / "trials").rglob("n4-rerun/*.parquet")
        for row in pq.read_table(part).to_pylist()
    ]
    assert told["rerun_trials"] == trials.count("completed") > 1
    canary = json.loads((past / "runs" / "n4" / "canary.json").read_text())
    assert (canary["complete"], canary["unjudged"]) == (True, 0)
    assert calls(past, "n4").count("ok") == len(calls(past, "n4"))
    assert calls(past, "n4-rerun").count("unknown") <= 2
    assert told_once(chat)


def test_two_processes_are_never_at_the_steps_of_one_run(
    suite: Path, past: Path, tmp_path: Path, chat: Hook
) -> None:
    """The second would decide the night without what the first one is playing."""
    env = channels(chat)
    seen: list[Any] = []

    def at_work() -> bool:
        if journalled(past, "n4-rerun", "trial"):
            seen.append(nightgate("run", suite, "--store", past, "--resume", "n4", env=env))
        return bool(seen)

    killed(program(tmp_path, NIGHT), suite, past, when=at_work, env=env)

    assert (seen[0].code, seen[0].out) == (2, "")
    assert "run n4-rerun is still being worked on by another process here" in seen[0].err
    assert not (past / "runs" / "n4" / "flakiness.json").exists()


@pytest.mark.parametrize("prefect", [(), ("--prefect",)])
def test_a_committed_run_goes_on_with_its_own_models_only(
    suite: Path, tmp_path: Path, prefect: tuple[str, ...]
) -> None:
    """Reruns by another model would be taken for evidence of this one. No flow is needed to say so."""
    store = tmp_path / "store"
    nightgate("run", suite, "--store", store, "--run-id", "r1")

    ran = nightgate("run", suite, "--store", store, "--resume", "r1", "--model", "scripted:worse", *prefect)

    assert ran.code == 2
    assert "is committed, with model scripted:good, not scripted:worse" in ran.err
    assert "leave out --model (NIGHTGATE_MODEL)" in ran.err


async def test_a_night_that_was_open_goes_on_as_a_night(suite: Path, past: Path) -> None:
    """Stopped before its commit: whoever resumes it by hand need not know that there are canaries."""
    values = {"store": str(past), "model": "scripted:worse", "run_id": "n4", "alerts": False}
    request = replace(RunRequest.make(suite, values), night=True, trigger=NIGHTLY)
    await run_request(replace(request, budget_usd="0"), clock=Clock(4))  # stops before the first call

    ran = nightgate("run", suite, "--store", past, "--resume", "n4", "--no-alerts", "--budget-usd", "5")

    assert ran.code == 1, ran.err
    assert json.loads((past / "runs" / "n4" / "flakiness.json").read_text())["rerun_run"] == "n4-rerun"
    assert json.loads((past / "runs" / "n4" / "canary.json").read_text())["complete"]


@pytest.mark.parametrize("step", ["settle", "judge_canaries", "send_alerts"])
async def test_whatever_step_broke_is_made_up_for_in_python_too(
    suite: Path, past: Path, chat: Hook, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """`run_suite(resume=)` answers with the stored summary; a second call changes no object."""
    after = import_module("nightgate.wiring.afterwards")  # the package has a function of that name
    for name, value in channels(chat).items():
        monkeypatch.setenv(name, value)

    class DiedError(BaseException):
        """The process ends."""

    def die(*_: Any, **__: Any) -> None:
        raise DiedError

    values = {"store": str(past), "model": "scripted:worse", "run_id": "n4"}
    request = replace(RunRequest.make(suite, values), night=True, trigger=NIGHTLY)
    finished = await run_request(request, clock=Clock(4))
    with monkeypatch.context() as patched:
        patched.setattr(after.flaky if step == "settle" else after, step, die)
        with pytest.raises(DiedError):
            await after.afterwards(request, "n4", clock=Clock(4))
    before = committed_objects(past, "n4")

    again = await run_suite(suite, store=past, resume="n4")

    whole = objects(past)
    third = await run_suite(suite, store=past, resume="n4")
    assert again.as_dict() == third.as_dict() == finished.summary.as_dict()
    assert committed_objects(past, "n4") == before
    assert objects(past) == whole
    names = ("flakiness.json", "canary.json", "alerts.json")
    assert all((past / "runs" / "n4" / name).exists() for name in names)
    assert told_once(chat)
