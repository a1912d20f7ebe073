"""What a judge may answer, over a provider's wire: live and from a batch queue, ours and Strands'.

Malformed replies are read or are the judge's error; never a pass by default, never the agent's fail.
Repeats are bounded, and each of them is on the provider's bill and on ours.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from batch_standin import JsonObject, OpenAI, Raw, bedrock_batches, openai_batches
from servers import S3Server
from shell import Ran, nightgate
from sweepdrill import PRICES

pytestmark = pytest.mark.server

OURS, RATED, GRADED = "Criterion:tone", "CorrectnessEvaluator", "Rubric"
ASKED_AGAIN = {OURS: 2, RATED: 6, GRADED: 6}
"""The most answers that one judgement may take: ours asks once more, of Strands' the calls are capped."""
FENCE = "```json\n{}\n```"


@dataclass(frozen=True)
class Reply:
    """What the judge says, and what has to become of it."""

    raw: Raw
    status: str
    score: float | None = None
    calls: int | None = None
    """None: from two to the most."""


def text(said: str, status: str, score: float | None = None, calls: int | None = None) -> Reply:
    """A reply in words."""
    return Reply(Raw(said), status, score, calls)


def call(said: str, status: str, score: float | None = None, calls: int | None = None) -> Reply:
    """A reply as arguments of the tool by which a rating is asked for."""
    return Reply(Raw(said, as_call=True), status, score, calls)


def broken(said: str, *, as_call: bool = False) -> Reply:
    """A reply without a verdict."""
    return Reply(Raw(said, as_call=as_call), "error")


YES = '{"verdict": "yes", "reason": "kind"}'
RIGHT = '{"score": "Perfectly Correct", "reasoning": "as it was"}'
GOOD = '{"score": 0.9, "test_pass": true, "reason": "well said"}'

REPLIES: dict[str, dict[str, Reply]] = {
    OURS: {
        "plain": text(YES, "pass", 1.0, 1),
        "rude": text('{"verdict": "no", "reason": "rude"}', "fail", 0.0, 1),
        "fenced": text(FENCE.format(YES), "pass", 1.0, 1),
        "comment": text(f"{YES} // as asked", "pass", 1.0, 1),
        "cut": broken('{"verdict": "ye'),
        "prose": broken("The answer is friendly, so I would say yes."),
        "reason": broken('{"reason": "fine"}'),
        "falsetext": broken('{"pass": "false"}'),
        "scoretext": broken('{"score": "0.9"}'),
        "seven": broken('{"score": 7}'),
        "nan": broken('{"score": NaN}'),
        "nanverdict": broken('{"verdict": NaN, "reason": "x"}'),
    },
    RATED: {
        "plain": call(RIGHT, "pass", 1.0, 1),
        "half": call('{"score": "Partially Correct", "reasoning": "in part"}', "fail", 0.5, 1),
        "fenced": call(FENCE.format(RIGHT), "pass", 1.0, 1),
        "fencedtext": text(FENCE.format(RIGHT), "pass", 1.0, 1),
        "comment": call(f"{RIGHT} // as asked", "pass", 1.0, 1),
        "commenttext": text(f"{RIGHT} // as asked", "pass", 1.0, 1),
        "cut": broken('{"score": "Perf', as_call=True),
        "cuttext": broken('{"score": 0.'),
        "prose": broken("Perfectly Correct, I would say."),
        "prosecall": broken("Perfectly Correct, I would say.", as_call=True),
        "reason": broken('{"reason": "fine"}', as_call=True),
        "reasontext": broken('{"reason": "fine"}'),
        "falsetext": broken('{"pass": "false"}', as_call=True),
        "scoretext": broken('{"score": "0.9", "reasoning": "x"}', as_call=True),
        "seven": broken('{"score": 7, "reasoning": "x"}', as_call=True),
        "nan": broken('{"score": NaN, "reasoning": "x"}', as_call=True),
    },
    GRADED: {
        "plain": call(GOOD, "pass", 0.9, 1),
        "fenced": call(FENCE.format(GOOD), "pass", 0.9, 1),
        "comment": text(f"{GOOD} # as asked", "pass", 0.9, 1),
        "scoretext": call('{"score": "0.9", "test_pass": true, "reason": "x"}', "pass", 0.9, 1),
        "falsetext": call('{"score": 0.2, "test_pass": "false", "reason": "x"}', "fail", 0.2, 1),
        "zero": call('{"score": 0, "test_pass": false, "reason": "x"}', "fail", 0.0, 1),
        "passalone": broken('{"pass": "false"}', as_call=True),
        "reason": broken('{"reason": "fine"}', as_call=True),
        "cut": broken('{"score": 0.', as_call=True),
        "prose": broken("About nine out of ten."),
        "seven": Reply(Raw('{"score": 7, "test_pass": true, "reason": "x"}', as_call=True), "error", None, 1),
        "nan": Reply(Raw('{"score": NaN, "test_pass": true, "reason": "x"}', as_call=True), "error", None, 1),
    },
}
CELLS = [(evaluator, name) for evaluator, replies in REPLIES.items() for name in replies]
LIVE_NANOUSD = 1000 * 2_000 + 100 * 10_000
"""Of one call of the stand-in at list price."""
QUICK = {
    "NIGHTGATE_BATCH_POLL_S": "0.05",
    "NIGHTGATE_BATCH_QUIET_S": "0.3",
    "NIGHTGATE_BATCH_MIN": "1",
}


