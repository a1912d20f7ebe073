"""``nightgate watch`` and ``notify-change``: a change starts one run, and nothing else does."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nightgate import wiring
from nightgate.errors import InputError
from nightgate.requests import RunRequest
from nightgate.rows.keys import watch_key
from nightgate.testing import FixedClock
from nightgate.wiring import watching
from servers import S3Server
from shell import SUPPORT, environment, nightgate

NOW = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)


def a_folder(where: Path, *sources: str) -> Path:
    """A folder with the sample suite, which declares ``sources``."""
    suite = where / "cases" / "support"
    shutil.copytree(SUPPORT, suite)
    with (suite / "suite.yaml").open("a") as file:
        file.write(f"fingerprint: [{', '.join(sources)}]\n")
    (suite / "kb.txt").write_text("one")
    return where / "cases"


def runs(store: str | Path) -> list[dict[str, Any]]:
    """Summaries of the store's runs, oldest first."""
    found = nightgate("runs", "support", "--store", store, "--json", "-", env=None).json["runs"]
    plans = [
        wiring.stored_summary({"suite": "x", "store": str(store), "run_id": run["run_id"]}) for run in found
    ]
    return [asyncio.run(plan) for plan in reversed(plans)]


def watch(folder: Path, store: str | Path, **env: str) -> Any:
    """One reconcile."""
    return nightgate("watch", folder, "--once", "--quiet", "0.2s", "--store", store, env=env)


@pytest.mark.server
def test_an_overwritten_object_starts_exactly_one_run_that_names_it(tmp_path: Path, s3: S3Server) -> None:
    """The promise of the whole: changed, the same again, and nothing at all."""
    bucket, client, store = s3.bucket(), s3.client(), tmp_path / "store"
    source = f"s3://{bucket}/kb/manifest.json"
    client.put_object(Bucket=bucket, Key="kb/manifest.json", Body=b"one")
    folder = a_folder(tmp_path, source)
    first = nightgate("run", folder / "support", "--store", store, env=s3.env)
    answers = [watch(folder, store, **s3.env)]
    for body in (b"one", b"two", b"two"):
        client.put_object(Bucket=bucket, Key="kb/manifest.json", Body=body)
        answers.append(watch(folder, store, **s3.env))

    assert [first.code, *(ran.code for ran in answers)] == [0] * 5
    started = runs(store)[1:]
    assert [(run["trigger"], run["reason"]) for run in started] == [("retrieval", f"{source} changed")]
    assert f"started because {source} changed" in answers[2].err


def test_the_exit_code_of_a_reconcile_is_that_of_the_run_it_started(tmp_path: Path) -> None:
    """A scheduler that only sees codes has to see a model that made things worse."""
    folder, store = a_folder(tmp_path, "kb.txt"), tmp_path / "store"
    nightgate("run", folder / "support", "--store", store)
    file = folder / "support" / "suite.yaml"
    file.write_text(file.read_text().replace("model: scripted:baseline", "model: scripted:upgraded", 1))

    ran = watch(folder, store)

    assert ran.code == 1, ran.err
    assert (runs(store)[-1]["trigger"], runs(store)[-1]["verdict"]) == ("model", "fail")
    assert "started because model: scripted:baseline -> scripted:upgraded" in ran.err


def test_a_source_that_cannot_be_read_starts_nothing_and_is_seen(tmp_path: Path) -> None:
    """Exit 3: that nothing changed cannot be told."""
    folder, store = a_folder(tmp_path, "kb.txt"), tmp_path / "store"
    nightgate("run", folder / "support", "--store", store)
    (folder / "support" / "kb.txt").unlink()

    ran = watch(folder, store)

    assert ran.code == 3
    assert "'kb.txt' is neither a file nor a folder" in ran.err
    assert len(runs(store)) == 1


def test_a_damaged_state_is_told_with_the_way_out(tmp_path: Path) -> None:
    """Nothing is started on a guess."""
    folder, store = a_folder(tmp_path, "kb.txt"), tmp_path / "store"
    (store / "watch").mkdir(parents=True)
    (store / watch_key("support")).write_text("{")

    ran = watch(folder, store)

    assert ran.code == 3
    assert "remove it: the next look begins anew from the last complete run" in ran.err


