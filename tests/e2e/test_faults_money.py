"""Faults of money and tokens, through the whole pipeline: the bill is complete, the cap is hard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drill_lab import OK, a_case, command, evaluator, only, play, rows, write_suite

from nightgate.errors import InputError, UnpricedError
from nightgate.steps.collecting import collect
from nightgate.testing import InMemoryStore

CENT = [{**OK[0], "usage": {"output": 10_000}}]
"""One cent at a dollar a million tokens."""
DOLLAR = {"output": 1}
TONE = {"cites": ["KB-1"], "judge": [{"id": "tone", "criterion": "Is the tone friendly?"}]}
FRIENDLY = {"Criterion:tone": {"*": {"fields": "best", "usage": {"output": 10_000}}}}


def cents(tmp_path: Path, cases: int = 20, **more: Any) -> Path:
    """A suite whose every agent call costs a cent."""
    return write_suite(
        tmp_path / "s", [a_case(f"c{i:02}") for i in range(cases)], replies={"*": CENT}, price=DOLLAR, **more
    )


def judged_cents(tmp_path: Path) -> Path:
    """Ten trials at a cent, each with a judgement at a cent."""
    cases = [a_case(f"c{i:02}", expect=TONE) for i in range(10)]
    return write_suite(tmp_path / "s", cases, replies={"*": CENT}, judgements=FRIENDLY, price=DOLLAR)


@pytest.mark.parametrize(
    ("model", "usage"),
    [
        ("cache_inside", {"input": 5, "output": 20, "cache_read": 5, "cache_write": 0}),
        ("cache_beside", {"input": 10, "output": 20, "cache_read": 5, "cache_write": 0}),
    ],
)
def test_cached_tokens_count_once(tmp_path: Path, model: str, usage: dict[str, int]) -> None:
    """Inside of the input for some providers, on top for others: totals 30 and 35, in four columns."""
    suite = write_suite(tmp_path / "s", [a_case("one")], model=f"import:fault_models:{model}")
    store = InMemoryStore()

    summary = play(suite, store)

    assert summary["tokens"]["agent"] == usage
    assert sum(usage.values()) == {"cache_inside": 30, "cache_beside": 35}[model]
    names = ("tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_write")
    for table in ("trials", "calls"):
        row = only(rows(store, table))
        assert [row[name] for name in names] == list(usage.values())


def test_each_kind_of_token_has_its_price(tmp_path: Path) -> None:
    """1 + 20 + 300 + 4000 micro-dollars."""
    usage = {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}
    suite = write_suite(
        tmp_path / "s",
        [a_case("one")],
        replies={"*": [{**OK[0], "usage": usage}]},
        price={"input": 1, "output": 10, "cache_read": 100, "cache_write": 1000},
    )

    assert play(suite)["cost_usd"]["agent"] == pytest.approx(4321e-6)


def test_a_budget_over_an_unknown_price_is_refused(tmp_path: Path) -> None:
    """It could never bind: exit 2, and nothing was called or stored."""
    suite = write_suite(tmp_path / "s", [a_case("one", trials=10)], model="import:fault_models:unpriced")

    ran = command("run", suite, "--store", tmp_path / "store", "--budget-usd", "1")

    assert ran.code == 2
    assert "the price of agent model 'import:fault_models:unpriced' is unknown" in ran.err
    assert not (tmp_path / "store").exists()


def test_so_is_a_budget_over_an_unpriced_judge(tmp_path: Path) -> None:
    """Judges cost most; a suite's own budget counts like the flag's."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one", expect=TONE)],
        judge="import:fault_models:unpriced",
        budget_usd=1,
    )

    with pytest.raises(UnpricedError, match="judge model"):
        play(suite)


