"""Faults of whole runs: interrupts, storms, closed loops, stores that fail half way."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fault_models
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from drill_lab import CITED, OK, a_case, command, evaluator, only, play, rows, tables, write_suite

import nightgate
from nightgate import gate, open_store
from nightgate.adapters.metering import RetryPolicy
from nightgate.errors import StoreError
from nightgate.steps.finishing import finish_run
from nightgate.testing import InMemoryStore
from shell import environment, start
from shell import nightgate as shell_nightgate

# --- Ctrl-C ---


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run of 20 trials that got SIGINT while its seventh call was in flight, and what was seen then."""
    folder = tmp_path_factory.mktemp("interrupted")
    cases = [a_case(f"c{i:02}") for i in range(20)]
    suite = write_suite(folder / "s", cases, model="import:fault_models:Pausing")
    mark, store = folder / "mark", folder / "store"
    process = start(
        *("run", suite, "--store", store, "--run-id", "stopped", "--concurrency", "1", "--json", "-"),
        env={"DRILL_MARK": str(mark)},
    )
    deadline = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    seen = {"code": process.returncode, "summary": json.loads(out), "err": err}
    seen["gate"] = command("gate", "stopped", "--store", store)
    seen["resumed"] = shell_nightgate("run", suite, "--store", store, "--resume", "stopped", "--json", "-")
    return {**seen, "store": open_store(str(store))}


def test_ctrl_c_ends_in_130_with_what_was_finished(interrupted: dict[str, Any]) -> None:
    """Six of twenty, marked as cancelled; not a traceback."""
    summary = interrupted["summary"]

    assert interrupted["code"] == 130
    assert (summary["complete"], summary["stopped"], summary["exit_code"]) == (False, "cancelled", 130)
    trials = summary["trials"]
    assert (trials["completed"], trials["cancelled"], trials["not_run"]) == (6, 1, 13)
    assert (summary["cells"]["pass"], summary["cells"]["skipped"]) == (6, 14)
    assert "Traceback" not in interrupted["err"]


def test_the_gate_does_not_take_it_for_whole(interrupted: dict[str, Any]) -> None:
    """Six passed of six played is no pass."""
    assert interrupted["gate"].code == 3
    assert "run stopped is open" in interrupted["gate"].out


def test_resume_plays_the_other_fourteen(interrupted: dict[str, Any]) -> None:
    """And commits."""
    resumed = interrupted["resumed"]

    assert resumed.code == 0, resumed.err
    assert (resumed.json["complete"], resumed.json["trials"]["completed"]) == (True, 20)


def test_nothing_finished_is_played_again(interrupted: dict[str, Any]) -> None:
    """The ledger: one answered call a trial, and the one that was in flight."""
    calls = rows(interrupted["store"], "calls")

    assert Counter(call["outcome"] for call in calls) == {"ok": 20, "unknown": 1}
    unheard = only([call for call in calls if call["outcome"] == "unknown"])
    assert (unheard["case_id"], unheard["tokens_in"], unheard["cost_nanousd"]) == ("c06", None, None)
    assert {(call["case_id"], call["play"]) for call in calls if call["play"] > 1} == {("c06", 2)}


# --- throttling ---