def test_several_watchers_start_one_run(tmp_path: Path) -> None:
    """All see the change at the same moment, each from a process of its own in real life."""
    folder, store = a_folder(tmp_path, "kb.txt"), str(tmp_path / "store")
    request = RunRequest.make(folder / "support", {"store": store})
    asyncio.run(wiring.run_suite(folder / "support", store=store))
    (folder / "support" / "kb.txt").write_text("two")
    started: list[RunRequest] = []

    async def start(run: RunRequest) -> int:
        started.append(run)
        return int((await wiring.run_request(run)).summary.as_dict()["exit_code"])

    async def looks() -> None:
        manner = watching.Manner(start=start)
        for moment in (NOW, NOW + timedelta(seconds=60), NOW + timedelta(hours=1)):
            clock = FixedClock(moment)
            await asyncio.gather(*(watching.look_at(request, manner, clock=clock) for _ in range(4)))

    asyncio.run(looks())

    assert [(run.trigger, run.reason) for run in started] == [("retrieval", "kb.txt changed")]
    assert [run["run_id"] for run in runs(store)[1:]] == [started[0].run_id]


def test_a_start_that_is_refused_is_tried_again_after_the_patience(tmp_path: Path) -> None:
    """Credentials that are missing for an hour must not lose the change."""
    folder, store = a_folder(tmp_path, "kb.txt"), str(tmp_path / "store")
    request = RunRequest.make(folder / "support", {"store": store})
    asyncio.run(wiring.run_suite(folder / "support", store=store))
    (folder / "support" / "kb.txt").write_text("two")
    tried: list[str | None] = []

    async def refuse(run: RunRequest) -> int:
        tried.append(run.run_id)
        msg = "no credentials"
        raise InputError(msg)

    async def look(after_s: float) -> watching.Looked:
        manner = watching.Manner(start=refuse, quiet_s=0)
        return await watching.look_at(request, manner, clock=FixedClock(NOW + timedelta(seconds=after_s)))

    codes = [asyncio.run(look(after_s)).code for after_s in (0, 599, 600)]

    assert codes == [2, 0, 2]
    assert tried[0] == tried[1]
    assert len(tried) == 2


def test_the_live_line_is_compared_with_live_runs_alone(tmp_path: Path) -> None:
    """Its first look has nothing to compare with, whatever the scripted runs measured."""
    folder, store = a_folder(tmp_path, "kb.txt"), str(tmp_path / "store")
    request = RunRequest.make(folder / "support", {"store": store})
    asyncio.run(wiring.run_suite(folder / "support", store=store))

    async def refuse(_: RunRequest) -> int:
        raise AssertionError

    looked = asyncio.run(
        watching.look_at(replace(request, live=True), watching.Manner(start=refuse, quiet_s=0))
    )

    assert looked.said == ("the first look: noted, nothing to compare with",)


def test_a_watcher_ends_in_order_when_it_is_told_to(tmp_path: Path) -> None:
    """A service manager sends SIGTERM and expects an end, not a traceback."""
    folder = a_folder(tmp_path, "kb.txt")
    words = [sys.executable, "-m", "nightgate.cli", "watch", str(folder), "--store", str(tmp_path / "s")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()

    assert first == "watch: support: the first look: noted, nothing to compare with\n"
    assert (process.returncode, rest) == (0, "watch: ended\n")


def test_an_event_without_a_server_to_post_to_is_wrong_input() -> None:
    """Exit 0 would say that somebody heard it."""
    ran = nightgate("notify-change", "retrieval", "--suite", "support")

    assert ran.code == 2
    assert "set PREFECT_API_URL" in ran.err


def test_an_event_that_no_server_takes_is_no_success() -> None:
    """A deploy pipeline goes red, and somebody looks."""
    ran = nightgate(
        "notify-change", "prompt", "--suite", SUPPORT, env={"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    )

    assert ran.code == 3
    assert "the event was not taken" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("notify-change", "weather", "--suite", "support"), "is no kind of change"),
        (("notify-change", "prompt", "--suite", "No Such"), "use 1 to 64"),
        (("watch", "cases", "--every", "0"), "must be more than 0"),
        (("watch", "cases", "--quiet", "soon"), "write a time"),
        (("watch", "no-such-folder"), "no suite here"),
    ],
)
def test_wrong_words_are_told_before_anything_is_looked_at(words: tuple[str, ...], said: str) -> None:
    """Exit 2, and the way out."""
    ran = nightgate(*words)

    assert ran.code == 2
    assert said in ran.err