@pytest.mark.parametrize("options", [{}, {"budget_usd": "1", "allow_unpriced": True}])
def test_an_unknown_price_makes_the_cost_unknown(tmp_path: Path, options: dict[str, Any]) -> None:
    """Never 0: null with the number of calls, and the known rest as a lower bound."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one", trials=10, expect=TONE)],
        judgements=FRIENDLY,
        price=DOLLAR,
        model="import:fault_models:unpriced",
    )
    store = InMemoryStore()

    summary = play(suite, store, **options)

    cost = summary["cost_usd"]
    assert (cost["agent"], cost["total"], cost["unpriced_calls"]) == (None, None, 10)
    assert cost["judge"] == cost["at_least"]["total"] == pytest.approx(0.1)
    assert {row["cost_nanousd"] for row in rows(store, "trials")} == {None}
    assert summary["exit_code"] == 0


@pytest.mark.parametrize("judged", [False, True])
def test_a_budget_of_nothing_calls_no_model_of_any_role(tmp_path: Path, judged: bool) -> None:
    """Free scripts included: exit 4, every cell skipped, an empty ledger."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one", expect=TONE if judged else {"cites": ["KB-1"]}), a_case("two")],
        judgements=FRIENDLY,
    )

    ran = command("run", suite, "--store", tmp_path / "store", "--budget-usd", "0", "--json", "-")

    assert ran.code == 4, ran.err
    assert (ran.json["complete"], ran.json["stopped"], ran.json["calls"]["total"]) == (False, "budget", 0)
    assert ran.json["cells"]["skipped"] == ran.json["cells"]["planned"] == 2 + judged
    assert ran.json["trials"]["not_run"] == 2
    assert not list((tmp_path / "store" / "staging").rglob("*"))


def test_an_unpriced_model_is_not_called_either(tmp_path: Path) -> None:
    """The contract: priced or not."""
    suite = write_suite(tmp_path / "s", [a_case("one")], model="import:fault_models:unpriced")

    summary = play(suite, budget_usd="0")

    assert (summary["exit_code"], summary["calls"]["total"]) == (4, 0)


@pytest.mark.parametrize(
    ("budget", "each", "concurrency", "calls"), [("1.00", 500_000, 10, 2), ("0.35", 100_000, 1, 3)]
)
def test_a_cap_over_scripts_is_exact(
    tmp_path: Path, budget: str, each: int, concurrency: int, calls: int
) -> None:
    """The next call's cost is written down: the cap is reached, if it can be, and never passed."""
    suite = write_suite(
        tmp_path / "s",
        [a_case(f"c{i:02}") for i in range(20)],
        replies={"*": [{**OK[0], "usage": {"output": each}}]},
        price=DOLLAR,
    )

    summary = play(suite, budget_usd=budget, concurrency=concurrency)

    assert (summary["exit_code"], summary["calls"]["total"]) == (4, calls)
    assert summary["cost_usd"]["total"] == pytest.approx(calls * each / 1e6)


def test_a_cap_holds_with_several_calls_in_flight(tmp_path: Path) -> None:
    """Five cents fit, whatever is in flight beside them."""
    summary = play(cents(tmp_path), budget_usd="0.055", concurrency=4)

    assert (summary["exit_code"], summary["stopped"], summary["complete"]) == (4, "budget", False)
    assert summary["cost_usd"]["total"] == pytest.approx(0.05)
    played = summary["trials"]["completed"]
    assert summary["cost_usd"]["total"] == pytest.approx(played * 0.01)
    assert (summary["trials"]["not_run"], summary["cells"]["skipped"]) == (20 - played, 20 - played)
    assert summary["cells"]["pass"] == played


def test_a_stopped_run_goes_on_with_more_money(tmp_path: Path) -> None:
    """Nothing is paid twice: the bill of both starts is that of one uninterrupted run."""
    suite, store = cents(tmp_path), InMemoryStore()
    play(suite, store, budget_usd="0.055", concurrency=4, run_id="capped")

    summary = play(suite, store, budget_usd="1", resume="capped")

    assert (summary["exit_code"], summary["complete"], summary["stopped"]) == (0, True, None)
    assert summary["cost_usd"]["total"] == pytest.approx(0.2)
    calls = rows(store, "calls")
    assert len(calls) == len({row["case_id"] for row in calls}) == 20


