"""Bedrock without an account: the bedrock: adapter against an emulated Converse on loopback.

The answers are canned. The claims are about what flows through boto3 and back: tokens, stop reasons,
list prices, and the type of each error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live.readers import Row, rows
from live.servers import NO_AWS, Cloud
from servers import environment
from shell import SUPPORT, nightgate

pytestmark = pytest.mark.live

PRICED = "bedrock:us.amazon.nova-micro-v1:0"
NANOUSD = {"tokens_in": 35, "tokens_out": 140}
"""What its tokens cost at list price."""
UNPRICED = "bedrock:mistral.of-nobody-v1:0"
ELSEWHERE = "bedrock:arn:aws:bedrock:eu-central-1::foundation-model/amazon.nova-micro-v1:0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run by the command line."""

    code: int
    summary: Any
    trials: list[Row]
    calls: list[Row]


def run(folder: Path, model: str, env: dict[str, str], *arguments: str) -> Run:
    """Two cases of the sample suite under ``model``; the ledger is the agent's part of it."""
    store = folder / "store"
    ran = nightgate(
        *(
            "run",
            SUPPORT,
            "--case",
            "refund-*",
            "--model",
            model,
            "--store",
            store,
            "--json",
            "-",
            *arguments,
        ),
        env=env,
    )
    assert ran.out, ran.err
    return Run(
        code=ran.code,
        summary=ran.json,
        trials=rows(store, "trials"),
        calls=[call for call in rows(store, "calls") if call["role"] == "agent"],
    )


@pytest.fixture(scope="module", autouse=True)
def _bare() -> Iterator[None]:
    """No variable that would lead boto3 elsewhere."""
    names = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ENDPOINT_URL")
    with environment(**dict.fromkeys(names)):
        yield


@pytest.fixture(scope="module")
def priced(_bare: None, aws: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A model whose price is known."""
    return run(tmp_path_factory.mktemp("priced"), PRICED, aws.env)


def test_tokens_stop_reasons_and_times_come_through(priced: Run) -> None:
    """As Converse reports them, beside the wall clock's."""
    assert len(priced.calls) == 2
    for call in priced.calls:
        assert (call["outcome"], call["stop_reason"], call["attempt"]) == ("ok", "end_turn", 1)
        assert call["tokens_in"] > 0
        assert call["tokens_out"] > 0
        assert 0 < call["first_token_ms"] <= call["latency_ms"]
    assert {trial["ending"] for trial in priced.trials} == {"completed"}


def test_a_stand_in_for_a_cloud_keeps_the_clouds_price(priced: Run) -> None:
    """To the nano-dollar, in the ledger, the trials and the summary."""
    for call in priced.calls:
        assert call["cost_nanousd"] == sum(call[kind] * rate for kind, rate in NANOUSD.items())
    total = sum(call["cost_nanousd"] for call in priced.calls)
    assert sum(trial["cost_nanousd"] for trial in priced.trials) == total
    assert priced.summary["cost_usd"]["agent"] == pytest.approx(total / 1e9)
    assert priced.summary["cost_usd"]["unpriced_calls"] == 0


def test_the_gate_fails_what_the_canned_answers_do_wrong(priced: Run) -> None:
    """They call no tool and cite nothing; the exit code says so."""
    assert (priced.code, priced.summary["verdict"]) == (1, "fail")


def test_an_unknown_price_is_unknown_and_never_zero(aws: Cloud, tmp_path: Path) -> None:
    """The tokens are known; what they cost nobody said."""
    ran = run(tmp_path, UNPRICED, aws.env)

    assert [call["outcome"] for call in ran.calls] == ["ok", "ok"]
    assert all(call["tokens_out"] > 0 and call["cost_nanousd"] is None for call in ran.calls)
    cost = ran.summary["cost_usd"]
    assert (cost["agent"], cost["total"], cost["unpriced_calls"]) == (None, None, 2)


def test_a_model_of_another_region_is_refused_once_for_each_trial(aws: Cloud, tmp_path: Path) -> None:
    """Typed by what Bedrock answered; no retry repeats the mistake, and it cost nothing."""
    ran = run(tmp_path, ELSEWHERE, aws.env)

    assert (ran.code, ran.summary["verdict"]) == (3, "inconclusive")
    assert {trial["ending"] for trial in ran.trials} == {"infra_error"}
    assert [(call["outcome"], call["cost_nanousd"]) for call in ran.calls] == [("error", 0)] * 2
    assert all("ValidationException" in call["error"] for call in ran.calls)


def test_missing_credentials_are_found_before_anything_is_sent(aws: Cloud, tmp_path: Path) -> None:
    """The endpoint would take any; the chain has none."""
    env = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": aws.url, "AWS_REGION": "us-east-1", **NO_AWS}
    keyless = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    ran = run(tmp_path, PRICED, {**env, **keyless})

    assert (ran.code, ran.summary["verdict"]) == (3, "inconclusive")
    assert {trial["ending"] for trial in ran.trials} == {"infra_error"}
    assert [(call["outcome"], call["cost_nanousd"]) for call in ran.calls] == [("auth", 0)] * 2
    assert all("AWS_ACCESS_KEY_ID" in call["error"] for call in ran.calls)


def test_a_region_that_is_none_spends_nothing(aws: Cloud, tmp_path: Path) -> None:
    """Wrong input, said with what would be right."""
    ran = nightgate(
        *("run", SUPPORT, "--model", f"{PRICED}?region=Frankfurt", "--store", tmp_path / "store"), env=aws.env
    )

    assert ran.code == 2
    assert "an AWS region such as eu-central-1" in ran.err
    assert not (tmp_path / "store").exists()


def test_a_budget_holds_at_the_clouds_price(aws: Cloud, tmp_path: Path) -> None:
    """A cap below the first call's worst case stops the run before it."""
    ran = nightgate(
        *("run", SUPPORT, "--case", "refund-*", "--model", PRICED, "--store", tmp_path / "store"),
        *("--budget-usd", "0.0000001"),
        env=aws.env,
    )

    assert ran.code == 4, ran.err
