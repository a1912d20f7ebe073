"""The cap over shards, retries, unusable replies, resumes and sweeps: never passed but by what was in flight.

Held against the till of the models themselves, not against our own account of it.
"""

from __future__ import annotations

import asyncio
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from drill_lab import a_case, write_suite
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spending_models import TILL, Till

from nightgate.adapters.meter import RetryPolicy
from nightgate.adapters.pace import Pace
from nightgate.requests import RunRequest
from nightgate.wiring import rooms, run_request

AGENT, JUDGE, OTHER = (f"import:spending_models:{name}" for name in ("agent", "judge", "other_judge"))
TONE = "Criterion:tone"
PRICES = """
version: till
prices:
  - models: ["import:spending_models:*"]
    input: 1
    output: 1
    as_of: 2026-11-29
    source: test
"""
FATES = st.lists(st.sampled_from(["ok", "ok", "ok", "throttled", "garbage"]), min_size=1, max_size=7).filter(
    lambda fates: "ok" in fates
)
TOKENS = st.lists(st.integers(1, 5_000), min_size=1, max_size=5)
CAPS = st.integers(1, 60_000).map(lambda tokens: Decimal(tokens) / 1_000_000)
"""Dollars."""


@pytest.fixture(scope="module", autouse=True)
def at_once() -> Any:
    """Retries and throttles after which nobody waits, and shards of two trials."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RetryPolicy, "delay_s", lambda *_: 0.0)
        patch.setattr(Pace, "throttled", lambda *_: None)
        patch.setattr(rooms, "SHARD_TRIALS", 2)
        yield


def a_suite(folder: Path, cases: int) -> Path:
    """Cases with a citation and a judgement each."""
    expect = {"cites": ["KB-1"], "judge": [{"id": "tone", "criterion": "Is it friendly?"}]}
    (folder / "prices.yaml").write_text(PRICES)
    return write_suite(
        folder / "s", [a_case(f"c{n}", expect=expect) for n in range(cases)], model=AGENT, judge=JUDGE
    )


def ran(suite: Path, **options: Any) -> dict[str, Any]:
    """A run or sweep in this process, in a store beside the suite; its summary."""
    folder = suite.parent
    values = {"store": str(folder / "store"), "spool": str(folder / "spool"), "alerts": False}
    asked = {**values, "prices": str(folder / "prices.yaml"), **options}
    request = RunRequest.make(suite, {k: v for k, v in asked.items() if k in RunRequest.__slots__}, {})
    return asyncio.run(run_request(request)).summary.as_dict()


def check(till: Till, summary: dict[str, Any], *, before: int = 0) -> None:
    """No call began over the cap, what is over it was in flight, and the bill is the till's."""
    assert till.began_over == 0
    assert till.cap is not None
    # ``before`` is another run's money, on the same till.
    assert till.charged <= till.cap + till.most_flying
    billed = summary["cost_usd"]
    assert billed["unpriced_calls"] == 0
    assert round(sum(billed[role] or 0 for role in ("agent", "judge")) * 1e9) == till.charged - before


def capped(till: Till, cap: Decimal, before: int = 0, *, anew: bool = False) -> str:
    """The cap told to the till and to the command line."""
    till.capped(before + int(cap * 10**9), anew=anew)
    return str(cap)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 7), TOKENS, FATES, CAPS, CAPS, st.integers(1, 4), st.integers(1, 4))
def test_spending_passes_the_cap_only_by_what_was_in_flight(
    cases: int,
    tokens: list[int],
    fates: list[str],
    first: Decimal,
    more: Decimal,
    concurrency: int,
    judging: int,
) -> None:
    """A run, its resume with more, a sweep under a cap of its own, and the sweep's resume."""
    how = {"concurrency": concurrency, "judge_concurrency": judging}
    with tempfile.TemporaryDirectory() as name:
        till = TILL[0] = Till(tokens=tokens, fates=fates)
        suite = a_suite(Path(name), cases)

        summary = ran(suite, run_id="r", budget_usd=capped(till, first, anew=True), **how)
        check(till, summary)
        assert summary["complete"] or summary["exit_code"] == 4
        if not summary["complete"]:
            summary = ran(suite, resume="r", budget_usd=capped(till, first + more), **how)
            check(till, summary)
        if not summary["complete"]:
            till.capped(None)
            summary = ran(suite, resume="r", budget_usd="1000", **how)
        assert summary["complete"]
        assert sum(summary["cells"].values()) == 2 * summary["cells"]["planned"] == 4 * cases
        assert round(summary["cost_usd"]["total"] * 1e9) == till.charged

        before = till.charged
        asked = {"sweep": "r", "judges": (OTHER,), "evaluators": (TONE,), "repeat": 2}
        swept = ran(suite, **asked, run_id="s", budget_usd=capped(till, first, before, anew=True), **how)
        check(till, swept, before=before)
        if not swept["complete"]:
            cap = capped(till, first + more, before)
            swept = ran(suite, sweep="r", resume="s", budget_usd=cap, **how)
            check(till, swept, before=before)


@pytest.mark.parametrize("what", ["run", "sweep", "repeated sweep"])
def test_a_budget_of_nothing_makes_no_call(tmp_path: Path, what: str) -> None:
    """Of no role, priced or not; the till is what says so."""
    suite = a_suite(tmp_path, 3)
    till = TILL[0] = Till()
    ran(suite, run_id="r")
    called = till.calls
    sweep = {"sweep": "r", "judges": (OTHER,), "evaluators": (TONE,)}
    options = {"run": {}, "sweep": sweep, "repeated sweep": {**sweep, "repeat": 3}}[what]

    summary = ran(suite, run_id="nothing", budget_usd="0", **options)

    assert called > 0
    assert till.calls == called
    assert (summary["complete"], summary["exit_code"]) == (False, 4)
