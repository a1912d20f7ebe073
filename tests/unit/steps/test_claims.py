"""A shard has one holder at a time, and none for ever."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.errors import DamagedError, StoreError
from nightgate.rows.keys import claim_key
from nightgate.steps.claims import Claim, Claims, Stage, claims_of, reopen, sweep_up
from nightgate.steps.standings import Watch
from nightgate.testing import InMemoryStore

RUN = "support-1"
PATIENCE_S = 40.0


class Hours:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_worker(store: Any, owner: str, shards: int = 3, hours: Hours | None = None) -> Claims:
    """A worker's view; its clock stands still unless the test moves it."""
    return Claims(store, RUN, shards, owner, patience_s=PATIENCE_S, monotonic=hours or Hours())


def taken(worker: Claims) -> list[int]:
    """All that it can have now."""
    found = []
    while (one := worker.take()) is not None:
        found.append(one.shard)
    return found


def test_two_workers_never_hold_one_shard() -> None:
    """Each claim is put on condition: of two who see the same, one wins."""
    store = InMemoryStore()
    one, two = a_worker(store, "one"), a_worker(store, "two")
    first, second = one.take(), two.take()

    assert first is not None
    assert second is not None
    assert first.shard != second.shard
    assert sorted([first.shard, second.shard, *taken(one)]) == [0, 1, 2]
    assert two.take() is None


def test_a_silent_holder_is_taken_over_after_the_patience_of_whoever_looks() -> None:
    """By one clock: the hour that a dead worker wrote may be wrong by a day."""
    store, hours = InMemoryStore(), Hours()
    taken(a_worker(store, "dead"))
    heir = a_worker(store, "heir", hours=hours)
    at_first = heir.take()
    hours.now += PATIENCE_S - 1
    before = heir.take()
    hours.now += 2
    after = heir.take()

    assert (at_first, before) == (None, None)
    assert after is not None
    assert after.before
    claim = next(claim for claim in claims_of(store, RUN) if claim.shard == after.shard)
    assert (claim.owner, claim.takeovers) == ("heir", 1)


def test_a_holder_that_renews_is_left_alone() -> None:
    """However long its shard takes."""
    store, hours = InMemoryStore(), Hours()
    alive, other = a_worker(store, "alive"), a_worker(store, "other", hours=hours)
    taken(alive)
    for _ in range(5):
        assert other.take() is None
        hours.now += PATIENCE_S - 1
        assert alive.renew() == []


def test_a_worker_that_comes_back_learns_what_it_lost() -> None:
    """It was asleep for an hour: what it did is played by another one, who keeps it."""
    store, hours = InMemoryStore(), Hours()
    sleeper, heir = a_worker(store, "sleeper", shards=1), a_worker(store, "heir", shards=1, hours=hours)
    taken(sleeper)
    heir.take()
    hours.now += PATIENCE_S
    assert heir.take() is not None

    assert sleeper.renew() == [0]
    assert not sleeper.end(0, done=True)
    assert [claim.owner for claim in claims_of(store, RUN)] == ["heir"]
    assert heir.end(0, done=True)


def test_a_shard_that_was_let_go_is_free_at_once() -> None:
    """A worker that is told to stop makes nobody wait; what it staged has to be read first."""
    store = InMemoryStore()
    leaver = a_worker(store, "leaver", shards=1)
    taken(leaver)
    leaver.end(0, done=False)
    found = a_worker(store, "next", shards=1).take()

    assert found is not None
    assert found.before
    assert claims_of(store, RUN)[0].takeovers == 0


def test_all_is_done_when_every_shard_is() -> None:
    """Whoever did it: that is when workers go."""
    store = InMemoryStore()
    one, two = a_worker(store, "one", shards=2), a_worker(store, "two", shards=2)
    mine, theirs = one.take(), two.take()
    assert mine is not None
    assert theirs is not None
    one.end(mine.shard, done=True)
    assert not two.all_done()
    two.end(theirs.shard, done=True)
    assert one.take() is None

    assert one.all_done()


def test_a_store_that_is_away_takes_no_claim_from_its_holder() -> None:
    """Nobody can take it over either; when the store is back the holder goes on."""

    class Away(InMemoryStore):
        away = False

        def swap(self, key: str, data: bytes, before: bytes | None) -> None:
            if self.away:
                raise StoreError("away")
            super().swap(key, data, before)

    store = Away()
    worker = a_worker(store, "one", shards=1)
    taken(worker)
    store.away = True
    with pytest.raises(StoreError):
        worker.renew()
    store.away = False

    assert worker.renew() == []
    assert worker.end(0, done=True)


def test_the_time_that_a_store_is_away_is_no_silence() -> None:
    """All holders missed their renewals: the first who looked afterwards took everything over."""

    class Away(InMemoryStore):
        away = False

        def read(self, key: str) -> bytes:
            if self.away:
                raise StoreError("away")
            return super().read(key)

    store, hours = Away(), Hours()
    taken(a_worker(store, "alive"))
    other = a_worker(store, "other", hours=hours)
    other.take()
    store.away = True
    hours.now += 2 * PATIENCE_S
    with pytest.raises(StoreError):
        other.take()
    store.away = False
    at_once = other.take()
    hours.now += PATIENCE_S

    assert at_once is None
    assert other.take() is not None


