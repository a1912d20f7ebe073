"""A worker's share of its models' limits: taken, kept, grown while others idle, given back."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from limitserver import LimitServer
from nightgate.adapters.hub import Drive
from nightgate.adapters.leases import LEASE_S, limit_name
from nightgate.wiring.shares import EXTRA_S, LOOK_S, RENEW_S, Shares, shares_of

MODEL = "openai:m"
CALLS = limit_name(MODEL, "calls in flight")


@dataclass
class Models:
    """Stands where the hub does: what is allowed, what each was last driven to, and whether calls wait."""

    told: dict[str, Drive]
    waiting: bool = False
    driven: dict[str, Drive] = field(default_factory=dict)

    def drive(self, model: str, share: Drive) -> None:
        """Note it."""
        self.driven[model] = share

    def wanted(self, model: str) -> bool:
        """As the test says."""
        return self.waiting

    @property
    def share(self) -> Drive:
        """Of the one model."""
        return self.driven[MODEL]


@pytest.fixture
def api() -> LimitServer:
    """No limit is up yet."""
    return LimitServer()


def a_worker(api: LimitServer, workers: int = 2, **told: float) -> tuple[Shares, Models]:
    """A worker on a model with limits."""
    models = Models({MODEL: Drive(**told)})  # type: ignore[arg-type]
    return Shares(models, api, workers, monotonic=lambda: api.now), models


async def pass_time(api: LimitServer, seconds: float, *workers: Shares) -> None:
    """Let all of them look as often as they would."""
    until = api.now + seconds
    while api.now < until:
        api.now += LOOK_S
        for worker in workers:
            await worker.look()


async def test_a_worker_has_nothing_before_it_leased(api: LimitServer) -> None:
    """Two that start at once would drive the model twice as hard as is allowed."""
    shares, models = a_worker(api, in_flight=4, rpm=600.0)
    assert not shares.ready
    assert models.share == Drive(0, 0, None)


async def test_two_workers_take_equal_parts(api: LimitServer) -> None:
    """Of each kind of limit."""
    (one, mine), (other, its) = (a_worker(api, in_flight=4, rpm=600.0, tpm=1e6) for _ in range(2))
    await one.look()
    await other.look()
    assert one.ready
    assert other.ready
    assert mine.share == its.share == Drive(2, 300, 500_000)


async def test_the_only_slot_is_one_workers(api: LimitServer) -> None:
    """The other one waits, and has it once it is given back."""
    (one, _), (other, its) = (a_worker(api, in_flight=1) for _ in range(2))
    await one.look()
    await other.look()
    assert (one.ready, other.ready, its.share) == (True, False, Drive(0, None, None))
    await one.close()
    await other.look()
    assert other.ready


async def test_what_a_killed_worker_held_comes_back(api: LimitServer) -> None:
    """Nobody renews it: within a lease's length it is somebody else's."""
    (one, _), (other, _) = (a_worker(api, in_flight=1) for _ in range(2))
    await one.look()
    await pass_time(api, LEASE_S - LOOK_S, other)
    assert not other.ready
    await pass_time(api, 2 * LOOK_S, other)
    assert other.ready


async def test_a_worker_that_lives_keeps_its_share(api: LimitServer) -> None:
    """However long the run is."""
    (one, mine), (other, its) = (a_worker(api, in_flight=2) for _ in range(2))
    await pass_time(api, 10 * LEASE_S, one, other)
    assert (mine.share.in_flight, its.share.in_flight) == (1, 1)


async def test_a_worker_alone_takes_what_nobody_else_uses(api: LimitServer) -> None:
    """The others are through; its calls wait."""
    shares, models = a_worker(api, workers=4, in_flight=8)
    models.waiting = True
    await pass_time(api, 10 * LOOK_S, shares)
    assert models.share.in_flight == 8


async def test_a_worker_whose_calls_do_not_wait_takes_no_more_than_its_part(api: LimitServer) -> None:
    """Others may need it."""
    shares, models = a_worker(api, workers=4, in_flight=8)
    await pass_time(api, 10 * LOOK_S, shares)
    assert models.share.in_flight == 2


async def test_a_newcomer_finds_its_part_within_the_time_of_an_extra(api: LimitServer) -> None:
    """What was taken beyond the equal part is kept for a while only."""
    (one, mine), (late, its) = (a_worker(api, in_flight=8) for _ in range(2))
    mine.waiting = True
    await pass_time(api, 10 * LOOK_S, one)
    assert mine.share.in_flight == 8
    await pass_time(api, EXTRA_S + 4 * LOOK_S, one, late)
    assert (mine.share.in_flight, its.share.in_flight) == (4, 4)


async def test_without_the_server_a_worker_goes_on_with_its_share(api: LimitServer) -> None:
    """A restart of the server must not stop the night."""
    shares, models = a_worker(api, in_flight=4)
    await shares.look()
    api.away = True
    await pass_time(api, 2 * LEASE_S, shares)
    assert models.share.in_flight == 2


async def test_a_share_that_was_lost_meanwhile_is_leased_anew(api: LimitServer) -> None:
    """The server was away for longer than a lease lasts."""
    shares, models = a_worker(api, in_flight=4)
    await shares.look()
    api.away = True
    await pass_time(api, 2 * LEASE_S, shares)
    api.away = False
    await pass_time(api, RENEW_S, shares)
    assert (models.share.in_flight, api.active(CALLS)) == (2, 2)


async def test_leases_that_the_server_forgot_block_nobody(api: LimitServer) -> None:
    """Its broker was killed: what they held is still counted, and would be for ever."""
    (one, mine), (other, its) = (a_worker(api, in_flight=4) for _ in range(2))
    await one.look()
    await other.look()
    api.forget()
    await pass_time(api, RENEW_S + 2 * LOOK_S, one, other)
    assert (mine.share.in_flight, its.share.in_flight) == (2, 2)
    assert api.active(CALLS) == 4


async def test_what_is_held_never_passes_the_limit(api: LimitServer) -> None:
    """Workers come, idle, want more, die and go, in any order."""
    workers = [a_worker(api, workers=3, in_flight=7) for _ in range(5)]
    for step in range(200):
        shares, models = workers[step * step % 5]
        models.waiting = step % 3 == 0
        await pass_time(api, LOOK_S, shares)
        if step % 41 == 0:
            await shares.close()
        assert api.active(CALLS) <= 7


async def test_at_its_end_a_worker_holds_nothing(api: LimitServer) -> None:
    """Its extra too."""
    shares, models = a_worker(api, in_flight=8)
    models.waiting = True
    await pass_time(api, 10 * LOOK_S, shares)
    await shares.close()
    assert api.active(CALLS) == 0


async def test_a_model_without_limits_is_left_alone(api: LimitServer) -> None:
    """Nobody said how hard it may be driven: its refusals do."""
    shares, models = a_worker(api)
    await shares.look()
    assert shares.ready
    assert models.driven == {}


@pytest.mark.parametrize(
    ("environ", "workers"), [({}, 2), ({"PREFECT_API_URL": "http://127.0.0.1:1/api"}, 0)]
)
def test_without_a_server_or_a_fleet_nothing_is_leased(environ: dict[str, str], workers: int) -> None:
    """The whole budget is this process's."""
    assert shares_of(Models({MODEL: Drive(in_flight=2)}), environ, workers) is None


