"""Whoever looks after a run tells the dead from those at work, and frees what they hold."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from nightgate.errors import StoreError
from nightgate.steps.claims import Claims, claims_of
from nightgate.steps.standings import Watch
from nightgate.testing import InMemoryStore

RUN = "support-1"
PATIENCE_S = 40.0


class Away(InMemoryStore):
    """A store that can be out of reach."""

    away = False

    def swap(self, key: str, data: bytes, before: bytes | None) -> None:
        self._refuse()
        super().swap(key, data, before)

    def find(self, prefix: str) -> list[str]:
        self._refuse()
        return super().find(prefix)

    def read(self, key: str) -> bytes:
        self._refuse()
        return super().read(key)

    def _refuse(self) -> None:
        if self.away:
            msg = "away"
            raise StoreError(msg)


class World:
    """A run of two shards, whoever looks after it, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.store = Away()
        self.ended: set[str] = set()
        self.asked: list[set[str]] = []
        self.watch = Watch(self.store, RUN, patience_s=PATIENCE_S, ended=self._ended, monotonic=self.clock)

    def clock(self) -> float:
        """Seconds that pass when a test says so."""
        return self.now

    def worker(self, owner: str) -> Claims:
        """One whose journal has its name."""
        return Claims(
            self.store, RUN, 2, owner, patience_s=PATIENCE_S, journal=f"j-{owner}", monotonic=self.clock
        )

    def _ended(self, journals: Collection[str]) -> Collection[str]:
        self.asked.append(set(journals))
        return self.ended & set(journals)


def test_a_shard_of_a_silent_worker_is_free_without_another_wait() -> None:
    """Whoever comes later would look on for a whole patience of its own."""
    world = World()
    world.worker("dead").take()
    world.watch.look()
    world.now += PATIENCE_S
    world.watch.look()
    world.watch.release()
    heir = world.worker("heir")
    taken = [heir.take(), heir.take()]

    inherited = [one for one in taken if one is not None and one.before == "dead"]
    assert [one.silent for one in inherited] == [True]  # what it had leased is settled by the ledger
    assert sum(claim.takeovers for claim in claims_of(world.store, RUN)) == 1


def test_a_worker_whose_journal_was_brought_up_is_dead_at_once() -> None:
    """Nobody else writes it, and journals of the living are left alone: no patience tells more."""
    world = World()
    world.worker("dead").take()
    world.worker("alive").take()
    world.ended = {"j-dead"}
    found = world.watch.look()

    assert (found.silent, found.held) == (frozenset({"dead"}), {"alive": 1})


def test_only_journals_of_those_who_hold_something_are_asked_after() -> None:
    """Each costs a request to the store at each look."""
    world = World()
    world.worker("busy").take()
    left = world.worker("left")
    taken = left.take()
    assert taken is not None
    left.end(taken.shard, done=False)
    world.watch.look()

    assert world.asked == [{"j-busy"}]


def test_one_who_stirs_before_it_is_released_keeps_its_shard() -> None:
    """Its store was slow: the look was right, and the release comes too late."""
    world = World()
    slow = world.worker("slow")
    slow.take()
    world.watch.look()
    world.now += PATIENCE_S
    found = world.watch.look()
    slow.renew()
    world.watch.release()

    assert found.silent == {"slow"}
    assert slow.renew() == []


def test_nobody_is_silent_while_the_store_is_away() -> None:
    """Who cannot write to it cannot renew: the silence counts from when it is back."""
    world = World()
    worker = world.worker("alive")
    worker.take()
    world.watch.look()
    world.store.away = True
    world.now += 2 * PATIENCE_S
    with pytest.raises(StoreError):
        world.watch.look()
    world.store.away = False
    at_once = world.watch.look()
    world.now += PATIENCE_S
    later = world.watch.look()

    assert (at_once.silent, later.silent) == (frozenset(), frozenset({"alive"}))
