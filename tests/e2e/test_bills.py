"""The ledger and the estimate against a provider's own bill: nothing is missing, nothing is made up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drill_lab import a_case, command, only, play, rows, write_suite

from batch_standin import Raw
from billing import PRICES, SERVER_ERROR, Biller, biller
from nightgate.requests import RunRequest
from nightgate.testing import InMemoryStore
from nightgate.wiring import Progress, run_request

pytestmark = pytest.mark.server

CASES = 12
JUDGED = "Criterion:tone"
TONE = {"cites": ["KB-1"], "judge": [{"id": "tone", "criterion": "Is the tone friendly?"}]}
TOO_MANY = 429


@pytest.fixture
def provider() -> Iterator[Biller]:
    with biller() as found:
        yield found


def a_suite(folder: Path, provider: Biller, cases: int = CASES, **more: Any) -> Path:
    """Cases of unlike length, an agent and a judge of the provider, and its prices beside them."""
    asked = [a_case(f"c{n:02}", input=f"question {n} " * (n + 1), expect=TONE) for n in range(cases)]
    models = {"model": provider.spec("agent"), "judge": provider.spec("judge")}
    suite = write_suite(folder / "s", asked, **models | more)
    (folder / "prices.yaml").write_text(PRICES, encoding="utf-8")
    return suite


def options(folder: Path) -> dict[str, str]:
    """Of a run in this process."""
    return {"prices": str(folder / "prices.yaml")}


def check_bill(summary: dict[str, Any], store: Any, provider: Biller) -> None:
    """The total, each role and the ledger's rows are what the provider charges."""
    cost = summary["cost_usd"]
    assert cost["unpriced_calls"] == 0
    assert cost["total"] == pytest.approx(provider.usd(), abs=1e-12)
    for role in ("agent", "judge"):
        assert cost[role] == pytest.approx(provider.usd(role), abs=1e-12)
    ledger = rows(store, "calls")
    assert sum(row["cost_nanousd"] for row in ledger) == round(provider.usd() * 1e9)
    assert len(ledger) == summary["calls"]["total"] == provider.asked.total()


def test_the_summarys_money_is_the_providers_bill(tmp_path: Path, provider: Biller) -> None:
    """By role, with cached tokens; and what the judges would have cost in the queue is half of theirs."""
    store = InMemoryStore()

    summary = play(a_suite(tmp_path, provider), store, **options(tmp_path))

    check_bill(summary, store, provider)
    cost, each = summary["cost_usd"], summary["cost_per"]
    assert cost["judge_list"] == cost["judge"] > 0
    assert cost["judge_batch"] == pytest.approx(cost["judge"] / 2, abs=1e-8)
    assert summary["judged"] == {"cases": CASES, "trials": CASES, "verdicts": 2 * CASES}
    assert each["case"] == each["trial"] == pytest.approx(cost["total"] / CASES, abs=1e-9)
    assert each["verdict"] == pytest.approx(cost["total"] / (2 * CASES), abs=1e-9)


def test_retried_calls_are_on_the_bill_once_each(tmp_path: Path, provider: Biller) -> None:
    """The refusal is a row that cost nothing; the answer after it is another, and costs."""
    provider.on = lambda _, number: TOO_MANY if number in (1, 3) else None
    store = InMemoryStore()

    summary = play(a_suite(tmp_path, provider, 3), store, **options(tmp_path))

    check_bill(summary, store, provider)
    assert summary["calls"]["retries"] == 4
    refused = [row for row in rows(store, "calls") if row["outcome"] == "throttled"]
    assert [row["cost_nanousd"] for row in refused] == [0] * 4


def test_failed_calls_are_rows_and_failed_judgements_are_paid(tmp_path: Path, provider: Biller) -> None:
    """An agent whose provider broke for good, and a judge that answered with prose."""
    prose = Raw("I would rather not say.")

    def on(model: str, number: int) -> int | Raw | None:
        if model == "house-judge":
            return prose
        return SERVER_ERROR if number > 2 else None

    provider.on = on
    store = InMemoryStore()

    summary = play(a_suite(tmp_path, provider, 3), store, concurrency=1, **options(tmp_path))

    check_bill(summary, store, provider)
    assert summary["trials"]["infra_error"] == 1
    assert {row["blame"] for row in rows(store, "scores") if row["status"] == "error"} == {"infra", "judge"}
    assert summary["cost_usd"]["judge"] > 0


