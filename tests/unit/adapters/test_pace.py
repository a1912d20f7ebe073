"""The rate of starts: cut by refusals, grown by use, shared by workers that do not know of each other."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.adapters.limiter import Limiter
from nightgate.adapters.meter import RetryPolicy
from nightgate.adapters.pace import FLOOR_PER_S, Pace
from virtual import in_virtual_time


@dataclass
class Provider:
    """Allows so many requests a second for all, with a burst; answers slowly, refuses quickly."""

    per_s: float
    burst: float = 20.0
    latency_s: float = 0.2
    closed_until: float = 0.0
    log: list[tuple[float, bool]] = field(default_factory=list)
    _tokens: float = math.inf
    _at: float = 0.0

    async def answer(self) -> bool:
        now = asyncio.get_running_loop().time()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_s)
        self._at = now
        allowed = self._tokens >= 1 and now >= self.closed_until
        self._tokens -= allowed
        self.log.append((now, allowed))
        await asyncio.sleep(self.latency_s if allowed else 0.02)
        return allowed

    def refused(self, after_s: float = 0.0) -> float:
        """The share of requests after so many seconds that were refused."""
        answers = [allowed for at, allowed in self.log if at >= after_s]
        return answers.count(False) / len(answers)


async def worker(provider: Provider, calls: int, concurrency: int = 25) -> tuple[Limiter, int]:
    """Make so many calls as the metering would; the limiter, and how many were given up."""
    limiter = Limiter(concurrency, None, asyncio.get_running_loop().time)
    policy, todo, lost = RetryPolicy(), iter(range(calls)), 0

    async def slot() -> None:
        nonlocal lost
        for _ in todo:
            for attempt in range(1, policy.attempts + 1):
                async with limiter.slot() as held:
                    allowed = await provider.answer()
                if allowed:
                    limiter.succeeded()
                    break
                limiter.throttled(held, None)
                await asyncio.sleep(policy.delay_s(attempt, None))
            else:
                lost += 1

    await asyncio.gather(*(slot() for _ in range(concurrency)))
    return limiter, lost


@dataclass
class Played:
    """What became of the calls: their workers' limiters, how many were given up, and when the last ended."""

    limiters: list[Limiter]
    lost: int
    seconds: float


def run(provider: Provider, workers: int, calls: int, concurrency: int = 25) -> Played:
    """Several workers on one provider."""
    random.seed(7)  # the retries' jitter

    async def all_of_them() -> Played:
        each = calls // workers
        done = await asyncio.gather(*(worker(provider, each, concurrency) for _ in range(workers)))
        lost = sum(lost for _, lost in done)
        return Played([limiter for limiter, _ in done], lost, asyncio.get_running_loop().time())

    return in_virtual_time(all_of_them())


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_workers_keep_to_a_rate_that_nobody_told_them(workers: int) -> None:
    """20 a second for all: nothing is given up, and later than ten seconds at most 5% are refused."""
    provider = Provider(per_s=20.0)
    assert run(provider, workers, calls=2000).lost == 0
    assert provider.refused(after_s=10.0) <= 0.05


@pytest.mark.parametrize("workers", [1, 4])
def test_what_the_provider_allows_is_used(workers: int) -> None:
    """Holding back costs time: while all workers are busy, four fifths of the limit go through at least."""
    provider = Provider(per_s=20.0)
    run(provider, workers, calls=2000)
    through = sum(allowed for at, allowed in provider.log if 10 <= at < 60)
    assert through >= 0.8 * 20 * 50


def test_a_storm_ends_and_the_rate_comes_back() -> None:
    """Ten seconds of refusals cost no call, and not the rest of the night."""
    provider = Provider(per_s=100.0, closed_until=10.0)
    played = run(provider, 1, calls=1000, concurrency=10)
    assert played.lost == 0
    assert played.seconds <= 60