@dataclass
class Judge:
    """Answers by the case that is judged, and counts what it was asked."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, body: JsonObject) -> Raw:
        told = json.dumps(body)
        name = re.search(r"my name is ([a-z]+)", told)
        assert name is not None, told
        if "CorrectnessRating" in told or "Perfectly Correct" in told:
            evaluator = RATED
        elif "CRITERION" in told:
            evaluator = OURS
        else:
            evaluator = GRADED
        self.asked[evaluator, name[1]] += 1
        return REPLIES[evaluator][name[1]].raw


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed run with a trial for each reply; the trial says which one is wanted."""
    folder = tmp_path_factory.mktemp("replies")
    suite = folder / "replies"
    (suite / "scripts").mkdir(parents=True)
    rubric = {"use": "strands_evals.evaluators:OutputEvaluator", "params": {"rubric": "Is it well said?"}}
    settings = {
        "suite": "replies",
        "agent": "drill_agent:build",
        "model": "scripted:agent",
        "judge": "scripted:agent",
        "evaluators": {
            RATED: {"threshold": 0.85, "when": "live"},
            GRADED: {**rubric, "threshold": 0.7, "when": "live"},
        },
    }
    names = sorted({name for _, name in CELLS})
    cases = [
        {"id": name, "input": "Who?", "expect": {"judge": [{"id": "tone", "criterion": "Is it friendly?"}]}}
        for name in names
    ]
    script = {
        "replies": {name: [{"say": f"Gladly: my name is {name}."}] for name in names},
        "judgements": {OURS: {"*": {"fields": "best"}}},
    }
    (suite / "suite.yaml").write_text(json.dumps(settings))
    (suite / "cases.yaml").write_text(json.dumps({"cases": cases}))
    (suite / "scripts" / "agent.yaml").write_text(json.dumps(script))
    (folder / "prices.yaml").write_text(PRICES)
    done = nightgate("run", suite, "--store", folder / "store", "--run-id", "base", "--no-alerts")
    assert done.code == 0, done.err
    return folder


@dataclass
class Swept:
    """A sweep over all replies, the provider's own count of its questions, and the stored rows."""

    done: Ran
    judge: Judge
    provider: Any
    scores: dict[tuple[str, str], dict[str, Any]]
    ledger: list[dict[str, Any]]

    def paid(self, cell: tuple[str, str]) -> list[dict[str, Any]]:
        """Ledger rows of a cell."""
        return [row for row in self.ledger if (row["evaluator"], row["case_id"]) == cell]


