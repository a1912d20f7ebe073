"""``nightgate nightly --once`` as schedulers start it: real processes, one run a local date."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drill_lab import a_case, write_suite

from shell import DRILLS, environment, nightgate

ONCE = ("--once", "--timezone", "Europe/Madrid", "--no-alerts")


@contextlib.contextmanager
def started(folder: Path, store: Path, said: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler's process, as cron or a container starts it; what it says lies in ``said``.

    Prefect's embedded server outlives a killed parent, so all of its session is ended.
    """
    asked = ["nightly", str(folder), "--store", str(store), *ONCE, *flags]
    with (
        said.with_suffix(".out").open("wb") as out,
        said.with_suffix(".err").open("wb") as err,
        subprocess.Popen(
            [sys.executable, "-m", "nightgate.cli", *asked],
            env=environment({"PREFECT_HOME": str(said)}),
            stdout=out,
            stderr=err,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def claimed(store: Path) -> list[dict[str, Any]]:
    """What stands in the store about dates."""
    return [json.loads(path.read_text()) for path in sorted((store / "nights").rglob("*.json"))]


def committed(store: Path) -> list[str]:
    """Ids of committed runs of kind run."""
    return sorted(path.stem for path in (store / "manifests").rglob("*.json"))


def wait_for_trials(store: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the journal of a run holds some."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        text = b"".join(path.read_bytes() for path in (store / "spool").glob("*/*.jsonl"))
        if text.count(b'{"kind":"trial"') >= 3:
            return
        time.sleep(0.02)
    pytest.fail("no trials within two minutes")


def test_of_two_schedulers_one_plays_and_the_other_is_told(tmp_path: Path) -> None:
    """Started in one moment; a third start of that date gets the verdict without a server or a call."""
    store, slow = tmp_path / "store", DRILLS / "slow"
    files = [tmp_path / "first", tmp_path / "second"]
    with (
        started(slow, store, files[0], "--json", "-") as first,
        started(slow, store, files[1], "--json", "-") as second,
    ):
        said = {process.wait(240): file for process, file in zip((first, second), files, strict=True)}

    errors = {code: file.with_suffix(".err").read_text() for code, file in said.items()}
    assert sorted(said) == [0, 2], errors
    assert len(claimed(store)) == 1
    run_id = claimed(store)[0]["run_id"]
    assert committed(store) == [run_id]
    refused = json.loads(said[2].with_suffix(".out").read_text())["runs"][0]
    assert (refused["run_id"], refused["exit_code"]) == (run_id, 2)
    assert f"nightgate run {slow} --resume {run_id} --store {store}" in errors[2]

    third = nightgate("nightly", slow, "--store", store, *ONCE, "--json", "-")

    assert third.code == 0, third.err
    assert [run["run_id"] for run in third.json["runs"]] == [run_id] == committed(store)
    assert "it is complete, verdict pass" in third.err


def test_a_killed_night_is_gone_on_with_by_the_next_start_of_its_date(tmp_path: Path) -> None:
    """Killed with -9 in the middle: the same command finds the run, plays the rest and commits it."""
    store, slow, more = tmp_path / "store", DRILLS / "slow", ("--trials", "20")
    with started(slow, store, tmp_path / "killed", *more, "--concurrency", "2") as process:
        wait_for_trials(store, process)
        process.kill()
        process.wait()
    assert committed(store) == []

    ran = nightgate(
        *("nightly", slow, "--store", store, *ONCE, *more, "--json", "-"),
        env={"PREFECT_HOME": str(tmp_path / "prefect")},
    )

    assert ran.code == 0, ran.err
    assert committed(store) == [claimed(store)[0]["run_id"]]
    assert ran.json["runs"][0]["trials"]["completed"] == 100
    assert "nobody works on it: it is resumed" in ran.err
    assert len(claimed(store)) == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--once", "--timezone", "Europe/Madird"), "did you mean Europe/Madrid?"),
        (("--timezone", "UTC"), "--timezone goes with --once"),
        (("--once", "--scheduled", "2026-10-25T02:30"), "add the offset"),
        (("--once", "--scheduled", "2999-10-25T02:30Z"), "lies ahead of this machine's clock"),
        (("--once", "--rerun", "latest"), "drop --rerun"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_wrong_input(
    tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    """Nothing is claimed, and nothing is spent."""
    suite = write_suite(tmp_path / "drill", [a_case("one")])
    ran = nightgate("nightly", suite, "--store", tmp_path / "s", *flags)

    assert ran.code == 2
    assert said in ran.err
    assert not (tmp_path / "s" / "nights").exists()
