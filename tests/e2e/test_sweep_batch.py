"""Judge sweeps through batch queues: the same rows as live ones, each record paid once, whatever dies."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from batch_standin import Bedrock, Faults, OpenAI, Provider, bedrock_batches, openai_batches
from servers import S3Server
from shell import Ran, nightgate, start
from warm import Child

pytestmark = pytest.mark.server

CASES = 60
JUDGED = ("Criterion:polite", "Criterion:short")
RECORDS = CASES * len(JUDGED)
IN_FLIGHT = 10
"""Live calls at a time."""
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
  - models: ["bedrock:acme.judge*"]
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
        "judge: scripted:first\nevaluators: {HelpfulnessEvaluator: {threshold: 0.5, when: live}, "
        "CoherenceEvaluator: {threshold: 0.5, when: live}}\n"
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


@dataclass
class Queue:
    """Bedrock's stand-in with the environment that finds it."""

    provider: Bedrock
    env: dict[str, str]


@pytest.fixture
def bedrock(s3_process: S3Server) -> Iterator[Queue]:
    with bedrock_batches(s3_process.client()) as provider:
        env = {
            **QUICK,
            **s3_process.env,
            "AWS_ENDPOINT_URL_BEDROCK": provider.url,
            "NIGHTGATE_BATCH_S3": f"s3://{s3_process.bucket('batch')}/judges",
            "NIGHTGATE_BATCH_ROLE_ARN": "arn:aws:iam::123456789012:role/batch",
            "NIGHTGATE_BATCH_MAX": "200",
        }
        yield Queue(provider, env)


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


def resume(base: Path, run: str, env: Mapping[str, str], *more: str) -> Ran:
    """An open sweep gone on with; that it is batched is known from its plan."""
    folders = ("--store", base / "store", "--suite", base / "sweepy", "--prices", base / "prices.yaml")
    return nightgate("sweep", "--resume", run, *folders, "--json", "-", *more, env=env)


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


def test_bedrock_rows_equal_live_rows_too(base: Path, bedrock: Queue) -> None:
    """One job of all records; the queue takes no tool, and nobody notices."""
    names = (*JUDGED, "HelpfulnessEvaluator")
    provider = bedrock.provider
    live = sweep(base, provider.spec("acme.judge-live"), "bed-live", env=bedrock.env, names=names)
    calls = provider.live
    batch = sweep(
        base, provider.spec("acme.judge-batch"), "bed-batch", "--batch", env=bedrock.env, names=names
    )

    assert (live.code, batch.code, calls, provider.live) == (0, 0, 3 * CASES, 3 * CASES), batch.err
    assert findings(base, "bed-batch") == findings(base, "bed-live")
    assert (len(provider.jobs), len(provider.records)) == (1, 3 * CASES)
    assert batch.json["cost_usd"]["judge"] == pytest.approx(live.json["cost_usd"]["judge"] / 2)


def test_a_typed_answer_comes_back_as_the_call_that_the_sdk_expects(base: Path, openai: OpenAI) -> None:
    """Strands' ratings, of an async judge and of one that waits in a thread."""
    names = ("HelpfulnessEvaluator", "CoherenceEvaluator")
    live = sweep(base, openai.spec("gpt-judge-typed-live"), "typed-live", names=names)
    batch = sweep(base, openai.spec("gpt-judge-typed"), "typed", "--batch", names=names)

    assert (live.code, batch.code, openai.live, len(openai.records)) == (0, 0, 2 * CASES, 2 * CASES)
    assert findings(base, "typed") == findings(base, "typed-live")
    assert {row["status"] for row in findings(base, "typed")} == {"pass", "fail"}


@pytest.mark.parametrize("end", ["completed", "expired", "failed", "stopped"])
def test_every_cell_has_one_status_whatever_the_queue_loses(base: Path, openai: OpenAI, end: str) -> None:
    """Broken, missing and failed lines and a job that ends badly: the rest goes live, and is paid for."""
    openai.faults = Faults(malformed=0.1, missing=0.1, error=0.1, ends={1: end})
    done = sweep(base, openai.spec(f"gpt-judge-{end}"), f"lossy-{end}", "--batch")

    assert (done.code, done.json["cells"]["planned"], done.json["cells"]["error"]) == (0, RECORDS, 0), (
        done.err
    )
    assert set(openai.records.values()) == {1}
    ledger = rows(base, "calls", f"lossy-{end}")
    answered = [call for call in ledger if call["outcome"] == "ok"]
    assert (len(answered), len(ledger)) == (RECORDS, RECORDS + openai.live)
    lost = [call for call in ledger if call["outcome"] != "ok"]
    assert {call["outcome"] for call in lost} == {"error", "unknown"}
    assert {call["cost_nanousd"] for call in lost if call["outcome"] == "error"} == {0}
    assert {call["cost_nanousd"] for call in lost if call["outcome"] == "unknown"} == {None}


