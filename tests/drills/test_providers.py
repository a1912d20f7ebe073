"""A provider has limits and bad days: what a run makes of them, held against the provider's own count.

The models are asked at an address elsewhere (through the environment's proxy), so that prices, patience and
pace are those of a provider, not of a server on this machine.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from crews import Crew
from providers import Hang, Provider, Request, Slow, Storm, provider
from shell import DRILLS, Ran, nightgate

pytestmark = pytest.mark.server

WRONG_CLOCK = Path(__file__).resolve().parents[1] / "wrongclock.py"
SUITE = DRILLS / "asked"
CASES, CALLS = 5, 2
"""Cases, and calls of each trial."""
PRICES = """
version: drill
prices:
  - {models: ["openai:asked"], input: 1, output: 2, as_of: 2026-11-29, source: drill}
"""
_MARK = re.compile(r"req-\d{6}")


def rows(store: Path, table: str) -> list[dict[str, Any]]:
    """All rows of a table of the only run in a store."""
    return [row for part in (store / table).rglob("*.parquet") for row in pq.read_table(part).to_pylist()]


def mark(call: dict[str, Any]) -> str | None:
    """Which request a row of the ledger was, where the provider told."""
    found = _MARK.search(f"{call['system_fingerprint']} {call['error']}")
    return found[0] if found else None


def check_ledger(store: Path, served: Provider) -> list[dict[str, Any]]:
    """Each request is one row, and each row one request, with what the provider did to it."""
    calls = rows(store, "calls")
    assert len(calls) == len(served.requests)
    known = {request.id: request for request in served.requests}
    told = Counter(found for call in calls if (found := mark(call)))
    assert set(told.values()) <= {1}
    for call in calls:
        request = known.get(mark(call) or "")
        if call["outcome"] == "ok":
            assert request is not None
            assert (request.status, request.delivered) == (200, True)
        elif request is not None:
            assert request.status == 429
    assert Counter(call["outcome"] == "ok" for call in calls)[True] == sum(
        request.status == 200 and request.delivered for request in served.requests
    )
    return calls


def write_suite(folder: Path, **settings: Any) -> Path:
    """The suite with other settings."""
    shutil.copytree(SUITE, folder)
    path = folder / "suite.yaml"
    known = [line for line in path.read_text().splitlines() if line.partition(":")[0] not in settings]
    path.write_text("\n".join([*known, *(f"{name}: {value}" for name, value in settings.items())]))
    return folder


def write_prices(folder: Path) -> Path:
    """What the provider asks for."""
    path = folder / "prices.yaml"
    path.write_text(PRICES)
    return path


def run(folder: Path, served: Provider, *flags: str, suite: Path = SUITE, spec: str = "") -> Ran:
    """One run in one process, over the provider."""
    return nightgate(
        *("run", suite, "--store", folder / "store", "--prices", write_prices(folder), "--json", "-"),
        *("--model", f"openai:asked?base_url={served.far_url}{spec}", *flags),
        env=served.env,
    )


@contextmanager
def crewed(folder: Path, served: Provider, spec: str = "", **options: Any) -> Iterator[Crew]:
    """A planned run for workers, over the provider."""
    made = Crew(
        SUITE,
        folder / "store",
        "asked",
        env=served.env,
        patience_s=15,  # nobody dies here, and the machine may be slow
        model=f"openai:asked?base_url={served.far_url}{spec}",
        prices=str(write_prices(folder)),
        **options,
    )
    try:
        yield made
    finally:
        made.close()


def throttled_after(requests: list[Request], seconds: float) -> tuple[int, int]:
    """Requests from then on, and how many of them were throttled."""
    late = [request for request in requests if request.at - requests[0].at >= seconds]
    return len(late), sum(request.status == 429 for request in late)


@pytest.mark.fleet
@pytest.mark.parametrize("told", ["", "&rpm=1200"], ids=["untold", "told"])
def test_workers_settle_at_a_rate_that_is_allowed_to_all_of_them(tmp_path: Path, told: str) -> None:
    """Twenty a second for four workers: whether or not they were told, soon hardly any call is refused."""
    trials, workers, per_second = 72, 4, 20
    with (
        provider(latency_s=0.2, per_second=per_second) as served,
        crewed(tmp_path, served, told, trials=trials, drainers=workers) as crew,
    ):
        crew.wait(*(crew.start() for _ in range(workers)))
        summary = crew.finish()

        check_ledger(tmp_path / "store", served)
    took_s = served.requests[-1].at - served.requests[0].at
    late, refused = throttled_after(served.requests, 10)
    assert summary["trials"]["completed"] == CASES * trials
    assert summary["cells"]["error"] == 0
    assert summary["verdict"] == "pass"
    assert summary["calls"]["throttled"] == served.count(429)
    assert took_s >= 30
    assert refused <= 0.05 * late, f"{refused} of {late} after 10 s, {served.count(429)} in {took_s:.0f} s"
    # What is allowed is used, too: within a third of the least time that it takes.
    assert took_s <= 4 / 3 * CALLS * CASES * trials / per_second


@pytest.mark.parametrize("retry_after_s", [None, 1.0])
def test_a_storm_costs_time_and_nothing_else(tmp_path: Path, retry_after_s: float | None) -> None:
    """Four seconds in which everything is refused, whether or not the provider says how long to wait."""
    storm = Storm(after=10, for_s=4, retry_after_s=retry_after_s)
    with provider(latency_s=0.1, faults=[storm]) as served:
        ran = run(tmp_path, served)
        calls = check_ledger(tmp_path / "store", served)

    assert ran.code == 0, ran.err
    assert ran.json["complete"]
    assert ran.json["trials"]["completed"] == CASES * 4
    refused = served.count(429)
    assert refused > 0
    assert ran.json["calls"]["throttled"] == refused
    assert ran.json["calls"]["retries"] == refused
    assert sum(call["attempt"] > 1 for call in calls) == refused
    assert sum(call["outcome"] == "ok" for call in calls) == CALLS * CASES * 4
    assert {call["cost_nanousd"] for call in calls if call["outcome"] == "throttled"} == {0}
    # Thirty calls are left when it is over, and the provider takes as many as it did before.
    refusals = [request.at for request in served.requests if request.status == 429]
    assert served.requests[-1].at - refusals[0] < 4 + 15


def test_a_spent_quota_is_not_asked_again_and_again(tmp_path: Path) -> None:
    """No wait refills it: one refusal a trial, no retry, no verdict, and the rest is played the day after."""
    allowed = 15
    with provider(latency_s=0.05, daily=allowed) as served:
        ran = run(tmp_path, served, "--run-id", "first", "--concurrency", "2")
        calls = check_ledger(tmp_path / "store", served)
        first = rows(tmp_path / "store", "trials")
        served.next_day()
        rest = run(tmp_path, served, "--reuse", "first", "--run-id", "second")

    measured = sum(trial["ending"] == "completed" for trial in first)
    missing = CASES * 4 - measured
    assert (ran.code, ran.json["verdict"]) == (3, "inconclusive"), ran.err
    assert (ran.json["cells"]["pass"], ran.json["cells"]["fail"]) == (2 * measured, 0)
    assert ran.json["cells"]["error"] == 2 * missing
    assert measured >= allowed // CALLS - 1
    assert {call["attempt"] for call in calls} == {1}
    assert sum(call["outcome"] == "auth" for call in calls) == missing == len(calls) - allowed
    told = [
        cell["reason"] for cell in ran.json["failures"] if "exceeded your current quota" in cell["reason"]
    ]
    assert told
    assert rest.code == 0, rest.err
    assert rest.json["cells"]["pass"] == 2 * CASES * 4
    assert len(served.requests) == len(calls) + CALLS * missing


def test_a_deadline_is_for_the_model_and_not_for_the_queue(tmp_path: Path) -> None:
    """One call at a time: all wait for longer than the deadline, and only the slow answer is too late."""
    deadline_s = 5.0
    suite = write_suite(tmp_path / "suite", timeout_s=deadline_s, trials=1)
    with provider(latency_s=0.3, faults=[Slow(where="parcels", every_s=1.2)]) as served:
        ran = run(tmp_path, served, suite=suite, spec="&max_in_flight=1")
        calls = check_ledger(tmp_path / "store", served)

    trials = {trial["case_id"]: trial for trial in rows(tmp_path / "store", "trials")}
    assert served.peak == 1
    assert ran.code == 1, ran.err
    assert trials.pop("three")["ending"] == "agent_timeout"
    assert {trial["ending"] for trial in trials.values()} == {"completed"}
    assert max(trial["wait_ms"] for trial in trials.values()) > 1000 * deadline_s
    assert max(trial["latency_ms"] for trial in trials.values()) < 1000 * deadline_s
    # The late answer was paid for: it is in the ledger, and in no trial.
    (late,) = [call for call in calls if call["late"]]
    assert (late["case_id"], late["outcome"]) == ("three", "ok")
    assert late["cost_nanousd"] > 0


def test_a_provider_that_hangs_is_left_and_asked_again(tmp_path: Path) -> None:
    """Before its first word and after it; nobody knows what it costs, so nobody says that it was nothing."""
    hangs = [Hang(where="parcels", times=1), Hang(where="repairs", times=1, begun=True)]
    with provider(latency_s=0.05, faults=hangs) as served:
        ran = run(tmp_path, served, "--trials", "1", spec="&timeout_s=2")
        calls = check_ledger(tmp_path / "store", served)

    assert ran.code == 0, ran.err
    hung = [call for call in calls if call["outcome"] != "ok"]
    assert Counter((call["case_id"], call["outcome"], call["cost_nanousd"]) for call in hung) == {
        ("three", "timeout", None): 1,
        ("four", "timeout", None): 1,
    }
    assert all(1900 < call["latency_ms"] < 5000 for call in hung)
    assert ran.json["cost_usd"]["total"] is None
    assert ran.json["cost_usd"]["unpriced_calls"] == 2
    assert sum(not request.delivered for request in served.requests) == 2


def test_a_provider_that_always_hangs_costs_its_own_trials(tmp_path: Path) -> None:
    """After the policy's tries it is an error of the infrastructure, in bounded time."""
    with provider(latency_s=0.05, faults=[Hang(where="vouchers", after=1)]) as served:
        ran = run(tmp_path, served, "--trials", "1", spec="&timeout_s=1.5")
        calls = check_ledger(tmp_path / "store", served)

    assert ran.code == 3, ran.err
    tries, timeout_s, waits_s = 6, 1.5, 15.5
    assert served.requests[-1].at - served.requests[0].at < tries * timeout_s + waits_s + 5
    endings = {trial["case_id"]: trial["ending"] for trial in rows(tmp_path / "store", "trials")}
    assert endings.pop("five") == "infra_error"
    assert set(endings.values()) == {"completed"}
    asked = [(call["attempt"], call["outcome"]) for call in calls if call["case_id"] == "five"]
    assert sorted(asked) == [(1, "ok"), *((attempt, "timeout") for attempt in range(1, 1 + tries))]


def test_workers_with_wrong_clocks_share_a_run(tmp_path: Path) -> None:
    """Hours ahead and behind: nobody's work is taken, and the rows say what each machine said."""
    hours = {"w1": 0, "w2": 5, "w3": -5}
    with (
        provider(latency_s=0.2) as served,
        crewed(tmp_path, served, trials=20, concurrency=3) as crew,
    ):
        began = datetime.now(UTC)
        for shift in hours.values():
            crew.start(WRONG_CLOCK, {"DRILL_CLOCK_S": str(3600 * shift)})
        said = crew.wait(*hours)
        summary = crew.finish()
        check_ledger(tmp_path / "store", served)

    assert [(one["taken_over"], one["lost"]) for one in said.values()] == [(0, 0)] * len(hours)
    assert (summary["verdict"], summary["complete"]) == ("pass", True)
    assert len(served.requests) == CALLS * CASES * 20
    played = Counter[int]()
    for trial in rows(tmp_path / "store", "trials"):
        assert trial["started_at"] < trial["ended_at"]
        played[round((trial["started_at"] - began) / timedelta(hours=1))] += 1
    assert played == {hours[name]: one["trials"] for name, one in said.items() if one["trials"]}
    assert len(played) > 1
