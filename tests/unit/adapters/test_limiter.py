"""Admission to one model: in flight, paused, paced."""

import asyncio
import itertools
import random
from collections.abc import Callable
from functools import partial

import pytest

from makers import a_limiter
from nightgate.adapters.limiter import Limiter, Slot
from virtual import in_virtual_time


async def hold(limiter: Limiter, until: asyncio.Event, done: list[int], number: int = 0) -> None:
    async with limiter.slot():
        await until.wait()
    done.append(number)


async def test_no_more_than_the_limit_are_in_flight() -> None:
    """Twenty callers, four slots; all get through."""
    limiter, done = a_limiter(4), list[int]()

    async def one(number: int) -> None:
        async with limiter.slot():
            assert limiter.in_flight <= 4
            await asyncio.sleep(0)
        done.append(number)

    await asyncio.gather(*map(one, range(20)))
    assert (limiter.peak, limiter.in_flight, len(done)) == (4, 0, 20)


async def test_who_came_first_goes_first() -> None:
    """Nobody starves behind newcomers."""
    limiter, order = a_limiter(1), list[int]()

    async def one(number: int) -> None:
        async with limiter.slot():
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*map(one, range(10)))
    assert order == list(range(10))


async def test_a_slot_is_given_back_when_its_holder_fails() -> None:
    """Otherwise every failed call would narrow the rest of the night."""
    limiter = a_limiter(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="x"):
            async with limiter.slot():
                raise ValueError("x")
    assert limiter.free


async def test_a_cancelled_waiter_leaves_no_trace() -> None:
    """Neither in the queue nor, where its turn had just come, as a slot that nobody holds."""
    limiter, until, done = a_limiter(1), asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(hold(limiter, until, done, n)) for n in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()  # still waiting
    until.set()
    await asyncio.sleep(0)  # the first one leaves, the second in line is woken
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert limiter.in_flight == 0
    assert limiter.free
    assert done == [0, 3]


async def test_more_slots_let_waiters_in() -> None:
    """A worker's share has grown: nobody leaves, and still there is room."""
    limiter, until, done = a_limiter(1), asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(hold(limiter, until, done)) for _ in range(2)]
    await asyncio.sleep(0)
    assert limiter.in_flight == 1
    limiter.drive(2, None)
    await asyncio.sleep(0)
    assert limiter.in_flight == 2
    until.set()
    await asyncio.gather(*tasks)


async def test_fewer_slots_end_nothing() -> None:
    """What is in flight ends as it would; the next waits until there are fewer than the new limit."""
    limiter, until, done = a_limiter(3), asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(hold(limiter, until, done)) for _ in range(4)]
    await asyncio.sleep(0)
    limiter.drive(1, None)
    assert limiter.in_flight == 3
    until.set()
    await asyncio.gather(*tasks)
    assert done == [0, 0, 0, 0]


async def test_a_share_of_nothing_admits_nobody_until_there_is_one() -> None:
    """Others hold all that the model may be driven to."""
    limiter, until, done = a_limiter(4), asyncio.Event(), list[int]()
    until.set()
    limiter.drive(0, None)
    task = asyncio.create_task(hold(limiter, until, done))
    await asyncio.sleep(0.01)
    assert (limiter.in_flight, limiter.wanted, done) == (0, True, [])
    limiter.drive(1, None)
    await task


@pytest.mark.parametrize("closed", [(0.0, None), (None, 0.0)])
async def test_a_rate_of_nothing_admits_nobody_until_there_is_one(
    closed: tuple[float | None, float | None],
) -> None:
    """As with slots: no starts, or no tokens, are lent to this worker for a while."""
    limiter, until, done = a_limiter(4), asyncio.Event(), list[int]()
    until.set()
    limiter.drive(4, *closed)
    task = asyncio.create_task(hold(limiter, until, done))
    await asyncio.sleep(0.01)
    assert done == []
    limiter.drive(4, 6000.0, 1e9)
    await asyncio.wait_for(task, 10)


def test_nothing_starts_during_a_pause() -> None:
    """The provider said how long; all callers heed it, not only the one that was told."""

    async def drill() -> list[float]:
        now = asyncio.get_running_loop().time
        limiter, started = a_limiter(4, now=now), list[float]()
        limiter.throttled(Slot(0.0), 7.0)
        assert not limiter.free

        async def one() -> None:
            async with limiter.slot():
                started.append(now())

        await asyncio.gather(one(), one())
        return started

    assert min(in_virtual_time(drill())) >= 7.0


