"""What a record costs, and its one row in the ledger."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from batch_double import QueueDouble, a_record, a_wire
from makers import Journal, a_meter, a_price
from nightgate.adapters.batch.accounts import Accounts, batch_price
from nightgate.adapters.batch.records import Lost
from nightgate.calls import Call, CallStart, Outcome
from nightgate.prices import FREE, Budget, Price, scaled
from nightgate.prices.costs import LongContext


def queued(price: Price) -> Price:
    """With a batch queue at half of it."""
    return replace(price, batch=scaled(price, Decimal("0.5")))


LIST = queued(a_price(input="2", output="10", cache_read="1", cache_write="4"))


def test_the_batch_price_is_the_factor_of_every_kind_of_token() -> None:
    """Long prompts too."""
    long = LongContext(
        above=9, input=Decimal(4), output=Decimal(20), cache_read=Decimal(2), cache_write=Decimal(8)
    )
    found = batch_price(queued(replace(LIST, long=long)))

    assert found is not None
    assert (found.input, found.output, found.cache_read, found.cache_write) == (1, 5, Decimal("0.5"), 2)
    assert found.long is not None
    assert (found.long.above, found.long.input, found.long.output) == (9, 2, 10)


@pytest.mark.parametrize("price", [None, FREE])
def test_unknown_stays_unknown_and_free_stays_free(price: Price | None) -> None:
    """Never 0 for what nobody knows."""
    assert batch_price(price) is price


async def test_an_answer_is_one_row_at_the_batch_price() -> None:
    """And its judgement knows what was said."""
    journal, budget = Journal(), Budget(10**9)
    accounts = Accounts(a_meter(journal=journal, budget=budget), a_wire(LIST))
    record = a_record(1)
    accounts.hold(record)
    held = budget.reserved_nanousd
    accounts.sent(record)
    accounts.answered(record, QueueDouble().events(record, {"n": 1}))

    assert held > 0
    assert [type(one) for one in journal] == [CallStart, Call]
    (call,) = journal.ends
    assert (call.outcome, call.cost_nanousd, call.call_id) == (
        Outcome.OK,
        10 * 1000 + 2 * 5000,
        f"batch-{record.id}",
    )
    assert (budget.spent_nanousd, budget.reserved_nanousd) == (20_000, 0)
    assert (record.scope.last_reply, record.scope.calls) == ('{"n": 1}', [call])


@pytest.mark.parametrize(("billed", "cost"), [(False, 0), (None, None)])
async def test_a_lost_record_costs_nothing_or_nobody_knows_what(
    billed: bool | None, cost: int | None
) -> None:
    """Of unknown cost the budget books what was held."""
    journal, budget = Journal(), Budget(10**9)
    accounts = Accounts(a_meter(journal=journal, budget=budget), a_wire(LIST))
    record = a_record(1)
    accounts.hold(record)
    held = budget.reserved_nanousd
    accounts.lost(record, Lost(why="gone", outcome=Outcome.UNKNOWN, billed=billed))

    assert (journal.ends[0].cost_nanousd, journal.ends[0].error) == (cost, "gone")
    assert budget.spent_nanousd == (0 if billed is False else held)


async def test_what_was_seen_is_held_for_the_next(  # the first guess is of an answer of 1,024 tokens
) -> None:
    """A job of thousands must not hold ten times what it costs."""
    budget = Budget(10**9)
    accounts = Accounts(a_meter(budget=budget), a_wire(LIST))
    first, second = a_record(1), a_record(2)
    accounts.hold(first)
    guessed = budget.reserved_nanousd
    accounts.answered(first, QueueDouble().events(first, {"n": 1}))
    accounts.hold(second)

    assert guessed > 1024 * 5000
    assert 20_000 <= budget.reserved_nanousd < 50_000