def test_a_throttling_storm_fails_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 trials, the first 30 calls throttled, four at once allowed: 20 verdicts, and bounded calls."""
    monkeypatch.setattr("nightgate.adapters.hub.RetryPolicy", lambda: RetryPolicy(base_s=0.02))
    suite = write_suite(
        tmp_path / "s", [a_case(f"c{i:02}") for i in range(20)], model="import:fault_models:Storm"
    )
    store = InMemoryStore()

    summary = play(suite, store, concurrency=20)

    model = fault_models.Storm.last
    assert model is not None
    assert (summary["exit_code"], evaluator(summary, "CitesSource")["passed"]) == (0, 20)
    assert (model.served, model.peak <= 4) == (20, True)
    assert model.calls == summary["calls"]["total"] <= 20 * RetryPolicy().attempts
    assert summary["calls"]["retries"] == model.calls - 20


def test_retries_and_waits_stand_in_the_rows(tmp_path: Path) -> None:
    """Waiting is no working time: the trial is not slower for it."""
    replies = {"*": [{**OK[0], "raise": "throttled", "times": 3}]}
    store = InMemoryStore()

    play(write_suite(tmp_path / "s", [a_case("one")], replies=replies), store)

    calls = sorted(rows(store, "calls"), key=lambda row: row["attempt"])
    assert [(row["attempt"], row["outcome"]) for row in calls] == [
        (1, "throttled"),
        (2, "throttled"),
        (3, "throttled"),
        (4, "ok"),
    ]
    assert all(row["wait_ms"] > 0 for row in [*calls[1:], only(rows(store, "trials"))])


# --- event loops ---


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections, and with them the loop that they were made on

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A suite whose model asks a loopback server through a client that its module holds."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] - clients that vanish are the point
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(fault_models.Client, "url", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(fault_models.Client, "held", None)
    yield write_suite(tmp_path / "s", [a_case(f"c{i}") for i in range(5)], model="import:fault_models:Remote")
    server.shutdown()
    server.server_close()


def test_two_runs_with_one_client_in_loops_of_their_own(remote: Path) -> None:
    """The client keeps connections of the first run's loop, which is closed."""
    assert [play(remote)["exit_code"] for _ in range(2)] == [0, 0]


def test_two_runs_with_one_client_in_one_loop(remote: Path, tmp_path: Path) -> None:
    """The first run's end must not close what the user's module holds."""

    async def both() -> list[int]:
        stores = (InMemoryStore(), InMemoryStore())
        return [
            (await nightgate.run_suite(remote, store=store, spool=str(tmp_path))).exit_code
            for store in stores
        ]

    assert asyncio.run(both()) == [0, 0]


# --- column types ---


def test_column_types_do_not_drift(tmp_path: Path) -> None:
    """Whole scores without errors in one run, halves and an error in the next: one schema, any order."""
    uris = str(tmp_path / "store")
    for name, scores in (("whole", [1, 0]), ("half", [0.5, "nan"])):
        cases = [a_case(f"c{i}", context={"score": score}, expect={}) for i, score in enumerate(scores)]
        config = {"Ours": {"use": "fault_evaluators:Ours", "threshold": 0.5}}
        play(write_suite(tmp_path / name, cases, evaluators=config), uris, run_id=name)
    store = open_store(uris)

    schemas = {table.schema for name in ("whole", "half") for table in tables(store, "scores", name)}
    assert len(schemas) == 1
    assert only(list(schemas)).metadata[b"nightgate.schema"]
    whole, half = (tables(store, "scores", name)[0] for name in ("whole", "half"))
    for order in ((whole, half), (half, whole)):
        assert pa.concat_tables(order).column("score").null_count == 1
    folder = tmp_path / "store" / "scores"
    assert pd.read_parquet(folder)["score"].notna().sum() == 3
    assert pl.read_parquet(f"{folder}/**/*.parquet")["score"].null_count() == 1


# --- stores that fail ---


