"""A parent keeps so many workers alive as were asked for, and gives up when they keep dying."""

from __future__ import annotations

import pytest

from nightgate.steps.claims import Claims, reopen
from nightgate.steps.rosters import Roster
from nightgate.steps.standings import Watch
from nightgate.testing import InMemoryStore

RUN = "support-1"
PATIENCE_S, START_S = 40.0, 300.0


class World:
    """A run of some shards, its parent's roster, and a clock."""

    def __init__(self, shards: int = 4, workers: int = 2) -> None:
        self.now = 100.0
        self.shards = shards
        self.store = InMemoryStore()
        self.roster = self.parent(workers)

    def parent(self, workers: int) -> Roster:
        """A parent's view."""
        watch = Watch(self.store, RUN, patience_s=PATIENCE_S, monotonic=self.clock)
        return Roster(watch, self.shards, workers, start_s=START_S, monotonic=self.clock)

    def clock(self) -> float:
        """Seconds that pass when a test says so."""
        return self.now

    def worker(self, owner: str) -> Claims:
        """One that holds a shard."""
        claims = Claims(self.store, RUN, self.shards, owner, patience_s=PATIENCE_S, monotonic=self.clock)
        claims.take()
        return claims


def test_so_many_workers_are_started_once() -> None:
    """Each under a name of its own."""
    world = World()
    first = world.roster.due()
    world.roster.look()

    assert len(set(first)) == 2
    assert world.roster.due() == []


def test_one_that_ended_is_replaced_under_another_name() -> None:
    """A scheduler that is asked for the same name again answers with the run that crashed."""
    world = World()
    first = world.roster.due()
    world.roster.ended(first[0])
    after = world.roster.due()

    assert len(after) == 1
    assert after[0] not in first


def test_one_that_holds_a_shard_and_falls_silent_is_replaced() -> None:
    """The scheduler would say RUNNING of it for minutes."""
    world = World()
    names = world.roster.due()
    world.worker(names[0])
    alive = world.worker(names[1])
    world.roster.look()
    world.now += PATIENCE_S
    alive.renew()
    world.roster.look()

    assert len(world.roster.due()) == 1


def test_workers_of_a_parent_that_was_killed_count() -> None:
    """They play on; twice as many would spend twice the limits."""
    world = World()
    world.worker("of the first parent")
    roster = world.parent(2)
    roster.look()

    assert len(roster.due()) == 1


def test_workers_that_never_come_are_given_up_for_others() -> None:
    """Their machine is gone, and nobody holds a shard whose silence could be noticed."""
    world = World()
    for name in world.roster.due():
        world.roster.accepted(name)
    world.roster.look()
    world.now += START_S
    world.roster.look()

    assert len(world.roster.due()) == 2


def test_one_that_waits_for_a_machine_is_not_replaced_beside_others_at_work() -> None:
    """Two machines for three workers: each five minutes another name would wait with it, all night long."""
    world = World(shards=4, workers=3)
    names = world.roster.due()
    for name in names:
        world.roster.accepted(name)
    alive = world.worker(names[0])
    for _ in range(int(START_S // PATIENCE_S) + 2):
        world.roster.look()
        world.now += PATIENCE_S - 1
        alive.renew()

    assert world.roster.due() == []


def test_those_that_the_scheduler_does_not_know_of_are_waited_for() -> None:
    """It is away: names that were given up for others would use up the starts without one being made."""
    world = World()
    world.roster.due()
    for _ in range(10):
        world.roster.look()
        world.now += START_S

    assert world.roster.due() == []
    assert not world.roster.over


def test_one_that_leaves_free_shards_alone_is_given_up_beside_others_at_work() -> None:
    """Killed before it came so far: nobody tells, and the run would go on with one worker less."""
    world = World()
    names = world.roster.due()
    for name in names:
        world.roster.begun(name)
    alive = world.worker(names[0])
    world.roster.look()
    for _ in range(int(START_S // PATIENCE_S) + 1):
        world.now += PATIENCE_S
        alive.renew()
        world.roster.look()

    assert len(world.roster.due()) == 1


def test_one_that_finds_no_shard_free_is_waited_for() -> None:
    """It is at hand when another one dies."""
    world = World(shards=1)
    names = world.roster.due()
    for name in names:
        world.roster.begun(name)
    alive = world.worker(names[0])
    for _ in range(int(START_S // PATIENCE_S) + 1):
        world.roster.look()
        world.now += PATIENCE_S - 1
        alive.renew()

    assert world.roster.due() == []


def test_what_the_dead_hold_is_freed() -> None:
    """The next worker need not look on for a patience of its own."""
    world = World(shards=1)
    world.worker(world.roster.due()[0])
    world.roster.look()
    world.now += PATIENCE_S
    world.roster.look()

    assert world.worker("heir").held == (0,)


def test_kills_do_not_add_up_while_shards_get_done() -> None:
    """Spot machines go all night: what ends a run is dying without one more shard done."""
    world = World(shards=20)
    started = 0
    for _ in range(19):
        for name in world.roster.due():
            started += 1
            worker = world.worker(name)
            worker.end(next(iter(worker.held)), done=True)
            world.roster.ended(name)
        world.roster.look()
        if world.roster.over:
            break

    assert world.roster.standing.done == 20
    assert started == 20


def test_a_fleet_that_keeps_dying_comes_to_an_end() -> None:
    """Three times as many as were asked for without a shard done, then the run stays open and says so."""
    world = World()
    started = 0
    while not world.roster.over:
        for name in world.roster.due():
            started += 1
            world.roster.ended(name)
        world.roster.look()

    assert started == 6
    assert world.roster.given_up is not None
    assert "6 workers died or left without one more shard done, with 0 of 4 done" in world.roster.given_up


def test_all_shards_done_is_the_end() -> None:
    """Whatever the workers' states say."""
    world = World(shards=1)
    (name, _) = world.roster.due()
    worker = world.worker(name)
    worker.end(0, done=True)
    world.roster.look()

    assert world.roster.over
    assert world.roster.due() == []
    assert world.roster.given_up is None


def test_a_stop_starts_nobody_and_ends_when_the_last_has_gone() -> None:
    """The budget: others may still be in the middle of a call."""
    world = World(shards=2)
    names = world.roster.due()
    stopped, busy = world.worker(names[0]), world.worker(names[1])
    stopped.end(stopped.held[0], done=False, why="budget")
    world.roster.look()
    world.roster.ended(names[0])
    during = (world.roster.due(), world.roster.over)
    busy.end(busy.held[0], done=False, why="budget")
    world.roster.look()
    world.roster.ended(names[1])

    assert during == ([], False)
    assert world.roster.over


@pytest.mark.parametrize("why", ["budget", "cancelled"])
def test_a_run_that_was_stopped_goes_on_with_new_workers(why: str) -> None:
    """A resume with more money, or after Ctrl-C: what its shards say of the stop is over."""
    world = World()
    worker = world.worker("first")
    for shard in worker.held:
        worker.end(shard, done=False, why=why)
    stopped = world.roster.look().stopped
    reopen(world.store, RUN, range(world.shards))
    again = world.parent(2)
    again.look()

    assert stopped == why
    assert (again.over, len(again.due())) == (False, 2)