async def test_a_limit_below_one_is_one(api: LimitServer) -> None:
    """``rpm=0.5``: the server counts whole ones."""
    shares, models = a_worker(api, rpm=0.5)
    await shares.look()
    assert models.share == Drive(None, 1, None)


async def test_two_limits_of_one_slot_never_hold_two_workers_up(api: LimitServer) -> None:
    """Each took one of them first: all take in one order, and hold nothing behind what they miss."""
    told = {"openai:agent": Drive(in_flight=1), "openai:judge": Drive(in_flight=1)}
    one, other = (Shares(Models(dict(told)), api, 2, monotonic=lambda: api.now) for _ in range(2))
    for worker in (one, other, other, one):
        await worker.look()
    assert (one.ready, other.ready) == (True, False)
    assert api.active(limit_name("openai:judge", "calls in flight")) == 1
    await one.close()
    await other.look()
    assert other.ready


async def test_extras_that_the_server_forgot_block_nobody(api: LimitServer) -> None:
    """The server takes a lease back that it does not know, and frees nothing."""
    shares, models = a_worker(api, in_flight=8)
    models.waiting = True
    await pass_time(api, 4 * LOOK_S, shares)
    api.forget()
    await shares.close()
    assert api.active(CALLS) == 0


async def test_a_worker_without_work_leaves_its_share_to_others(api: LimitServer) -> None:
    """It may wait for hours for the last shard of somebody who waits for nothing but this share."""
    (one, _), (other, its) = (a_worker(api, in_flight=1) for _ in range(2))
    await one.look()
    one.ask(wanted=False)
    await one.look()
    await other.look()
    assert (one.ready, other.ready, its.share.in_flight) == (False, True, 1)
    one.ask(wanted=True)
    await other.close()
    await one.look()
    assert one.ready


async def test_a_worker_that_says_its_last_word_and_goes_is_not_held_up(api: LimitServer) -> None:
    """It finds nothing to play, and ends in the same moment."""
    models = Models({MODEL: Drive(in_flight=1)})
    shares = Shares(models, api, 1, monotonic=lambda: api.now)
    keeping = asyncio.create_task(shares.keep())
    while not shares.ready:  # noqa: ASYNC110 - a lease has no event
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    shares.ask(wanted=False)
    await shares.close()
    done, _ = await asyncio.wait([keeping], timeout=5)
    assert done
    assert api.active(CALLS) == 0


async def test_what_is_taken_while_a_worker_goes_is_given_back(api: LimitServer) -> None:
    """A thread is asking the server when the worker ends: the lease would be nobody's."""
    asked, answer = threading.Event(), threading.Event()
    plain = api.ask

    def slowly(path: str, body: Any = None, *, method: str | None = None) -> Any:
        if path.endswith("increment-with-lease"):
            asked.set()
            answer.wait(5)
        return plain(path, body, method=method)

    api.ask = slowly
    shares, _ = a_worker(api, in_flight=2)
    keeping = asyncio.create_task(shares.keep())
    await asyncio.to_thread(asked.wait, 5)
    closing = asyncio.create_task(shares.close())
    await asyncio.sleep(0.01)
    answer.set()
    await asyncio.gather(closing, keeping)
    assert api.active(CALLS) == 0


async def test_an_extra_goes_back_in_time_though_the_equal_part_is_missing(api: LimitServer) -> None:
    """The equal part was lost, and others hold it: the extra is not renewed, and would be used unleased."""
    shares, models = a_worker(api, in_flight=8)
    models.waiting = True
    await pass_time(api, 3 * LOOK_S, shares)
    (part,) = shares._parts
    assert part.extra is not None
    part.limit.give_back(part.held.pop())
    other, its = a_worker(api, in_flight=8)
    await other.look()
    await pass_time(api, LEASE_S, shares, other)
    assert models.share.in_flight is not None
    assert its.share.in_flight is not None
    assert api.active(CALLS) == models.share.in_flight + its.share.in_flight