def test_a_pause_may_grow_while_somebody_waits() -> None:
    """A second throttle comes from a call that was in flight."""

    async def drill() -> float:
        now = asyncio.get_running_loop().time
        limiter = a_limiter(4, now=now)
        limiter.throttled(Slot(0.0), 1.0)
        asyncio.get_running_loop().call_later(0.5, limiter.throttled, Slot(0.0), 9.0)
        async with limiter.slot():
            return now()

    assert in_virtual_time(drill()) >= 9.5


def test_a_pace_spreads_the_starts() -> None:
    """Sixty a minute is one a second, however many wait."""
    gaps = [later - sooner for sooner, later in itertools.pairwise(started(per_minute=60, calls=4))]
    assert gaps == pytest.approx([1.0, 1.0, 1.0])


def test_tokens_are_spread_by_what_calls_took() -> None:
    """600 tokens a minute are ten a second; calls of 50 start five seconds apart, once that is known."""
    starts = started(per_minute=None, tokens_per_minute=600, calls=60, tokens=50)
    gaps = [later - sooner for sooner, later in itertools.pairwise(starts)]
    assert gaps[-1] == pytest.approx(5.0, rel=0.2)


def test_a_refused_call_took_no_tokens() -> None:
    """What was held for it is free again: the next starts at once."""

    async def drill() -> float:
        now = asyncio.get_running_loop().time
        limiter = a_limiter(4, now=now)
        limiter.drive(4, None, 60.0)
        async with limiter.slot() as slot:
            limiter.used(slot, 0)
        async with limiter.slot():
            return now()

    assert in_virtual_time(drill()) == 0.0


def started(
    *, per_minute: float | None, tokens_per_minute: float | None = None, calls: int, tokens: int = 0
) -> list[float]:
    """When so many calls, all asked for at once, would start."""

    async def drill() -> list[float]:
        now, starts = asyncio.get_running_loop().time, list[float]()
        limiter = a_limiter(1, now=now)
        limiter.drive(1, per_minute, tokens_per_minute)

        async def one() -> None:
            async with limiter.slot() as slot:
                starts.append(now())
                limiter.used(slot, tokens)

        await asyncio.gather(*(one() for _ in range(calls)))
        return starts

    return in_virtual_time(drill())


def test_a_scripted_refusal_says_nothing_about_the_rate() -> None:
    """It comes after so many requests, however slowly they are sent."""
    limiter = Limiter(4, None, lambda: 0.0, adapts=False)
    limiter.throttled(Slot(0.0), None)
    assert limiter.free


async def test_any_order_of_events_ends_with_nothing_held() -> None:
    """Entering, cancelling, throttling and succeeding in a thousand random orders."""
    chance = random.Random(11)
    for _ in range(100):
        limiter = Limiter(chance.randint(1, 4), None, lambda: 0.0, adapts=False)
        done: list[int] = []
        until = asyncio.Event()
        tasks = [asyncio.create_task(hold(limiter, until, done)) for _ in range(8)]
        moves: list[Callable[[], object]] = [
            partial(limiter.throttled, Slot(0.0), None),
            limiter.succeeded,
            partial(limiter.drive, chance.randint(1, 5), None),
            chance.choice(tasks).cancel,
            chance.choice(tasks).cancel,
            until.set,
        ]
        for _ in range(10):
            chance.choice(moves)()
            await asyncio.sleep(0)
        until.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.in_flight == 0
        assert not limiter._queue


def test_calls_that_wait_for_the_pace_want_more_and_those_in_a_pause_do_not() -> None:
    """A larger share of the rate helps the first; nobody's share helps while the provider asked to wait."""

    async def drill(per_minute: float | None, pause_s: float | None) -> bool:
        now = asyncio.get_running_loop().time
        limiter = Limiter(4, per_minute, now, adapts=False)
        if pause_s is not None:
            limiter.throttled(Slot(0.0), pause_s)
        until = asyncio.Event()
        until.set()
        tasks = [asyncio.create_task(hold(limiter, until, [])) for _ in range(3)]
        await asyncio.sleep(0.5)
        wanted = limiter.wanted
        await asyncio.gather(*tasks)
        return wanted

    assert in_virtual_time(drill(6.0, None))
    assert not in_virtual_time(drill(None, 5.0))
