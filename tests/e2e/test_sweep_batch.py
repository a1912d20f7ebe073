"""Judge sweeps through batch queues: the same rows as live ones, each record paid once, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from batch_standin import Faults, OpenAI, openai_batches
from shell import Ran, environment, nightgate

pytestmark = pytest.mark.server

CASES = 60
JUDGED = ("Criterion:polite", "Criterion:short")
RECORDS = CASES * len(JUDGED)
QUICK = {
    "NIGHTGATE_BATCH_POLL_S": "0.05",
    "NIGHTGATE_BATCH_QUIET_S": "0.3",
    "NIGHTGATE_BATCH_MIN": "20",
    "NIGHTGATE_BATCH_MAX": "60",
}
PRICES = """
version: test
prices:
  - models: ["openai:gpt-judge*"]
    input: 2
    output: 10
    batch: {factor: 0.5, as_of: 2026-11-29, source: test}
    as_of: 2026-11-29
    source: test
  - models: ["openai:gpt-queueless"]
    input: 2
    output: 10
    as_of: 2026-11-29
    source: test
"""
LIVE_USD = (1000 * 2 + 100 * 10) / 1e6
"""Of one call of the stand-in at list price."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed run of sixty trials, its suite and a price table."""
    folder = tmp_path_factory.mktemp("batch")
    suite = folder / "sweepy"
    (suite / "scripts").mkdir(parents=True)
    (suite / "suite.yaml").write_text(
        "suite: sweepy\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:agent\n"
        "judge: scripted:first\nevaluators: {HelpfulnessEvaluator: {threshold: 0.5, when: live}}\n"
    )
    asked = [{"id": "polite", "criterion": "Is it polite?"}, {"id": "short", "criterion": "Is it short?"}]
    listed = [
        {
            "id": f"c{n}",
            "input": f"question {n}",
            "context": {"customer_id": "C-17"},
            "expect": {"judge": asked},
        }
        for n in range(CASES)
    ]
    (suite / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (suite / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    script = {"judgements": {name: {"*": {"fields": "best"}} for name in JUDGED}}
    (suite / "scripts" / "first.yaml").write_text(json.dumps(script))
    (folder / "prices.yaml").write_text(PRICES)
    done = nightgate("run", suite, "--store", folder / "store", "--run-id", "base", "--no-alerts")
    assert done.code in (0, 1), done.err
    return folder


@pytest.fixture
def openai() -> Iterator[OpenAI]:
    with openai_batches() as provider:
        yield provider


def command(base: Path, judge: str, run_id: str, *more: str, names: tuple[str, ...] = JUDGED) -> list[str]:
    """A sweep's arguments."""
    evaluators = [flag for name in names for flag in ("--evaluator", name)]
    return [
        "sweep", "base", "--store", str(base / "store"), "--suite", str(base / "sweepy"), "--judge", judge,
        *evaluators, "--prices", str(base / "prices.yaml"), "--run-id", run_id, "--json", "-", *more,
    ]  # fmt: skip


def sweep(
    base: Path, judge: str, run_id: str, *more: str, env: Mapping[str, str] = QUICK, **options: Any
) -> Ran:
    """A sweep to its end."""
    return nightgate(*command(base, judge, run_id, *more, **options), env=env)


def rows(base: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """Stored rows of a sweep, in order of their cells."""
    paths = sorted((base / "store").glob(f"{table}/*/*/{run_id}/*.parquet"))
    found = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(found, key=lambda row: (row["case_id"], row["trial"], row["evaluator"]))


def findings(base: Path, run_id: str) -> list[dict[str, Any]]:
    """Scores apart from ids, times, attempts and cost."""
    aside = (
        "run_id",
        "sweep_id",
        "scored_at",
        "latency_ms",
        "attempt",
        "cost_nanousd",
        "date",
        "judge_model",
        "judge_fingerprint",
    )
    return [{k: v for k, v in row.items() if k not in aside} for row in rows(base, "scores", run_id)]


def test_batch_rows_equal_live_rows_at_half_the_price(base: Path, openai: OpenAI) -> None:
    """The same questions, the same answers: only the bill differs."""
    live = sweep(base, openai.spec("gpt-judge-live"), "live")
    calls = openai.live
    batch = sweep(base, openai.spec("gpt-judge-batch"), "batch", "--batch")

    assert (live.code, batch.code, calls, openai.live) == (0, 0, RECORDS, RECORDS), batch.err
    assert findings(base, "batch") == findings(base, "live")
    assert (len(openai.jobs), set(openai.records.values())) == (2, {1})
    assert live.json["cost_usd"]["judge"] == pytest.approx(RECORDS * LIVE_USD)
    assert batch.json["cost_usd"]["judge"] == pytest.approx(RECORDS * LIVE_USD / 2)