def test_calls_up_to_the_cap_are_paid(tmp_path: Path, provider: Biller) -> None:
    """A judge that never fills its schema is stopped, and every one of its answers is on the bill."""
    provider.on = lambda model, _: Raw('{"score": "much"}', as_call=True) if "judge" in model else None
    suite = a_suite(
        tmp_path, provider, 1, evaluators={"HelpfulnessEvaluator": {"threshold": 0.5, "when": "live"}}
    )
    store = InMemoryStore()

    summary = play(suite, store, **options(tmp_path))

    check_bill(summary, store, provider)
    asked = [row for row in rows(store, "calls") if row["evaluator"] == "HelpfulnessEvaluator"]
    assert len(asked) > 1
    capped = only([row for row in rows(store, "scores") if row["evaluator"] == "HelpfulnessEvaluator"])
    assert (capped["status"], capped["blame"]) == ("error", "judge")
    assert sum(row["cost_nanousd"] for row in asked) == capped["cost_nanousd"] > 0


async def test_an_answer_that_is_thrown_away_is_paid(tmp_path: Path, provider: Biller) -> None:
    """It came after its trial's deadline."""
    over = threading.Event()

    def on(model: str, _: int) -> None:
        if model == "house-agent":
            over.wait(30)

    provider.on = on
    progress = Progress(on_trial=lambda _: over.set())
    store = InMemoryStore()
    suite = a_suite(tmp_path, provider, 1, timeout_s=0.5)
    request = RunRequest.make(suite, {"spool": str(tmp_path / "spool"), **options(tmp_path)})

    summary = (await run_request(request, progress, store=store)).summary.as_dict()

    check_bill(summary, store, provider)
    assert (summary["trials"]["agent_timeout"], summary["calls"]["late"]) == (1, 1)
    assert summary["cost_usd"]["agent"] > 0


def test_the_plan_of_a_run_is_within_a_tenth_of_the_providers_bill(tmp_path: Path, provider: Biller) -> None:
    """After a night's history, over more trials of all cases; at list price, and by batch."""
    suite, store = a_suite(tmp_path, provider), tmp_path / "store"
    flags = ("--store", store, "--prices", tmp_path / "prices.yaml", "--json", "-")
    first = command("run", suite, "--trials", "2", "--no-alerts", *flags)
    assert first.json["complete"], first.err
    before = {role: provider.usd(role) for role in ("agent", "judge")}

    planned = command("plan", suite, "--trials", "5", *flags)
    second = command("run", suite, "--trials", "5", "--reuse", "latest", "--no-alerts", *flags)

    assert second.json["complete"], second.err
    bill = {role: provider.usd(role) - usd for role, usd in before.items()}
    cost = planned.json["cost_usd"]
    for role, usd in bill.items():
        assert usd > 0
        assert cost[role]["list"] == pytest.approx(usd, rel=0.1)
    assert cost["total"]["list"] == pytest.approx(sum(bill.values()), rel=0.1)
    assert cost["judge"]["batch"] == pytest.approx(bill["judge"] / 2, rel=0.1)
    assert {line["role"] for line in planned.json["assumptions"] if line["runs"]} == {"agent", "judge"}


def test_the_estimate_of_a_sweep_is_within_a_tenth_of_the_providers_bill(
    tmp_path: Path, provider: Biller
) -> None:
    """The run's own judge is the history, and its sweeps': each case is priced for itself."""
    suite, store = a_suite(tmp_path, provider), tmp_path / "store"
    prices = ("--prices", tmp_path / "prices.yaml", "--store", store, "--json", "-")
    assert command("run", suite, "--trials", "2", "--run-id", "base", "--no-alerts", *prices).json["complete"]
    asked = ("--suite", suite, "--judge", provider.spec("other"), "--evaluator", JUDGED, "--repeat", "2")

    told = command("sweep", "base", *asked, "--dry-run", *prices)
    swept = command("sweep", "base", *asked, *prices)

    assert (told.code, swept.json["complete"]) == (0, True), told.err + swept.err
    bill = provider.usd("other")
    assert told.json["usd"] == pytest.approx(bill, rel=0.1)
    assert told.json["usd_batch"] == pytest.approx(bill / 2, rel=0.1)
    assert swept.json["cost_usd"]["total"] == pytest.approx(bill, abs=1e-12)
    assert swept.json["cost_usd"]["judge_batch"] == pytest.approx(bill / 2, abs=1e-6)
    assert told.json["assumption"] == "tokens as in earlier judgements of these trials"