def test_a_claim_of_an_older_program_is_read() -> None:
    """It names no journal: such a holder is dead only by its silence."""
    known = json.loads(Claim(shard=0, owner="old", stage=Stage.HELD).to_json())
    older = {name: value for name, value in known.items() if name not in ("journal", "gone")}
    claim = Claim.from_json(json.dumps(older).encode(), claim_key(RUN, 0))

    assert (claim.journal, claim.gone) == (None, False)


def test_a_damaged_claim_names_its_object_and_the_way_out() -> None:
    """Somebody's editor, or half a restore."""
    store = InMemoryStore()
    store.replace(claim_key(RUN, 0), b'{"schema": 1, "shard": 0')
    with pytest.raises(DamagedError, match=r"runs/support-1/claims/00000.json: no claim .* remove it"):
        a_worker(store, "one", shards=1).take()


def test_a_claim_of_a_newer_program_is_refused_by_name() -> None:
    """A fleet is upgraded worker by worker."""
    store = InMemoryStore()
    newer = json.loads(Claim(shard=0, owner="new", stage=Stage.FREE).to_json()) | {"schema": 2}
    store.replace(claim_key(RUN, 0), json.dumps(newer).encode())
    with pytest.raises(DamagedError, match="schema 2; this one knows 1: upgrade"):
        a_worker(store, "one", shards=1).take()


def test_what_is_missing_after_all_is_free_again() -> None:
    """A part of a done shard was lost: whoever goes on with the run plays it."""
    store = InMemoryStore()
    worker = a_worker(store, "one", shards=2)
    for shard in taken(worker):
        worker.end(shard, done=True)
    reopen(store, RUN, [1, 5])

    assert taken(a_worker(store, "two", shards=2)) == [1]


def test_claims_go_with_the_commit() -> None:
    """They are of no use to anybody who reads the run."""
    store = InMemoryStore()
    taken(a_worker(store, "one"))
    sweep_up(store, RUN)

    assert store.find("") == []


def test_a_commit_that_swept_the_claims_up_left_nothing_to_take() -> None:
    """A worker between two looks once found no claims any more, and played the end of the run again."""
    store, commits = InMemoryStore(), [False]
    late = Claims(store, RUN, 3, "late", committed=lambda: commits[0])
    other = a_worker(store, "other")
    for shard in taken(other):
        other.end(shard, done=True)
    sweep_up(store, RUN)
    commits[0] = True

    assert late.take() is None
    assert late.all_done()
    assert claims_of(store, RUN) == []


def test_whoever_watches_tells_the_silent_from_those_at_work() -> None:
    """The parent of a fleet starts a worker anew when one is silent."""
    store, hours = InMemoryStore(), Hours()
    dead, alive = a_worker(store, "dead", shards=3), a_worker(store, "alive", shards=3)
    dead.take()
    alive.take()
    done = alive.take()
    assert done is not None
    alive.end(done.shard, done=True)
    watch = Watch(store, RUN, patience_s=PATIENCE_S, monotonic=hours)
    watch.look()
    hours.now += PATIENCE_S
    alive.renew()
    found = watch.look()

    assert (found.done, found.held, found.silent) == (1, {"alive": 1}, frozenset({"dead"}))


class Fleet:
    """Three workers that do as they are told; one that is asleep renews nothing and does nothing."""

    def __init__(self, shards: int) -> None:
        self.store, self.hours = InMemoryStore(), Hours()
        self.workers = {name: a_worker(self.store, name, shards, self.hours) for name in "abc"}
        self.asleep: set[str] = set()
        self.done: set[int] = set()

    def do(self, name: str, move: str) -> None:
        """One move of one worker."""
        if move == "sleep":
            self.asleep ^= {name}
        elif move == "wait":
            self.hours.now += PATIENCE_S / 2
            self.renew()
        elif name not in self.asleep:
            self._act(self.workers[name], move)

    def renew(self) -> None:
        """All that are awake."""
        for name in self.workers.keys() - self.asleep:
            self.workers[name].renew()

    def _act(self, worker: Claims, move: str) -> None:
        held = list(worker.held)
        if move == "take":
            worker.take()
        elif held and worker.end(held[0], done=move == "done") and move == "done":
            assert held[0] not in self.done
            self.done.add(held[0])

    def stored(self) -> dict[int, Claim]:
        """As the store has it."""
        return {claim.shard: claim for claim in claims_of(self.store, RUN)}


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["take", "done", "free", "sleep", "wait"])),
        max_size=60,
    ),
    st.integers(1, 4),
)
def test_whatever_workers_do_a_shard_has_one_holder_and_done_stays_done(
    moves: list[tuple[str, str]], shards: int
) -> None:
    """Sleepers, leavers and heirs in any order: the store's claim names the one whose end counts."""
    fleet = Fleet(shards)
    for name, move in moves:
        fleet.do(name, move)
        fleet.renew()
        stored = fleet.stored()
        assert fleet.done == {shard for shard, claim in stored.items() if claim.stage is Stage.DONE}
        for name_ in fleet.workers.keys() - fleet.asleep:
            assert all(stored[shard].owner == name_ for shard in fleet.workers[name_].held)
