"""One accepted record of each trial and cell, whoever wrote how many."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from makers import a_score, a_trial
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import staging_key
from nightgate.rows.records import encode_record
from nightgate.scores import Cell
from nightgate.steps.collecting import collect


def put(store: InMemoryStore, name: str, *records: object) -> None:
    """Stage a group under a name."""
    store.create(staging_key("r", name), encode_group([encode_record(record) for record in records]))


def a_cell(reason: str, attempt: int = 1) -> Cell:
    """A cell that judged a certain play."""
    return Cell(case_id="a", trial=0, score=a_score(reason=reason), attempt=attempt)


def test_the_lowest_epoch_wins() -> None:
    """A zombie that comes back later changes nothing."""
    store = InMemoryStore()
    put(store, "000002-w-000000.jsonl.zst", a_trial("late", attempt=2))
    put(store, "000001-w-000000.jsonl.zst", a_trial("first", attempt=1))

    assert collect(store, "r").trial("a", 0).output == "first"


@given(order=st.permutations([1, 2, 3, 4]))
def test_the_order_of_arrival_does_not_matter(order: list[int]) -> None:
    """Two finishers must accept the same records."""
    store = InMemoryStore()
    for epoch in order:
        put(store, f"{epoch:06d}-w-000000.jsonl.zst", a_trial(f"by {epoch}", attempt=epoch))

    assert collect(store, "r").trial("a", 0).output == "by 1"


def test_cells_of_a_play_that_lost_are_not_counted() -> None:
    """They judged another answer."""
    store = InMemoryStore()
    put(store, "000001-w-000000.jsonl.zst", a_trial("first", attempt=1))
    put(store, "000002-w-000000.jsonl.zst", a_trial("late", attempt=2), a_cell("of the late one", attempt=2))

    assert collect(store, "r").cell("a", 0, "E") is None


def test_a_resumed_judgement_of_the_accepted_play_counts() -> None:
    """The judge was killed, the trial was not."""
    store = InMemoryStore()
    put(store, "000001-w-000000.jsonl.zst", a_trial("first", attempt=1))
    put(store, "000002-w-000000.jsonl.zst", a_cell("judged later", attempt=1))

    cell = collect(store, "r").cell("a", 0, "E")

    assert cell is not None
    assert cell.score.reason == "judged later"


def test_plays_count_every_beginning() -> None:
    """The next play of a trial must know its number."""
    store = InMemoryStore()
    put(store, "000001-w-000000.jsonl.zst", a_trial("x", attempt=3))

    assert collect(store, "r").plays == {("a", 0): 3}


def test_trials_of_many_groups_are_read_back(  # the cache of groups is smaller than their number
) -> None:
    """Memory is bounded; what can be read is not."""
    store = InMemoryStore()
    for number in range(40):
        trial = a_trial(f"answer {number}")
        put(store, f"000001-w-{number:06d}.jsonl.zst", replace(trial, key=replace(trial.key, trial=number)))

    found = collect(store, "r")

    assert [found.trial("a", n).output for n in range(40)] == [f"answer {n}" for n in range(40)]


def test_a_call_that_was_staged_twice_is_spent_once() -> None:
    """A journal is brought up whole, also where its first lines were staged before the kill."""
    from nightgate.calls import Call, Outcome, Role
    from nightgate.trials import Usage

    call = Call(
        call_id="x-1", run_id="r", suite="demo", role=Role.AGENT, case_id="a", trial=0, evaluator=None,
        model="m", attempt=1, outcome=Outcome.OK, usage=Usage(input=1), cost_nanousd=7,
    )  # fmt: skip
    store = InMemoryStore()
    put(store, "000001-w-000000.jsonl.zst", call)
    put(store, "000001-w-journal.jsonl.zst", call)

    assert [found.cost_nanousd for found in collect(store, "r").calls()] == [7]
