"""The cap: what is reserved never passes it, whatever the order and the threads."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nightgate.errors import BudgetError, ExitCode
from nightgate.prices import Budget, LeasedBudget, Reservation


def test_a_call_that_could_pass_the_cap_is_refused_with_the_figures() -> None:
    """A person must see why the run stopped."""
    budget = Budget(2_000_000_000)
    budget.settle(budget.reserve(1_500_000_000), 1_500_000_000)
    budget.reserve(400_000_000)
    with pytest.raises(BudgetError, match=r"2\.00 US dollars.*1\.50 spent, 0\.40 held.*cost 0\.20") as caught:
        budget.reserve(200_000_000)
    assert caught.value.exit_code is ExitCode.BUDGET
    assert budget.exhausted
    assert budget.refused == 1


def test_the_cap_itself_may_be_spent() -> None:
    """2 dollars of 2 is no excess."""
    budget = Budget(10)
    budget.settle(budget.reserve(10), 10)
    assert budget.spent_nanousd == 10
    assert not budget.exhausted


def test_a_cap_of_zero_refuses_free_calls_too() -> None:
    """`--budget-usd 0` means: no model call of any role, priced or not."""
    budget = Budget(0)
    assert budget.exhausted
    with pytest.raises(BudgetError, match="no model call may be made"):
        budget.reserve(0)


def test_without_a_cap_nothing_is_refused_and_everything_counted() -> None:
    """The bill is shown anyway."""
    budget = Budget(None)
    budget.settle(budget.reserve(10**18), 7)
    assert budget.spent_nanousd == 7
    assert not budget.exhausted


def test_an_unknown_cost_counts_with_its_estimate() -> None:
    """Unknown is not free: the cap has to bind."""
    budget = Budget(100)
    budget.settle(budget.reserve(60), None)
    assert (budget.spent_nanousd, budget.unknown) == (60, 1)
    with pytest.raises(BudgetError):
        budget.reserve(50)


def test_a_free_call_is_refused_once_an_answer_overshot_the_cap() -> None:
    """The cap is passed: nothing more starts."""
    budget = Budget(10)
    budget.settle(budget.reserve(5), 50)
    with pytest.raises(BudgetError):
        budget.reserve(0)


def test_what_was_never_sent_is_given_back() -> None:
    """A cancelled call costs nothing."""
    budget = Budget(10)
    budget.cancel(budget.reserve(10))
    budget.reserve(10)
    assert budget.spent_nanousd == 0


def test_settling_twice_changes_nothing() -> None:
    """A late answer and its time-out may both want to."""
    budget = Budget(10)
    held = budget.reserve(5)
    for actual in (3, 4, None):
        budget.settle(held, actual)
    budget.cancel(held)
    assert (budget.spent_nanousd, budget.reserved_nanousd, budget.unknown) == (3, 0, 0)


def test_money_of_an_earlier_process_counts() -> None:
    """A resumed run has spent already."""
    budget = Budget(10)
    budget.add_spent(8)
    with pytest.raises(BudgetError):
        budget.reserve(3)


def test_a_negative_cap_is_refused() -> None:
    """It can only be a mistake."""
    with pytest.raises(ValueError, match="negative"):
        Budget(-1)


class _AnyOrder(RuleBasedStateMachine):
    """Reserve, settle and cancel in any order, beside a plain sum."""

    @initialize(cap=st.integers(1, 1000))
    def start(self, cap: int) -> None:
        self.budget, self.cap = Budget(cap), cap
        self.held: list[Reservation] = []
        self.spent = self.overshoot = 0

    @rule(estimate=st.integers(0, 300))
    def reserve(self, estimate: int) -> None:
        fits = self.spent + sum(held.nanousd for held in self.held) + estimate <= self.cap
        try:
            self.held.append(self.budget.reserve(estimate))
        except BudgetError:
            assert not fits
        else:
            assert fits

    @rule(actual=st.one_of(st.none(), st.integers(0, 600)), which=st.integers(0, 100))
    def settle(self, actual: int | None, which: int) -> None:
        if self.held:
            held = self.held.pop(which % len(self.held))
            self.budget.settle(held, actual)
            cost = held.nanousd if actual is None else actual
            self.spent += cost
            self.overshoot += max(0, cost - held.nanousd)

    @rule(which=st.integers(0, 100))
    def cancel(self, which: int) -> None:
        if self.held:
            self.budget.cancel(self.held.pop(which % len(self.held)))

    @invariant()
    def spending_passes_the_cap_only_by_what_calls_in_flight_overshot(self) -> None:
        if hasattr(self, "budget"):
            held = sum(held.nanousd for held in self.held)
            assert self.budget.spent_nanousd == self.spent
            assert self.budget.reserved_nanousd == held
            assert self.spent + held <= self.cap + self.overshoot


TestAnyOrder = _AnyOrder.TestCase


@given(st.integers(1, 50), st.lists(st.integers(0, 20), min_size=1, max_size=60))
def test_threads_together_never_reserve_more_than_the_cap(cap: int, estimates: list[int]) -> None:
    """And their sums come out right."""
    budget = Budget(cap)
    most = 0
    lock = threading.Lock()

    def call(estimate: int) -> int:
        nonlocal most
        try:
            held = budget.reserve(estimate)
        except BudgetError:
            return 0
        with lock:
            most = max(most, budget.spent_nanousd + held.nanousd)
        budget.settle(held, estimate)
        return estimate

    with ThreadPoolExecutor(4) as pool:
        spent = sum(pool.map(call, estimates))
    assert budget.spent_nanousd == spent <= cap
    assert budget.reserved_nanousd == 0


class Lender:
    """Lends from what there is, in shares of ten."""

    def __init__(self, there: int) -> None:
        self.there = there
        self.asked: list[int] = []

    def __call__(self, missing: int) -> int:
        self.asked.append(missing)
        lent = 0 if missing > self.there else min(self.there, max(missing, 10))
        self.there -= lent
        return lent


async def test_a_leased_budget_asks_for_more_only_when_it_runs_short() -> None:
    """A request for each call would be too many."""
    lender = Lender(100)
    budget = LeasedBudget(100, lender)
    for _ in range(10):
        await budget.admit(4)
        budget.settle(budget.reserve(4), 4)

    assert (budget.spent_nanousd, lender.asked) == (40, [4, 2, 4, 2])


async def test_a_leased_budget_that_gets_nothing_stops() -> None:
    """The rest is spent or held by others; what people are told is the whole cap."""
    budget = LeasedBudget(2_000_000_000, Lender(3))
    await budget.admit(4)

    with pytest.raises(
        BudgetError, match=r"the budget of 2.00 US dollars is reached: this worker spent 0.00"
    ):
        budget.reserve(4)
    assert budget.exhausted


async def test_calls_at_once_lease_for_all_of_them() -> None:
    """Each holds what it may cost; the second asks for what the first left."""
    lender = Lender(100)
    budget = LeasedBudget(100, lender)
    await budget.admit(8)
    first = budget.reserve(8)
    await budget.admit(8)
    second = budget.reserve(8)
    budget.settle(first, 8)
    budget.settle(second, None)

    assert (budget.spent_nanousd, sum(lender.asked)) == (16, 14)


async def test_what_was_spent_elsewhere_is_the_lenders_to_know() -> None:
    """A worker that joins reads the whole ledger; its own share is not the less for it."""
    budget = LeasedBudget(100, Lender(100))
    budget.add_spent(99)
    await budget.admit(5)

    assert budget.reserve(5).nanousd == 5


async def test_many_that_are_admitted_before_one_holds_are_all_leased_for() -> None:
    """They waited for the first call's price together: one lease for all of them would stop the run."""
    budget = LeasedBudget(1_000, Lender(1_000))
    await asyncio.gather(*(budget.admit(10) for _ in range(24)))

    assert [budget.reserve(10).nanousd for _ in range(24)] == [10] * 24
    assert not budget.exhausted


async def test_at_the_end_of_a_cap_one_call_gets_what_is_not_enough_for_all() -> None:
    """What is left must not lie idle because several want more than that together."""
    budget = LeasedBudget(100, Lender(15))
    await asyncio.gather(*(budget.admit(10) for _ in range(4)))

    assert budget.reserve(10).nanousd == 10


async def test_a_call_that_is_admitted_and_not_made_holds_nothing() -> None:
    """Its trial ended while it waited."""
    lender = Lender(100)
    budget = LeasedBudget(100, lender)
    await budget.admit(8)
    budget.withdraw(8)
    await budget.admit(8)
    budget.reserve(8)

    assert sum(lender.asked) == 8


async def test_a_worker_that_was_taken_for_dead_leases_anew() -> None:
    """What it held was lent to others meanwhile."""
    lender = Lender(100)
    budget = LeasedBudget(100, lender)
    await budget.admit(30)
    budget.settle(budget.reserve(30), 10)
    budget.forget()
    await budget.admit(5)
    budget.reserve(5)

    assert sum(lender.asked) == 35
