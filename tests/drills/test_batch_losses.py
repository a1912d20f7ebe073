"""Thousands of records through a queue that breaks some lines, loses others and lets a job expire.

Every cell ends with one status, and what the queue answered is what the live wire answers. 3,003 records in
jobs of at most 500, or 19,999 in jobs of at most 2,500 where ``-m long`` asks for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from drill_lab import command

from batch_standin import Faults, OpenAI, openai_batches
from servers import environment
from shell import Ran
from sweepdrill import MAY_DIFFER, PRICES

pytestmark = pytest.mark.server

CRITERIA = 7
MINIMUM, EXPIRED = 100, 2
MALFORMED, MISSING = 0.03, 0.02
NAMES = [f"Criterion:k{n}" for n in range(CRITERIA)]
QUICK = {
    "NIGHTGATE_BATCH_POLL_S": "0.1",
    "NIGHTGATE_BATCH_QUIET_S": "2",
    "NIGHTGATE_BATCH_MIN": str(MINIMUM),
}


@dataclass
class Night:
    """The sweeps over one stored run."""

    folder: Path
    trials: int
    provider: OpenAI
    batch: Ran
    went_live: int

    @property
    def records(self) -> int:
        """Of the whole sweep."""
        return self.trials * CRITERIA

    def rows(self, table: str, run_id: str) -> list[dict[str, Any]]:
        """Stored rows of a sweep."""
        paths = (self.folder / "store").glob(f"{table}/*/*/{run_id}/*.parquet")
        return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def write_run(folder: Path, trials: int) -> None:
    """A committed run whose trials nobody has judged yet."""
    suite = folder / "many"
    (suite / "scripts").mkdir(parents=True)
    criteria = [{"id": f"k{n}", "criterion": f"Is it good in the way {n}?"} for n in range(CRITERIA)]
    expect = {"answer": {"contains": ["Hello"]}, "judge": criteria}
    cases = [{"id": f"c{n}", "input": f"question {n}.", "expect": expect} for n in range(trials)]
    settings = {
        "suite": "many",
        "agent": "drill_agent:build",
        "model": "scripted:agent",
        "judge": "scripted:agent",
        "evaluators": {name: {"when": "live"} for name in NAMES},
    }
    (suite / "suite.yaml").write_text(json.dumps(settings))
    (suite / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    (suite / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    (folder / "prices.yaml").write_text(PRICES)
    ran = command(
        "run", suite, "--store", folder / "store", "--run-id", "base", "--concurrency", "50", "--no-alerts"
    )
    assert ran.code == 0, ran.err


def swept(folder: Path, spec: str, run_id: str, *more: str) -> Ran:
    """A sweep of all criteria."""
    names = [flag for name in NAMES for flag in ("--evaluator", name)]
    done = command(
        "sweep", "base", "--store", folder / "store", "--suite", folder / "many", "--judge", spec, *names,
        "--prices", folder / "prices.yaml", "--run-id", run_id, "--json", "-", *more,
    )  # fmt: skip
    assert done.code == 0, done.err
    return done


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((429, 500), id="3003"),
        pytest.param((2857, 2500), id="19999", marks=pytest.mark.long),
    ],
)
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """All of it through the queue once; then some of it live."""
    folder = tmp_path_factory.mktemp("losses")
    trials, most = request.param
    write_run(folder, trials)
    faults = Faults(malformed=MALFORMED, missing=MISSING, ends={EXPIRED: "expired"})
    settings = {**QUICK, "NIGHTGATE_BATCH_MAX": str(most), "OPENAI_API_KEY": None}
    with openai_batches(faults) as provider, environment(**settings):
        batch = swept(folder, provider.spec("gpt-judge-batch"), "batch", "--batch")
        found = Night(folder, trials, provider, batch, provider.live)
        swept(folder, provider.spec("gpt-judge-live"), "live", "--case", "c2?", "--case", "c2??")
        yield found


def test_every_cell_has_one_status(night: Night) -> None:
    """None is missing, none is there twice, none is open."""
    rows = night.rows("scores", "batch")

    cells = Counter((row["case_id"], row["trial"], row["evaluator"]) for row in rows)
    assert len(cells) == len(rows) == night.records
    assert night.batch.json["complete"]
    statuses = Counter(row["status"] for row in rows)
    assert set(statuses) == {"pass", "fail"}
    assert {name: night.batch.json["cells"][name] for name in statuses} == statuses


def test_no_job_is_under_the_minimum_and_no_record_is_submitted_twice(night: Night) -> None:
    """3,003 by the most of a job would leave three, which the service would refuse."""
    provider = night.provider
    sizes = [len(provider.files[job["input_file_id"]].splitlines()) for job in provider.jobs]

    assert min(sizes) >= MINIMUM
    assert sum(sizes) == len(provider.records) == night.records
    assert set(provider.records.values()) == {1}
    assert [job["status"] for job in provider.jobs].count("expired") == 1


def test_the_bill_holds_each_record_and_each_live_call(night: Night) -> None:
    """What was lost is there with its reason, and the call that stood in for it."""
    ledger = night.rows("calls", "batch")
    outcomes = Counter((row["call_id"].startswith("batch-"), row["outcome"]) for row in ledger)

    assert len(ledger) == night.records + night.went_live
    assert outcomes[False, "ok"] == night.went_live
    assert outcomes[True, "ok"] == night.records - night.went_live
    fates = Counter(night.provider.fate("", body) for body in night.provider.bodies)
    assert fates["malformed"] > 0 < fates["missing"]
    assert abs(fates["malformed"] / night.records - MALFORMED) < 0.01
    assert abs(fates["missing"] / night.records - MISSING) < 0.01
    # A broken or missing line may have been paid for; one that expired was not.
    lost = {row["outcome"]: row["cost_nanousd"] for row in ledger if row["outcome"] != "ok"}
    assert lost == {"unknown": None, "error": 0}


def test_batch_rows_equal_live_rows_where_both_exist(night: Night) -> None:
    """All columns but ids, times, attempts, cost and the judge's name; most of these came by the queue."""
    aside = MAY_DIFFER | {"judge_model", "judge_fingerprint"}

    def findings(run_id: str) -> dict[tuple[str, str], dict[str, Any]]:
        return {
            (row["case_id"], row["evaluator"]): {k: v for k, v in row.items() if k not in aside}
            for row in night.rows("scores", run_id)
        }

    live, batch = findings("live"), findings("batch")
    queued = {
        (row["case_id"], row["evaluator"])
        for row in night.rows("calls", "batch")
        if row["call_id"].startswith("batch-") and row["outcome"] == "ok"
    }
    assert len(live) > 500
    assert len(live.keys() & queued) > len(live) // 2
    assert {cell: batch[cell] for cell in live} == live
