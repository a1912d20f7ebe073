"""However many workers share a cap, and whichever of them die, together they never pass it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.errors import DamagedError, MissingError
from nightgate.rows.keys import purse_key
from nightgate.steps import purses
from nightgate.steps.purses import Purse
from nightgate.testing import InMemoryStore

RUN = "support-1"


def a_purse(cap: int = 1_000, spent: int = 0) -> InMemoryStore:
    """A store with the purse of a run."""
    store = InMemoryStore()
    purses.open_purse(store, RUN, cap, spent, anew=True)
    return store


def stored(store: InMemoryStore) -> Purse:
    """The purse as it lies there."""
    return Purse.from_json(store.read(purse_key(RUN)), "k")


def lease(store: InMemoryStore, owner: str, missing: int, workers: int = 2) -> int:
    """What a worker gets."""
    return purses.lease(store, RUN, owner, f"{owner}-", missing, workers)


def test_a_lease_is_a_share_of_the_cap_and_never_less_than_what_is_missing() -> None:
    """A request for each call would be too many, and half the cap too much to hold."""
    store = a_purse()

    assert lease(store, "a", 1) == 50
    assert lease(store, "b", 300) == 300
    assert stored(store).free == 650


def test_what_is_not_there_is_not_lent() -> None:
    """Half of a call is of no use to anybody; another worker's may be smaller."""
    store = a_purse(cap=100)
    lease(store, "a", 90)

    assert lease(store, "b", 20) == 0
    assert lease(store, "b", 10) == 10


def test_what_a_worker_did_not_spend_is_free_again() -> None:
    """It says so at its end."""
    store = a_purse()
    lease(store, "a", 400)
    purses.settle(store, RUN, "a", lambda _: 150)

    assert stored(store).free == 850


def test_what_a_dead_worker_spent_is_read_by_its_calls() -> None:
    """Whoever takes over its work knows the ledger; a second one who does changes nothing."""
    store = a_purse()
    lease(store, "dead", 400)
    asked: list[str] = []

    def in_the_ledger(calls: str) -> int:
        asked.append(calls)
        return 120

    purses.settle(store, RUN, "dead", in_the_ledger)
    purses.settle(store, RUN, "dead", lambda _: 0)

    assert asked == ["dead-"]
    assert stored(store).free == 880


def test_a_resume_may_raise_the_cap_while_workers_hold_leases() -> None:
    """What they hold stays held."""
    store = a_purse(cap=100)
    lease(store, "a", 80)
    purses.open_purse(store, RUN, 300, 999, anew=False)

    assert (stored(store).cap, stored(store).free) == (300, 220)


def test_a_resume_without_workers_goes_by_the_ledger() -> None:
    """All that was leased is over: what counts is what was paid."""
    store = a_purse(cap=100)
    lease(store, "a", 80)
    purses.open_purse(store, RUN, 100, 30, anew=True)

    assert stored(store).free == 70


def test_a_run_that_was_planned_without_a_purse_lends_nothing() -> None:
    """A worker with a cap that its parent does not know would spend without one."""
    with pytest.raises(MissingError, match="no shared budget"):
        lease(InMemoryStore(), "a", 1)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": 1}', '{"schema": 1, "cap": "x", "before": 0, "leases": {}}']
)
def test_a_damaged_purse_names_its_object_and_the_way_out(text: str) -> None:
    """No money is spent on what nobody can read."""
    store = InMemoryStore()
    store.replace(purse_key(RUN), text.encode())
    with pytest.raises(DamagedError, match=r"runs/support-1/budget.json: no shared budget .* run id"):
        lease(store, "a", 1)


@given(
    cap=st.integers(1, 500),
    workers=st.integers(1, 4),
    moves=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["spend", "end", "die"]), st.integers(0, 60))
    ),
)
def test_workers_together_never_pass_the_cap(
    cap: int, workers: int, moves: list[tuple[int, str, int]]
) -> None:
    """Leasing, spending, ending and dying in any order."""
    store = a_purse(cap=cap)
    spent: dict[str, int] = {}
    granted: dict[str, int] = {}
    born = 0
    for number, move, amount in moves:
        owner = f"{number % workers}-{born}"
        if move == "spend":
            missing = spent.get(owner, 0) + amount - granted.get(owner, 0)
            if missing > 0:
                granted[owner] = granted.get(owner, 0) + lease(store, owner, missing, workers)
            if spent.get(owner, 0) + amount <= granted.get(owner, 0):
                spent[owner] = spent.get(owner, 0) + amount
        else:
            purses.settle(store, RUN, owner, lambda calls: spent.get(calls.removesuffix("-"), 0))
            born += 1
        assert sum(spent.values()) <= cap


def test_a_worker_that_was_taken_for_dead_books_the_rest() -> None:
    """The ledger showed a part of it when somebody else settled; less than that is never booked."""
    store = a_purse(cap=1_000)
    lease(store, "a", 100)
    booked = []
    for spent in (30, 80, 50):
        purses.settle(store, RUN, "a", lambda _, spent=spent: spent)  # type: ignore[misc]
        booked.append(stored(store).leases["a"].spent)

    assert booked == [30, 80, 80]