@pytest.mark.parametrize("end", ["partial", "expired", "failed", "stopped"])
def test_bedrocks_ends_leave_no_cell_open(base: Path, bedrock: Queue, end: str) -> None:
    """As documented: some of the answers, or none, and no line for the rest."""
    provider = bedrock.provider
    provider.faults = Faults(malformed=0.1, missing=0.1, error=0.1, ends={0: end})
    done = sweep(base, provider.spec(f"acme.judge-{end}"), f"bed-{end}", "--batch", env=bedrock.env)

    assert (done.code, done.json["cells"]["error"]) == (0, 0), done.err
    ledger = rows(base, "calls", f"bed-{end}")
    assert (sum(call["outcome"] == "ok" for call in ledger), len(ledger)) == (
        RECORDS,
        RECORDS + provider.live,
    )
    assert len(provider.jobs) == 1


def test_what_the_queue_lost_may_be_left_an_error(base: Path, openai: OpenAI) -> None:
    """By setting: nothing is sent live, and the ledger says why."""
    openai.faults = Faults(missing=0.2)
    done = sweep(
        base, openai.spec("gpt-judge-left"), "left", "--batch", env={**QUICK, "NIGHTGATE_BATCH_REST": "error"}
    )

    broken = [row for row in findings(base, "left") if row["status"] == "error"]
    assert (openai.live, len(broken)) == (0, done.json["cells"]["error"])
    assert 0 < len(broken) < RECORDS
    assert {row["blame"] for row in broken} == {"infra"}
    assert "its results have no line for this record" in broken[0]["reason"]


def test_too_few_records_are_sent_live(base: Path, openai: OpenAI) -> None:
    """A queue of up to a day is not worth it for six questions, and Bedrock would refuse them."""
    done = sweep(
        base,
        openai.spec("gpt-judge-few"),
        "few",
        "--batch",
        "--case",
        "c1*",
        "--case",
        "c2",
        names=JUDGED[:1],
    )

    assert done.code == 0
    assert (openai.live, len(openai.jobs), done.json["cells"]["planned"]) == (12, 0, 12)


def test_a_cap_holds_for_a_job_before_it_is_submitted(base: Path, openai: OpenAI) -> None:
    """No record is submitted whose cost could pass it, and a resume with more ends the sweep."""
    spec = openai.spec("gpt-judge-cap")
    stopped = sweep(base, spec, "cap", "--batch", "--budget-usd", "0.15")
    spent = stopped.json["cost_usd"]["judge"]
    resumed = resume(base, "cap", QUICK, "--budget-usd", "9")

    assert (stopped.code, stopped.json["complete"]) == (4, False)
    assert 0 < spent <= 0.15
    assert (resumed.code, resumed.json["cells"]["error"]) == (0, 0), resumed.err
    assert set(openai.records.values()) == {1}
    assert len(rows(base, "calls", "cap")) == RECORDS


def test_no_budget_is_no_job(base: Path, openai: OpenAI) -> None:
    """``--budget-usd 0`` makes no call of any kind."""
    done = sweep(base, openai.spec("gpt-judge-zero"), "zero", "--batch", "--budget-usd", "0")

    assert (done.code, openai.live, openai.jobs) == (4, 0, [])


@pytest.mark.parametrize(
    ("judge", "word"),
    [
        ("scripted:first", "has no batch queue"),
        ("openai:gpt-queueless", "what the batch queue of judge"),
        ("bedrock:acme.judge", "NIGHTGATE_BATCH_S3"),
    ],
)
def test_a_judge_without_a_queue_is_refused_before_anything_is_spent(
    base: Path, judge: str, word: str
) -> None:
    """Exit 2, with what to do."""
    done = sweep(base, judge, "refused", "--batch", env={**QUICK, "AWS_REGION": "us-east-1"})

    assert done.code == 2
    assert word in done.err


# --- whatever dies


class Killer:
    """Kills a sweep with signal 9 when its provider is about to do something for the nth time."""

    def __init__(self, moment: str, nth: int = 1) -> None:
        self.moment, self.left, self.signal = moment, nth, signal.SIGKILL
        self.process: Child | None = None

    def __call__(self, moment: str) -> None:
        if moment != self.moment or self.process is None:
            return
        self.left -= 1
        if self.left == 0:
            self.process.send_signal(self.signal)
            self.process.wait()

    def run(self, arguments: list[str], env: Mapping[str, str]) -> int:
        """The sweep's exit code."""
        self.process = start(*arguments, env=env)
        return self.process.wait(120)


def killed_and_resumed(
    base: Path, provider: Provider, spec: str, run: str, killer: Killer, env: Mapping[str, str]
) -> Ran:
    """A sweep that was killed, and its resume."""
    provider.on = killer
    code = killer.run(command(base, spec, run, "--batch"), env)
    assert code == -signal.SIGKILL
    provider.on = lambda _: None
    return resume(base, run, env)


