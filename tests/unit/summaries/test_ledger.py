"""Money and tokens: unknown is not free."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nightgate.calls import Call, Outcome, Role
from nightgate.summaries import Ledger, cost_per
from nightgate.trials import Usage

CENT = 10_000_000


def a_call(role: Role = Role.AGENT, cost: int | None = 0, **more: Any) -> Call:
    """One attempt."""
    values = {"case_id": "a", "trial": 0, "evaluator": None, "model": "m", "attempt": 1, **more}
    return Call(
        call_id="c", run_id="r", suite="s", role=role, outcome=Outcome.OK, cost_nanousd=cost, **values
    )


def a_ledger(*calls: Call) -> Ledger:
    """Of these calls."""
    ledger = Ledger()
    for call in calls:
        ledger.add(call)
    return ledger


def test_an_unknown_cost_makes_the_total_unknown_with_a_lower_bound() -> None:
    """Unknown is not free."""
    ledger = a_ledger(a_call(cost=2_000_000_000), a_call(Role.JUDGE, None, attempt=2))

    cost = ledger.cost_usd()

    assert (cost["agent"], cost["judge"], cost["user"], cost["total"]) == (2.0, None, 0.0, None)
    assert (cost["unpriced_calls"], cost["at_least"]["total"]) == (1, 2.0)
    assert (ledger.calls, ledger.retries) == (2, 1)


def test_tokens_keep_their_four_kinds_apart() -> None:
    """Cached tokens are neither dropped nor counted twice, however long they are kept."""
    ledger = a_ledger(
        a_call(usage=Usage(input=5, cache_read=5, output=20)),
        a_call(usage=Usage(input=10, cache_read=5, cache_write=3, cache_write_1h=2, output=20)),
    )

    assert ledger.tokens()["agent"] == {"input": 15, "output": 40, "cache_read": 10, "cache_write": 3}


def test_the_judges_list_and_batch_price_stand_beside_what_was_paid() -> None:
    """Of all their calls, whichever way each went."""
    live = a_call(Role.JUDGE, 4 * CENT, list_nanousd=4 * CENT, batch_nanousd=2 * CENT)
    queued = a_call(Role.JUDGE, CENT, list_nanousd=2 * CENT, batch_nanousd=CENT)

    cost = a_ledger(live, queued, a_call(cost=CENT)).cost_usd()

    assert (cost["judge"], cost["judge_list"], cost["judge_batch"]) == (0.05, 0.06, 0.03)


def test_a_judge_without_a_queue_has_no_batch_price() -> None:
    """Null, with what is known of the other judges as a lower bound."""
    queueless = a_call(Role.JUDGE, CENT, list_nanousd=CENT)
    queued = a_call(Role.JUDGE, CENT, list_nanousd=CENT, batch_nanousd=CENT // 2)

    alone, both = a_ledger(queueless).cost_usd(), a_ledger(queueless, queued).cost_usd()

    assert (alone["judge_batch"], alone["at_least"]["judge_batch"]) == (None, None)
    assert (both["judge_batch"], both["at_least"]["judge_batch"]) == (None, 0.005)


def test_where_nobody_was_judged_there_is_no_batch_price() -> None:
    """Nothing was asked: that is not a price of 0."""
    cost = a_ledger(a_call(cost=CENT)).cost_usd()

    assert (cost["judge"], cost["judge_list"], cost["judge_batch"]) == (0.0, 0.0, None)


def test_a_case_and_a_verdict_cost_nothing_that_is_not_known() -> None:
    """Null when the total is unknown, and when nothing was judged."""
    judged = {"cases": 1, "trials": 2, "verdicts": 4}

    assert cost_per(1.0, judged) == {"case": 1.0, "trial": 0.5, "verdict": 0.25}
    assert set(cost_per(None, judged).values()) == {None}
    assert set(cost_per(1.0, dict.fromkeys(judged, 0)).values()) == {None}


def test_calls_are_counted_by_role_and_model() -> None:
    """One judge of several may be the one that is throttled."""
    ledger = a_ledger(
        a_call(cost=CENT),
        a_call(Role.JUDGE, None, model="j", attempt=2),
        a_call(Role.JUDGE, CENT, model="j"),
    )

    judge = ledger.models[Role.JUDGE, "j"]
    assert (judge.calls, judge.retries, judge.unpriced, judge.known_nanousd) == (2, 1, 1, CENT)
    assert ledger.models[Role.AGENT, "m"].calls == 1


def test_a_call_that_nobody_heard_of_again_tells_no_wait() -> None:
    """Its row says 0, which nobody measured."""
    ended = datetime(2026, 11, 29, tzinfo=UTC)
    ledger = a_ledger(a_call(wait_ms=2000.0, ended_at=ended), a_call())

    assert ledger.queue_wait_s() == {"p50": 2.0, "p95": 2.0, "max": 2.0, "total": 2.0}