def swept(base: Path, provider: Any, spec: str, run: str, *more: str, env: dict[str, str]) -> Swept:
    """One sweep for each evaluator: each has replies of its own."""
    judge = provider.answer = Judge()
    scores: dict[tuple[str, str], dict[str, Any]] = {}
    ledger: list[dict[str, Any]] = []
    for number, (evaluator, replies) in enumerate(REPLIES.items()):
        run_id = f"{run}-{number}"
        cases = [flag for name in replies for flag in ("--case", name)]
        done = nightgate(
            "sweep", "base", "--store", base / "store", "--suite", base / "replies", "--judge", spec,
            "--evaluator", evaluator, *cases, "--prices", base / "prices.yaml", "--run-id", run_id,
            "--json", "-", *more, env={**env, "OPENAI_API_KEY": ""},
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.json["complete"]
        found = stored(base, "scores", run_id)
        assert sorted(row["case_id"] for row in found) == sorted(replies)
        scores |= {(row["evaluator"], row["case_id"]): row for row in found}
        ledger += stored(base, "calls", run_id)
    return Swept(done, judge, provider, scores, ledger)


def stored(base: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """Rows as any reader of Parquet sees them."""
    paths = sorted((base / "store").glob(f"{table}/*/*/{run_id}/*.parquet"))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


@pytest.fixture(scope="module")
def live(base: Path) -> Iterator[Swept]:
    """Every reply over the live wire."""
    with openai_batches() as provider:
        yield swept(base, provider, provider.spec("gpt-judge-live"), "live", env=QUICK)


@pytest.fixture(scope="module")
def batch(base: Path) -> Iterator[Swept]:
    """Every reply out of a batch queue; what is asked again waits for a job again."""
    with openai_batches() as provider:
        yield swept(base, provider, provider.spec("gpt-judge-batch"), "batch", "--batch", env=QUICK)


@pytest.fixture(params=["live", "batch"])
def either(request: pytest.FixtureRequest) -> Swept:
    """Both ways."""
    found: Swept = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("cell", CELLS, ids=[f"{evaluator}-{name}" for evaluator, name in CELLS])
def test_a_reply_is_read_or_is_the_judges_error(either: Swept, cell: tuple[str, str]) -> None:
    """Its status, its score, and the raw reply where there is no verdict in it."""
    wanted, row = REPLIES[cell[0]][cell[1]], either.scores[cell]

    blame = "judge" if wanted.status == "error" else None
    assert (row["status"], row["blame"], row["score"]) == (wanted.status, blame, wanted.score), row["reason"]
    assert row["passed"] is {"pass": True, "fail": False, "error": None}[wanted.status]
    if wanted.status == "error":
        assert json.loads(row["details"])["raw"] == wanted.raw.text


@pytest.mark.parametrize("cell", CELLS, ids=[f"{evaluator}-{name}" for evaluator, name in CELLS])
def test_repeats_are_bounded_and_each_is_paid_and_counted(either: Swept, cell: tuple[str, str]) -> None:
    """By the provider's own count, and to the nano-dollar."""
    wanted, paid = REPLIES[cell[0]][cell[1]], either.paid(cell)

    assert len(paid) == either.judge.asked[cell]
    if wanted.calls is not None:
        assert len(paid) == wanted.calls
    else:
        assert 2 <= len(paid) <= ASKED_AGAIN[cell[0]]
    each = LIVE_NANOUSD // (2 if either.provider.records else 1)
    assert {row["cost_nanousd"] for row in paid} == {each}
    assert {(row["role"], row["outcome"]) for row in paid} == {("judge", "ok")}
    assert either.scores[cell]["cost_nanousd"] == each * len(paid)


def test_a_queue_answers_what_the_live_wire_answers(live: Swept, batch: Swept) -> None:
    """Cell by cell; and the queue asked nothing live."""
    told = ("status", "blame", "score", "passed", "label", "reason", "details")
    assert batch.provider.live == 0
    assert live.provider.records == Counter()
    for cell in CELLS:
        assert [batch.scores[cell][key] for key in told] == [live.scores[cell][key] for key in told]


def test_the_bill_is_the_providers_own(either: Swept) -> None:
    """No call of it is missing in the ledger, and none is there twice."""
    provider: OpenAI = either.provider
    assert len(either.ledger) == provider.live + sum(provider.records.values())
    assert len(either.ledger) == sum(either.judge.asked.values())


def test_bedrocks_queue_reads_replies_alike(base: Path, s3_process: S3Server) -> None:
    """Its typed answers are text by a schema: fences and comments are read, the rest is asked again live.

    It takes no job under 100 records, so these few go live, where the tool is asked for.
    """
    with bedrock_batches(s3_process.client()) as provider:
        env = {**QUICK, **s3_process.env, "AWS_ENDPOINT_URL_BEDROCK": provider.url,
               "NIGHTGATE_BATCH_S3": f"s3://{s3_process.bucket('replies')}/x",
               "NIGHTGATE_BATCH_ROLE_ARN": "arn:aws:iam::123456789012:role/batch"}  # fmt: skip
        found = swept(base, provider, provider.spec("acme.judge"), "bed", "--batch", env=env)

    as_text = [cell for cell in CELLS if not REPLIES[cell[0]][cell[1]].raw.as_call]
    for cell in as_text:
        wanted, row = REPLIES[cell[0]][cell[1]], found.scores[cell]
        assert (row["status"], row["score"]) == (wanted.status, wanted.score), (cell, row["reason"])
        assert len(found.paid(cell)) == found.judge.asked[cell] <= ASKED_AGAIN[cell[0]]
