"""Admission to one model: in flight, paused, paced."""

import asyncio
import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_limiter
from nightgate.adapters.limiter import Limiter


class Clock:
    """Seconds that pass when ``asyncio.sleep`` is asked for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.meanwhile: list[Callable[[], None]] = []
        real = asyncio.sleep

        async def sleep(seconds: float) -> None:
            if self.meanwhile:
                self.meanwhile.pop()()
            self.now = max(self.now, self.now + seconds)
            await real(0)

        monkeypatch.setattr(asyncio, "sleep", sleep)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


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


async def test_a_throttle_halves_the_limit_once_for_a_burst() -> None:
    """Twenty throttles of one burst are one event: cutting for each would end at 1 at once."""
    limiter = a_limiter(16)
    until, done = asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(hold(limiter, until, done)) for _ in range(15)]
    await asyncio.sleep(0)
    for _ in range(15):
        limiter.throttled(1.0)
    assert limiter.limit == 8
    until.set()
    await asyncio.gather(*tasks)


async def test_the_limit_never_falls_under_one(clock: Clock) -> None:
    """A run that may send nothing would stand still for ever."""
    limiter = a_limiter(8, now=clock)
    for _ in range(10):
        limiter.throttled(1.0)
        clock.now += 2.0
    assert limiter.limit == 1


@given(st.integers(1, 64), st.lists(st.booleans(), max_size=300))
def test_the_limit_stays_between_one_and_what_was_asked(most: int, outcomes: list[bool]) -> None:
    """Whatever the provider does."""
    limiter = a_limiter(most)
    for went_through in outcomes:
        if went_through:
            limiter.succeeded()
        else:
            limiter.throttled(0.0)
        assert 1 <= limiter.limit <= most


def test_the_limit_grows_back_by_one_for_each_round_of_successes() -> None:
    """Slowly: a jump back would meet the same wall."""
    limiter = a_limiter(8)
    limiter.throttled(0.0)
    low = limiter.limit
    for _ in range(low):
        limiter.succeeded()
    assert limiter.limit == low + 1
    for _ in range(200):
        limiter.succeeded()
    assert limiter.limit == 8


async def test_growing_lets_waiters_in() -> None:
    """Nobody leaves, and still there is room."""
    limiter, until, done = a_limiter(4), asyncio.Event(), list[int]()
    limiter.throttled(0.0)
    assert limiter.limit == 1
    tasks = [asyncio.create_task(hold(limiter, until, done)) for _ in range(2)]
    await asyncio.sleep(0)
    assert limiter.in_flight == 1
    limiter.succeeded()
    assert limiter.in_flight == 2
    until.set()
    await asyncio.gather(*tasks)


async def test_nothing_starts_during_a_pause(clock: Clock) -> None:
    """The provider said how long; all callers heed it, not only the one that was told."""
    limiter, started = a_limiter(4, now=clock), list[float]()
    limiter.throttled(7.0)
    assert not limiter.free

    async def one() -> None:
        async with limiter.slot():
            started.append(clock.now)

    await asyncio.gather(one(), one())
    assert min(started) >= 7.0


async def test_a_pause_may_grow_while_somebody_waits(clock: Clock) -> None:
    """A second throttle comes from a call that was in flight."""
    limiter = a_limiter(4, now=clock)
    limiter.throttled(1.0)
    clock.meanwhile.append(lambda: limiter.throttled(9.0))
    async with limiter.slot():
        assert clock.now >= 9.0


async def test_a_pace_spreads_the_starts(clock: Clock) -> None:
    """Sixty a minute is one a second, however many wait."""
    limiter, started = a_limiter(10, per_minute=60, now=clock), list[float]()

    async def one() -> None:
        async with limiter.slot():
            started.append(clock.now)

    await asyncio.gather(*(one() for _ in range(4)))
    gaps = [later - sooner for sooner, later in itertools.pairwise(started)]
    assert all(gap >= 1.0 for gap in gaps), started


@pytest.mark.parametrize("most", [0, -3])
def test_a_limit_of_nothing_is_one(most: int) -> None:
    """``max_in_flight=0.5`` is rounded down."""
    assert a_limiter(most).limit == 1


async def test_any_order_of_events_ends_with_nothing_held() -> None:
    """Entering, cancelling, throttling and succeeding in a thousand random orders."""
    chance = random.Random(11)
    for _ in range(100):
        limiter, done = a_limiter(chance.randint(1, 4)), list[int]()
        until = asyncio.Event()
        tasks = [asyncio.create_task(hold(limiter, until, done)) for _ in range(8)]
        moves: list[Callable[[], object]] = [
            lambda limiter=limiter: limiter.throttled(0.0),
            lambda limiter=limiter: limiter.succeeded(),
            lambda tasks=tasks: chance.choice(tasks).cancel(),
            until.set,
        ]
        for _ in range(10):
            chance.choice(moves)()
            await asyncio.sleep(0)
        until.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.in_flight == 0
        assert not limiter._queue