def test_after_a_storm_the_rate_is_soon_what_it_was() -> None:
    """A storm says nothing about what the provider takes when it is over."""
    pace, hand = a_pace()
    busy(pace, hand, 10.0, per_s=10.0)
    over = hand[0] + 5.0
    while hand[0] < over:
        hand[0] += max(0.1, pace.delay_s())
        pace.started()
        pace.throttled(hand[0])
    low = pace.per_s
    busy(pace, hand, 10.0, per_s=10.0)
    assert low <= 5.0
    assert pace.per_s >= 4.0


def test_a_provider_that_never_refuses_is_never_held_back() -> None:
    """The rate is a matter of refusals alone."""
    provider = Provider(per_s=1e9, burst=1e9)
    played = run(provider, 1, calls=1000, concurrency=10)
    assert played.limiters[0].per_s == math.inf
    assert played.seconds == pytest.approx(1000 / 10 * 0.2)


def a_pace() -> tuple[Pace, list[float]]:
    """A pace, and its clock's hand."""
    hand = [0.0]
    return Pace(lambda: hand[0]), hand


def busy(pace: Pace, hand: list[float], seconds: float, per_s: float = 20.0) -> None:
    """Start calls that all succeed, one after the other, as the pace allows and no faster than told."""
    until = hand[0] + seconds
    while hand[0] < until:
        hand[0] += max(1 / per_s, pace.delay_s())
        pace.started()
        pace.succeeded()


def test_a_burst_of_refusals_is_one_event() -> None:
    """Twenty refusals of calls that were sent together cut once: else a run would stand still."""
    pace, hand = a_pace()
    busy(pace, hand, 2.0)
    sent = hand[0]
    for _ in range(3):
        pace.started()
    pace.throttled(sent)
    once = pace.per_s
    hand[0] += 0.01
    pace.throttled(sent)
    assert once * 0.8 <= pace.per_s <= once


def test_the_rate_does_not_grow_while_nobody_waits_for_it() -> None:
    """An idle hour says nothing about what the provider takes."""
    pace, hand = a_pace()
    busy(pace, hand, 2.0)
    pace.throttled(hand[0])
    cut = pace.per_s
    for _ in range(3600):
        hand[0] += 1.0
        pace.started()
        pace.succeeded()
    assert pace.per_s == cut


def test_the_rate_is_back_where_it_was_refused_after_the_plateau() -> None:
    """Slowly near that rate, beyond it later."""
    pace, hand = a_pace()
    busy(pace, hand, 4.0)
    pace.throttled(hand[0])
    cut = pace.per_s
    busy(pace, hand, 6.0, per_s=1e3)
    half = pace.per_s
    busy(pace, hand, 60.0, per_s=1e3)
    assert cut < half < pace.per_s


def test_a_told_rate_is_never_passed() -> None:
    """However long nothing is refused."""
    pace, hand = a_pace()
    pace.drive(5.0)
    starts = []
    for _ in range(50):
        hand[0] += max(0.0, pace.delay_s())
        pace.started()
        pace.succeeded()
        starts.append(hand[0])
    assert min(later - sooner for sooner, later in itertools.pairwise(starts)) >= 0.2 - 1e-9


@given(st.lists(st.tuples(st.floats(0, 5), st.booleans()), max_size=200))
def test_the_rate_never_falls_under_its_floor(events: list[tuple[float, bool]]) -> None:
    """A run that may send nothing would never learn that the storm is over."""
    pace, hand = a_pace()
    for passed, allowed in events:
        hand[0] += passed
        pace.started()
        if allowed:
            pace.succeeded()
        else:
            pace.throttled(hand[0])
        assert pace.per_s >= FLOOR_PER_S
        assert math.isfinite(pace.delay_s()) or pace.per_s == math.inf


def test_who_waits_has_the_good_of_a_larger_share() -> None:
    """A part of one start a minute grew to one a second: nobody waits for the rest of the minute."""
    pace, hand = a_pace()
    pace.drive(1 / 60)
    pace.started()
    hand[0] += 1.0
    before = pace.delay_s()
    pace.drive(1.0)
    assert (before, pace.delay_s()) == (59.0, 1.0)
