"""What waits is gathered, submitted once and handed exactly one thing, whatever the queue does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batch_double import QUICK, QueueDouble, a_record, an_engine
from makers import Journal, a_price
from nightgate.adapters.batch.engine import Engine
from nightgate.adapters.batch.records import Record
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.calls import Call, CallStart
from nightgate.errors import BudgetError, ModelCallError
from nightgate.prices import Budget
from nightgate.rows.ledger import merge_calls

FATES = ("ok", "missing", "error", "broken", "nobody", "twice")


async def asked(engine: Engine, records: Sequence[Record]) -> list[Any]:
    """What every record was handed; errors are results here."""
    handed = await asyncio.gather(*(engine.ask(record) for record in records), return_exceptions=True)
    await engine.close()
    return list(handed)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    fates=st.lists(st.sampled_from(FATES), max_size=45),
    ends=st.lists(st.sampled_from(("completed", "partial", "failed")), max_size=6),
    troubles=st.lists(st.sampled_from((None, "after")), max_size=6),
)
def test_every_record_is_handed_one_thing_and_submitted_once_at_most(
    fates: list[str], ends: list[str], troubles: list[str | None]
) -> None:
    """Its own answer, or an order to go live; and the ledger has one row for each that was submitted."""

    async def play() -> None:
        queue = QueueDouble(fates=dict(enumerate(fates)), ends=ends, troubles=list(troubles))
        journal = Journal()
        engine = an_engine(queue, journal=journal)
        records = [a_record(n) for n in range(len(fates))]
        handed = await asked(engine, records)

        assert set(queue.seen.values()) <= {1}
        rows = merge_calls(one for one in journal if isinstance(one, Call | CallStart))
        assert {row.call_id for row in rows} == {f"batch-{name}" for name in queue.seen}
        for number, (record, events) in enumerate(zip(records, handed, strict=True)):
            if events is not None:
                assert f'"n": {number}}}' in events[1]["contentBlockDelta"]["delta"]["text"]
                assert fates[number] in ("ok", "twice")
            row = next((row for row in rows if row.call_id == record.call_id), None)
            assert (row is not None and row.outcome.value == "ok") is (events is not None)

    asyncio.run(play())


async def test_jobs_are_cut_even_so_that_none_is_left_over() -> None:
    """Twelve of at most ten are two jobs of six, not one of ten and two records that go live."""
    queue = QueueDouble()
    await asked(an_engine(queue), [a_record(n) for n in range(12)])

    assert sorted(map(len, queue.jobs.values())) == [6, 6]


async def test_too_few_records_go_live() -> None:
    """Nothing is submitted for two."""
    queue = QueueDouble()

    assert await asked(an_engine(queue), [a_record(n) for n in range(2)]) == [None, None]
    assert queue.jobs == {}


@pytest.mark.parametrize("trouble", ["before", "after"])
async def test_a_submit_that_failed_is_looked_for_before_it_is_made_again(trouble: str) -> None:
    """Its answer may be all that was lost."""
    queue = QueueDouble(troubles=[trouble])
    handed = await asked(an_engine(queue), [a_record(n) for n in range(5)])

    assert None not in handed
    assert set(queue.seen.values()) == {1}


@pytest.mark.parametrize("submitted", [True, False])
async def test_another_process_goes_on_with_what_one_left(submitted: bool) -> None:
    """A job whose id was never written down is found by its name; one that never arrived is submitted."""
    store, queue = InMemoryStore(), QueueDouble(hold=asyncio.Event())
    first = an_engine(queue, store=store)
    waiting = [asyncio.create_task(first.ask(a_record(n))) for n in range(5)]
    await queue.arrived.wait()
    await first.close()
    for task in waiting:
        task.cancel()
    store.delete(key for key in store.find("runs/") if key.endswith("submitted.json"))
    if not submitted:
        queue.jobs.clear()
        queue.seen.clear()

    queue.hold = None
    handed = await asked(an_engine(queue, store=store), [a_record(n) for n in range(5)])

    assert None not in handed
    assert (len(queue.jobs), set(queue.seen.values())) == (1, {1})


async def test_a_job_that_never_arrived_is_cut_anew_when_some_of_it_is_not_asked_for_again() -> None:
    """Its other records cannot be rendered by anyone."""
    store = InMemoryStore()
    refusing = QueueDouble(troubles=["refused"])
    await asked(an_engine(refusing, store=store), [a_record(n) for n in range(8)])
    queue = QueueDouble()
    handed = await asked(an_engine(queue, store=store), [a_record(n) for n in range(5)])

    assert None not in handed
    assert [len(job) for job in queue.jobs.values()] == [5]


async def test_a_queue_that_refuses_is_an_error_and_never_a_live_call() -> None:
    """Whoever asked for the batch price has not agreed to twice of it."""
    journal = Journal()
    handed = await asked(
        an_engine(QueueDouble(troubles=["refused"]), journal=journal), [a_record(n) for n in range(4)]
    )

    assert [type(one) for one in handed] == [ModelCallError] * 4
    assert "batch queue: " in str(handed[0])
    assert journal.outcomes == ["error"] * 4


async def test_a_lost_record_is_left_an_error_by_setting() -> None:
    """With the reason that its judgement shows."""
    left = QUICK.__class__(**{**_fields(QUICK), "rest": "error"})
    handed = await asked(
        an_engine(QueueDouble(fates={1: "error"}), settings=left), [a_record(n) for n in range(3)]
    )

    assert isinstance(handed[1], ModelCallError)
    assert str(handed[1]) == "tiny:judge: the model failed"


async def test_what_does_not_fit_the_cap_waits_for_what_is_in_flight() -> None:
    """A job costs less than is held for it: what is left over pays for the next one."""
    queue, budget = QueueDouble(), Budget(10_000_000)
    engine = an_engine(queue, budget=budget, price=a_price(input="1", output="1"))
    handed = await asked(engine, [a_record(n) for n in range(30)])

    assert len(queue.jobs) > 3
    assert None not in handed
    assert not any(isinstance(one, BaseException) for one in handed)
    assert budget.spent_nanousd == 30 * 12_000
    assert budget.reserved_nanousd == 0


async def test_what_a_cap_leaves_too_few_for_a_job_is_refused_and_never_sent_live() -> None:
    """A live call costs twice what was asked for: the sweep stops, and says why."""
    lines: list[str] = []
    queue = QueueDouble()
    # Room for four answers at their guess; of five records one is left, and three are a job.
    engine = an_engine(queue, budget=Budget(4_200_000), price=a_price(input="1", output="1"))
    engine._told = lines.append
    handed = await asked(engine, [a_record(n) for n in range(5)])

    assert [len(job) for job in queue.jobs.values()] == [4]
    assert None not in handed
    (error,) = [one for one in handed if isinstance(one, BaseException)]
    assert isinstance(error, BudgetError)
    assert "too few for a batch job (3)" in str(error)
    assert lines[-1] == f"batch: {error}"


async def test_a_cap_leaves_enough_for_a_job_of_its_own_where_it_can() -> None:
    """Of eight, six fit at first: five now and three later are two jobs, six now leave two that are none."""
    queue = QueueDouble()
    engine = an_engine(queue, budget=Budget(6_300_000), price=a_price(input="1", output="1"))
    handed = await asked(engine, [a_record(n) for n in range(8)])

    assert [len(job) for job in queue.jobs.values()] == [5, 3]
    assert not any(one is None or isinstance(one, BaseException) for one in handed)


class FullDisk(Journal):
    """A journal that takes starts and no ends."""

    def __call__(self, record: Any) -> None:
        """Refuse what ended."""
        if isinstance(record, Call):
            raise OSError(28, "No space left on device")
        super().__call__(record)


@pytest.mark.parametrize("fates", [{}, {0: "missing"}])
async def test_nobody_waits_for_ever_when_the_ledger_cannot_be_written(fates: dict[int, str]) -> None:
    """A judgement whose answer was read and not recorded stood in no list any more."""
    engine = an_engine(QueueDouble(fates=fates), journal=FullDisk())
    async with asyncio.timeout(10):
        handed = await asked(engine, [a_record(n) for n in range(3)])

    assert [type(one) for one in handed] == [ModelCallError] * 3


async def test_a_cap_of_nothing_submits_nothing() -> None:
    """0 refuses free calls too."""
    queue = QueueDouble()
    handed = await asked(an_engine(queue, budget=Budget(0)), [a_record(n) for n in range(4)])

    assert [type(one) for one in handed] == [BudgetError] * 4
    assert queue.jobs == {}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12_000_000), st.integers(0, 40), st.lists(st.sampled_from(FATES), max_size=40))
def test_spending_never_passes_the_cap(cap: int, count: int, fates: list[str]) -> None:
    """Held before each job, settled after it; unknown costs count as what was held."""

    async def play() -> None:
        budget = Budget(cap)
        queue = QueueDouble(fates=dict(enumerate(fates)))
        engine = an_engine(queue, budget=budget, price=a_price(input="1", output="1"))
        await asked(engine, [a_record(n) for n in range(count)])
        assert budget.spent_nanousd + budget.reserved_nanousd <= cap
        assert budget.reserved_nanousd == 0

    asyncio.run(play())


def _fields(made: Any) -> dict[str, Any]:
    return {name: getattr(made, name) for name in made.__dataclass_fields__}
