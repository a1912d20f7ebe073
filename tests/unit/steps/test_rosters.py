"""A parent keeps so many workers alive as were asked for, and gives up when they keep dying."""

from __future__ import annotations

from nightgate.steps.claims import Claims
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
    world.roster.due()
    world.roster.look()
    world.now += START_S
    world.roster.look()

    assert len(world.roster.due()) == 2


def test_a_fleet_that_keeps_dying_comes_to_an_end() -> None:
    """Three times as many as were asked for, then the run stays open and says what is missing."""
    world = World()
    started = 0
    while not world.roster.over:
        for name in world.roster.due():
            started += 1
            world.roster.ended(name)
        world.roster.look()

    assert started == 6


def test_all_shards_done_is_the_end() -> None:
    """Whatever the workers' states say."""
    world = World(shards=1)
    (name, _) = world.roster.due()
    worker = world.worker(name)
    worker.end(0, done=True)
    world.roster.look()

    assert world.roster.over
    assert world.roster.due() == []


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