def check_paid_once(base: Path, provider: Provider, run: str, like: str = "undisturbed") -> None:
    """Rows as of an uninterrupted sweep, and a ledger that is the provider's own bill."""
    assert findings(base, run) == findings(base, like)
    assert set(provider.records.values()) == {1}
    ledger = rows(base, "calls", run)
    assert len(ledger) == len(provider.records) + provider.live == RECORDS
    assert {call["outcome"] for call in ledger} == {"ok"}


@pytest.fixture(scope="module")
def undisturbed(base: Path) -> None:
    """A sweep that nobody killed; answers do not depend on the provider's name."""
    with openai_batches() as provider:
        assert sweep(base, provider.spec("gpt-judge-undisturbed"), "undisturbed").code == 0


@pytest.fixture(scope="module")
def bedrock_undisturbed(base: Path, s3_process: S3Server) -> None:
    """The same through Bedrock, all live."""
    with bedrock_batches(s3_process.client()) as provider:
        done = sweep(base, provider.spec("acme.judge-undisturbed"), "bed-undisturbed", env=s3_process.env)
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("moment", "nth"),
    [("upload", 1), ("submit", 1), ("submitted", 1), ("submitted", 2), ("look", 3), ("read", 1), ("read", 2)],
)
@pytest.mark.usefixtures("undisturbed")
def test_a_killed_batch_sweep_goes_on_and_pays_each_record_once(
    base: Path, openai: OpenAI, moment: str, nth: int
) -> None:
    """Before, at and after the submit, while polling, while reading results."""
    run = f"killed-{moment}-{nth}"
    done = killed_and_resumed(base, openai, openai.spec(f"gpt-judge-{run}"), run, Killer(moment, nth), QUICK)

    assert done.code == 0, done.err
    check_paid_once(base, openai, run)


@pytest.mark.parametrize(("moment", "nth"), [("submit", 1), ("submitted", 1), ("look", 2)])
@pytest.mark.usefixtures("bedrock_undisturbed")
def test_a_killed_bedrock_sweep_goes_on_and_pays_each_record_once(
    base: Path, bedrock: Queue, moment: str, nth: int
) -> None:
    """The same through Bedrock, whose jobs are found by name and token."""
    run, provider = f"bed-killed-{moment}", bedrock.provider
    spec = provider.spec(f"acme.judge-{moment}")
    done = killed_and_resumed(base, provider, spec, run, Killer(moment, nth), bedrock.env)

    assert done.code == 0, done.err
    assert len(provider.jobs) == 1
    check_paid_once(base, provider, run, like="bed-undisturbed")


@pytest.mark.usefixtures("undisturbed")
def test_a_sweep_killed_while_the_rest_goes_live_pays_no_record_twice(base: Path, openai: OpenAI) -> None:
    """What the queue lost is asked live; of that only what was in flight at the kill is asked again."""
    openai.faults = Faults(missing=0.1, error=0.2)
    run = "killed-live"
    done = killed_and_resumed(base, openai, openai.spec("gpt-judge-kl"), run, Killer("live", 20), QUICK)

    assert done.code == 0, done.err
    assert findings(base, run) == findings(base, "undisturbed")
    assert set(openai.records.values()) == {1}
    ledger = rows(base, "calls", run)
    # A call may have been answered, and its finding not yet written: then it is in flight as well.
    again = sum(call["outcome"] == "ok" for call in ledger) - RECORDS
    cut_off = [
        call for call in ledger if call["outcome"] == "unknown" and not call["call_id"].startswith("batch-")
    ]
    assert again >= 0
    assert 1 <= len(cut_off) + again <= IN_FLIGHT
    heard = len(ledger) - len(cut_off) - len(openai.records)
    assert heard <= openai.live <= heard + len(cut_off)


@pytest.mark.usefixtures("undisturbed")
def test_an_interrupted_batch_sweep_leaves_its_jobs_to_the_resume(base: Path, openai: OpenAI) -> None:
    """Ctrl-C ends the waiting at once, exit 130; nothing that was submitted is lost."""
    openai.faults = Faults(looks=10**9)
    stopper = Killer("look", 3)
    stopper.signal = signal.SIGINT
    openai.on = stopper
    code = stopper.run(command(base, openai.spec("gpt-judge-int"), "interrupted", "--batch"), QUICK)
    openai.faults, openai.on = Faults(), lambda _: None
    done = resume(base, "interrupted", QUICK)

    assert (code, done.code) == (130, 0), done.err
    check_paid_once(base, openai, "interrupted")


def test_a_dry_run_tells_both_prices(base: Path, openai: OpenAI) -> None:
    """At list price, and through the queue."""
    spec = openai.spec("gpt-judge-dry")
    done = sweep(base, spec, "dry", "--batch", "--dry-run", names=("HelpfulnessEvaluator",))

    assert (done.code, openai.live, openai.jobs) == (0, 0, [])
    assert done.json["usd_batch"] == pytest.approx(done.json["usd"] / 2)
    assert done.json["usd"] > 0
    assert "with --batch" in done.err