def test_what_was_spent_before_counts_against_the_cap(tmp_path: Path) -> None:
    """A resume starts no new budget."""
    suite, store = cents(tmp_path), InMemoryStore()
    first = play(suite, store, budget_usd="0.055", concurrency=1, run_id="capped")

    again = play(suite, store, budget_usd="0.075", concurrency=1, resume="capped")

    assert first["exit_code"] == again["exit_code"] == 4
    assert again["cost_usd"]["total"] <= 0.075
    assert again["trials"]["completed"] > first["trials"]["completed"]


def test_a_resume_keeps_the_cap_of_its_start(tmp_path: Path) -> None:
    """Forgetting a flag must not lift a hard cap."""
    suite, store = cents(tmp_path), InMemoryStore()
    play(suite, store, budget_usd="0.055", concurrency=1, run_id="capped")

    again = play(suite, store, concurrency=1, resume="capped")

    assert again["exit_code"] == 4
    assert again["cost_usd"]["total"] <= 0.055


def test_a_resume_counts_what_nobody_knows_the_cost_of(tmp_path: Path) -> None:
    """A stream that broke was paid for: it is booked like the dearest call of its model, not as nothing."""
    suite = write_suite(
        tmp_path / "s",
        [a_case(f"c{i:02}") for i in range(4)],
        replies={"*": CENT, "c00": [{**CENT[0], "cut": True, "times": 1}]},
        price=DOLLAR,
    )
    store = InMemoryStore()
    first = play(suite, store, budget_usd="0.035", concurrency=1, run_id="capped")

    again = play(suite, store, budget_usd="0.045", concurrency=1, resume="capped")

    assert first["trials"]["completed"] == again["trials"]["completed"] == 3
    assert again["exit_code"] == 4


def test_judges_stop_at_the_cap_and_go_on_alone(tmp_path: Path) -> None:
    """What the agents did is kept: the resumed run pays judges only for what it still owes."""
    suite, store = judged_cents(tmp_path), InMemoryStore()
    first = play(suite, store, budget_usd="0.095", concurrency=2, judge_concurrency=1, run_id="capped")
    played = first["trials"]["completed"]

    summary = play(suite, store, budget_usd="1", resume="capped")

    assert first["exit_code"] == 4
    assert first["cost_usd"]["total"] <= 0.095
    assert first["trials"]["planned"] == played + first["trials"]["not_run"] == 10
    assert summary["exit_code"] == 0
    assert summary["cost_usd"]["total"] == pytest.approx(0.2)
    assert evaluator(summary, "Criterion:tone")["passed"] == 10


def test_the_ledger_of_a_stopped_run_is_readable(tmp_path: Path) -> None:
    """Staged, one row a call, as the summary counts them."""
    suite, store = cents(tmp_path), InMemoryStore()

    summary = play(suite, store, budget_usd="0.055", concurrency=4, run_id="capped")

    calls = collect(store, "capped").calls()
    assert len(calls) == summary["calls"]["total"]
    assert sum(call.cost_nanousd or 0 for call in calls) == round(summary["cost_usd"]["total"] * 1e9)


def test_retries_are_on_the_bill(tmp_path: Path) -> None:
    """A stream that broke half way was paid for, by nobody knows how much."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one"), a_case("two")],
        replies={"*": CENT, "two": [{**CENT[0], "cut": True, "times": 2}]},
        price=DOLLAR,
    )
    store = InMemoryStore()

    summary = play(suite, store)

    assert (summary["calls"]["total"], summary["calls"]["retries"]) == (4, 2)
    assert (summary["cost_usd"]["total"], summary["cost_usd"]["unpriced_calls"]) == (None, 2)
    assert summary["cost_usd"]["at_least"]["total"] == pytest.approx(0.02)
    assert sorted(row["attempt"] for row in rows(store, "calls") if row["case_id"] == "two") == [1, 2, 3]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "two dollars", ""])
def test_a_budget_that_is_no_amount_is_refused(tmp_path: Path, text: str) -> None:
    """Before anything is spent."""
    with pytest.raises(InputError, match="--budget-usd"):
        play(cents(tmp_path, 1), budget_usd=text)
