"""A sweep over several runs through a batch queue: what waits together is submitted together, once."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from batch_standin import OpenAI, openai_batches
from shell import nightgate, start

pytestmark = pytest.mark.server

NIGHTS = ("night-1", "night-2", "night-3")
CASES = 8
QUICK = {
    "NIGHTGATE_BATCH_POLL_S": "0.05",
    "NIGHTGATE_BATCH_QUIET_S": "0.3",
    "NIGHTGATE_BATCH_MIN": "20",
}
"""More records than any one run has."""


@pytest.fixture
def openai() -> Iterator[OpenAI]:
    with openai_batches() as provider:
        yield provider


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three nights with eight trials each."""
    suite = tmp_path / "sweepy"
    (suite / "scripts").mkdir(parents=True)
    (suite / "suite.yaml").write_text(
        "suite: sweepy\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:agent\n"
        "judge: scripted:own\nevaluators: {'Criterion:polite': {threshold: 0.5, when: live}}\n"
    )
    asked = [{"id": "polite", "criterion": "Is it polite?"}]
    listed = [
        {
            "id": f"c{n}",
            "input": f"question {n}",
            "context": {"customer_id": "C-17"},
            "expect": {"answer": {"contains": ["Hello"]}, "judge": asked},
        }
        for n in range(CASES)
    ]
    (suite / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (suite / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    (suite / "scripts" / "own.yaml").write_text(json.dumps({"judgements": {}}))
    for night in NIGHTS:
        done = nightgate("run", suite, "--store", tmp_path / "store", "--run-id", night)
        assert done.code == 0, done.err
    return tmp_path / "store"


def command(store: Path, judge: str) -> list[str]:
    """A batch sweep over all nights."""
    return [
        "sweep", "suite:sweepy", "--store", str(store), "--judge", judge, "--evaluator", "Criterion:polite",
        "--batch", "--run-id", "all", "--json", "-", "--allow-unpriced",
    ]  # fmt: skip


def cells(store: Path) -> Counter[tuple[str, str]]:
    """How often each cell of each night was found."""
    paths = store.glob("scores/*/*/all-*/*.parquet")
    found = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    return Counter((row["source_run"], row["case_id"]) for row in found)


ONCE = {(night, f"c{n}"): 1 for night in NIGHTS for n in range(CASES)}


def test_judgements_of_several_runs_wait_in_one_job(store: Path, openai: OpenAI) -> None:
    """Each run alone has fewer records than a job may have: all of them would go live at twice the price."""
    done = nightgate(*command(store, openai.spec()), env=QUICK)

    assert done.code == 0, done.err
    assert (len(openai.jobs), len(openai.records), openai.live) == (1, len(ONCE), 0)
    assert cells(store) == ONCE


@pytest.mark.parametrize("moment", ["upload", "submitted", "look", "read"])
def test_a_batch_over_several_runs_survives_a_kill(store: Path, openai: OpenAI, moment: str) -> None:
    """Whoever resumes the whole finds its job again, and nothing is submitted twice."""
    process = start(*command(store, openai.spec()), env=QUICK)

    def kill(now: str) -> None:
        if now == moment and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    openai.on = kill
    assert process.wait(120) == -signal.SIGKILL
    openai.on = lambda _: None

    resumed = nightgate("sweep", "--resume", "all", "--store", store, "--json", "-", env=QUICK)

    assert resumed.code == 0, resumed.err
    assert (len(openai.jobs), len(openai.records), set(openai.records.values())) == (1, len(ONCE), {1})
    assert (openai.live, cells(store)) == (0, ONCE)
