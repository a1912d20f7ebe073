"""A judge behind a queue is a judge: same interface, same caps, and its waiting is no work."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from batch_double import QUICK, SPEC, QueueDouble
from makers import Journal, a_meter, a_scope, metered
from nightgate.adapters.batch.accounts import Accounts
from nightgate.adapters.batch.engine import Engine
from nightgate.adapters.batch.live import LivePlaces
from nightgate.adapters.batch.model import BatchModel
from nightgate.adapters.batch.records import awaits_batch, record_id
from nightgate.adapters.meter import Meter
from nightgate.adapters.scripted import ScriptedModel
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.calls import Call, Outcome, Role, Scope, scoped
from nightgate.cases.scripts import Script
from nightgate.errors import ModelCallError


class Judge:
    """A batched judge whose live calls say ``live``."""

    def __init__(self, queue: QueueDouble, **meter: Any) -> None:
        self.journal = Journal()
        self.meter: Meter = a_meter(journal=self.journal, **meter)
        live = metered(_Live(), self.meter, role=Role.JUDGE)
        engine = Engine(queue, Accounts(self.meter, live.wire), InMemoryStore(), SPEC, QUICK)
        self.model = BatchModel(live, queue, engine, self.meter, LivePlaces(2))

    async def ask(self, scope: Scope | None, text: str = "?", tools: Any = None) -> str:
        """The text that comes back."""
        messages = [{"role": "user", "content": [{"text": text}]}]

        async def said() -> str:
            events = [event async for event in self.model.stream(messages, tools)]
            deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
            return "".join(delta.get("text", "") for delta in deltas)

        if scope is None:
            return await said()
        with scoped(scope):
            return await said()


class _Live(ScriptedModel):
    """The same model, called at once."""

    def __init__(self) -> None:
        super().__init__(Script(name="live"), "live")

    async def stream(self, *_: Any, **__: Any) -> Any:
        """One word."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "live"}}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def scopes(count: int) -> list[Scope]:
    """Of so many judgements."""
    return [a_scope(Role.JUDGE, case_id=f"c{n}", evaluator="E") for n in range(count)]


async def test_judgements_that_wait_together_are_one_job() -> None:
    """Each gets its own answer."""
    queue = QueueDouble()
    judge = Judge(queue)
    said = await asyncio.gather(*(judge.ask(scope, f"q{n}") for n, scope in enumerate(scopes(5))))

    assert said == [f'{{"text": "q{n}"}}' for n in range(5)]
    assert [len(job) for job in queue.jobs.values()] == [5]


async def test_what_the_queue_does_not_take_is_called_at_once() -> None:
    """A request with tools here; and whatever is asked outside of a judgement."""
    judge = Judge(QueueDouble())

    assert await judge.ask(scopes(1)[0], tools=[{"name": "t", "inputSchema": {"json": {}}}]) == "live"
    assert await judge.ask(None) == "live"


async def test_waiting_for_a_job_is_not_working_time() -> None:
    """A deadline of a judgement is of minutes, a queue's of a day."""
    queue = QueueDouble(hold=asyncio.Event())
    judge = Judge(queue)
    waiting = scopes(3)
    asks = [asyncio.create_task(judge.ask(scope)) for scope in waiting]
    await queue.arrived.wait()

    assert [scope.waiting for scope in waiting] == [1, 1, 1]
    assert queue.hold is not None
    queue.hold.set()
    await asyncio.gather(*asks)
    assert all(scope.waiting == 0 and scope.waited_s > 0 for scope in waiting)


async def test_the_same_question_again_is_another_record() -> None:
    """A judge that asks twice wants two answers; their ids are the same in every process."""
    first, again = QueueDouble(), QueueDouble()
    for queue in (first, again):
        judge = Judge(queue)
        for _ in range(2):
            await asyncio.gather(*(judge.ask(scope, "same") for scope in scopes(3)))

    assert len(first.seen) == 6
    assert first.seen == again.seen


async def test_a_judge_that_never_ends_is_ended_by_its_cap() -> None:
    """As live; the queue must not be a way around it."""
    judge = Judge(QueueDouble(), call_caps={Role.JUDGE: 2})
    three = scopes(3)
    for _ in range(2):
        await asyncio.gather(*(judge.ask(scope) for scope in three))

    with pytest.raises(ModelCallError, match="made 2 calls for one judgement; the cap is 2"):
        await judge.ask(three[0])


@pytest.mark.parametrize("field", ["run_id", "case_id", "trial", "evaluator", "repeat", "play"])
def test_a_record_is_of_one_cell(field: str) -> None:
    """Two outputs that are word for word the same are two questions; a repeat is another one."""
    one = a_scope(Role.JUDGE, evaluator="E")
    other = a_scope(Role.JUDGE, evaluator="E")
    setattr(other, field, 7 if isinstance(getattr(one, field), int) else "other")

    assert record_id(one, SPEC, {}, 0) == record_id(one, SPEC, {}, 0)
    assert record_id(one, SPEC, {}, 0) != record_id(other, SPEC, {}, 0)


def test_a_row_that_waits_for_its_job_is_told_from_one_that_was_lost() -> None:
    """The first is not booked when a sweep is resumed: its answer comes under the same id."""
    call = Call(
        call_id="batch-1", run_id="r", suite="s", role=Role.JUDGE, case_id="c", trial=0, evaluator="E",
        model=SPEC, attempt=1, outcome=Outcome.UNKNOWN,
    )  # fmt: skip

    assert awaits_batch(call)
    assert not awaits_batch(replace(call, call_id="1"))
    assert not awaits_batch(replace(call, outcome=Outcome.OK))