class FailingStore(InMemoryStore):
    """Refuses what is put under some prefixes after a number of puts."""

    def __init__(self, allowed: int, prefixes: tuple[str, ...]) -> None:
        super().__init__("failing")
        self.allowed, self.prefixes = allowed, prefixes
        self.put: list[str] = []

    def create(self, key: str, data: bytes) -> None:
        self._count(key)
        super().create(key, data)

    def replace(self, key: str, data: bytes) -> None:
        self._count(key)
        super().replace(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        found = list(keys)
        for key in found[:1]:
            self._count(key)
        super().delete(found)

    def _count(self, key: str) -> None:
        if not key.startswith(self.prefixes):
            return
        if len(self.put) >= self.allowed:
            raise StoreError(f"{self.uri}: {key}: no space left")
        self.put.append(key)


COMMIT = ("transcripts/", "trials/", "scores/", "calls/", "summaries/", "manifests/")


@pytest.mark.parametrize("allowed", range(len(COMMIT)))
def test_a_commit_that_breaks_half_way_is_no_commit(tmp_path: Path, allowed: int) -> None:
    """After any number of parts: no manifest, gate 3; and the second finish commits it all."""
    suite = write_suite(tmp_path / "s", [a_case("one", trials=3), a_case("two")])
    store = FailingStore(allowed, COMMIT)
    with pytest.raises(StoreError, match="no space left"):
        play(suite, store, run_id="half")

    assert not store.find("manifests/")
    assert gate(store, "half").exit_code == 3
    store.allowed = 100
    finished = finish_run(store, "half")

    assert (finished.summary.complete, finished.summary.exit_code) == (True, 0)
    assert gate(store, "half").exit_code == 0
    assert (len(rows(store, "trials")), len(rows(store, "scores")), len(rows(store, "calls"))) == (4, 4, 4)
    assert not store.find("staging/")


def test_a_store_that_takes_no_groups_loses_nothing(tmp_path: Path) -> None:
    """Records wait in the journal; the resumed run brings them up and repeats no call."""
    suite = write_suite(tmp_path / "s", [a_case("one", trials=3), a_case("two")])
    store = FailingStore(0, ("staging/half/",))  # the look before the run finds it well
    spool = str(tmp_path / "spool")
    first = play(suite, store, run_id="half", spool=spool)
    store.allowed = 100

    last = play(suite, store, resume="half", spool=spool)

    assert (first["complete"], first["exit_code"]) == (False, 3)
    assert (last["complete"], last["exit_code"]) == (True, 0)
    assert len(rows(store, "calls")) == 4


def test_a_summary_that_was_refused_is_written_by_the_next_finish(tmp_path: Path) -> None:
    """The run is committed before it; the gate reads rows and never needed it."""
    suite = write_suite(tmp_path / "s", [a_case("one")])
    store = FailingStore(0, ("runs/half/summary",))
    with pytest.raises(StoreError, match="no space left"):
        play(suite, store, run_id="half")

    assert gate(store, "half").exit_code == 0
    store.allowed = 100
    finish_run(store, "half")

    assert json.loads(store.read("runs/half/summary.json"))["complete"]


def test_a_full_disk_ends_in_a_word_and_a_resume(tmp_path: Path) -> None:
    """The journal cannot be written any more: stop, say so, keep what was written."""
    cases = [a_case(f"c{i:02}", expect=CITED) for i in range(40)]
    suite = write_suite(tmp_path / "s", cases)
    flags = ("run", str(suite), "--store", str(tmp_path / "store"))
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000));"
        "from nightgate.steps import spools; spools.NEEDED_BYTES = 1000;"  # the disk fills up later
        "import nightgate.cli; sys.exit(nightgate.cli.main())"
    )
    full = subprocess.run(
        [sys.executable, "-c", limited, *flags, "--run-id", "full", "--concurrency", "1"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    resumed = command(*flags, "--resume", "full")

    assert full.returncode in (2, 3), full.stderr
    assert "Traceback" not in full.stderr
    assert "--resume" in full.stderr
    assert resumed.code == 0, resumed.err
    store = open_store(str(tmp_path / "store"))
    assert len(rows(store, "trials")) == 40
    assert len(rows(store, "calls")) <= 41


def test_a_folder_without_rights_is_said_in_a_line(tmp_path: Path) -> None:
    """Root may write everywhere, so a file system that takes nothing stands in."""
    ran = command("run", write_suite(tmp_path / "s", [a_case("one")]), "--store", "/proc/nightgate")

    assert ran.code in (2, 3)
    assert "/proc/nightgate" in ran.err
    assert "Traceback" not in ran.err
