"""Workers of a fleet are killed: others take their shards over, and the run is as if nothing had happened."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from crews import Crew
from nightgate.wiring.fleets import stop_fleet
from shell import DRILLS, nightgate

SUITE = DRILLS / "slow"
CASES, TRIALS, SLOTS = 5, 24, 4
TRIALS_A_SECOND = 5
"""Of one slot: two calls of a tenth of a second each."""
INVENTED = frozenset(
    {"run_id", "started_at", "ended_at", "scored_at", "latency_ms", "wait_ms", "attempt", "transcript"}
)


def manned(store: Path, **options: Any) -> Crew:
    """A planned run ``shared`` without workers."""
    return Crew(SUITE, store, "shared", trials=TRIALS, concurrency=SLOTS, **options)


def rows(store: Path, table: str, run_id: str) -> Counter[str]:
    """A run's rows without what may differ between two plays of the same."""
    found: Counter[str] = Counter()
    for part in (store / table).rglob(f"{run_id}/*.parquet"):
        for row in pq.read_table(part).to_pylist():
            kept = {
                k: v for k, v in row.items() if k not in INVENTED and not k.startswith(("tokens", "cost"))
            }
            found[json.dumps(kept, default=str, sort_keys=True)] += 1
    return found


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run of one process that nothing happened to."""
    store = tmp_path_factory.mktemp("unharmed")
    done = nightgate(
        *("run", SUITE, "--store", store, "--run-id", "whole", "--trials", TRIALS, "--concurrency", 40)
    )
    assert done.code == 0, done.err
    return store


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Crew]:
    """A planned run without workers."""
    made = manned(tmp_path)
    yield made
    made.close()


def check_whole(fleet: Crew, unharmed: Path, killed: int, unstaged: int = 0) -> None:
    """The rows of a run that nothing happened to, and a ledger with what was in flight besides.

    Args:
        fleet: Whose workers are through.
        unharmed: The store of such a run.
        killed: Workers that died.
        unstaged: Trials that a lost machine may have finished within its last second.
    """
    summary = fleet.finish()
    assert summary["complete"]
    assert summary["verdict"] == "pass"
    for table in ("scores", "trials"):
        assert rows(fleet.store, table, fleet.run_id) == rows(unharmed, table, "whole")
    calls = [
        row
        for part in (fleet.store / "calls").rglob("*.parquet")
        for row in pq.read_table(part).to_pylist()
        if row["role"] == "agent"
    ]
    # Of each trial in flight at a kill at most its two calls are made again.
    again = 2 * SLOTS * killed + 2 * unstaged
    assert 2 * CASES * TRIALS <= len(calls) <= 2 * CASES * TRIALS + again
    assert sum(call["outcome"] == "unknown" for call in calls) <= SLOTS * killed


def test_workers_share_a_run(fleet: Crew, unharmed: Path) -> None:
    """Each plays some of it, nobody plays anything twice, and all go when none is left."""
    said = fleet.wait(*(fleet.start() for _ in range(3)))

    assert sum(one["trials"] for one in said.values()) == CASES * TRIALS
    assert sum(one["shards"] for one in said.values()) == fleet.planned["shards"]
    check_whole(fleet, unharmed, killed=0)
    assert list((fleet.store / "runs" / "shared" / "claims").glob("*.json")) == []


def test_killed_workers_are_taken_over(fleet: Crew, unharmed: Path) -> None:
    """Two of three die in the middle; the third finds their claims silent and plays what they left."""
    owners = [fleet.start() for _ in range(3)]
    fleet.wait_for(20)
    for owner in owners[:2]:
        fleet.kill(owner)
    said = fleet.wait(owners[2])

    assert said["w3"]["taken_over"] >= 1
    check_whole(fleet, unharmed, killed=2)


def test_a_worker_that_comes_back_from_the_dead_changes_nothing(fleet: Crew, unharmed: Path) -> None:
    """Stopped past the patience and woken again: its shards are others' by then."""
    fleet.apart = True
    sleeper = fleet.start()
    fleet.wait_for(4)
    fleet.kill(sleeper, signal.SIGSTOP)
    fleet.wait(fleet.start(), fleet.start())
    fleet.kill(sleeper, signal.SIGCONT)
    said = fleet.wait(sleeper)

    assert said[sleeper]["lost"] >= 1
    check_whole(fleet, unharmed, killed=1, unstaged=SLOTS * TRIALS_A_SECOND)


def test_workers_stop_at_their_parents_word(fleet: Crew, unharmed: Path) -> None:
    """It lies in the store, where they hear it whatever became of Prefect; the same run id goes on."""
    owners = [fleet.start() for _ in range(2)]
    fleet.wait_for(4)
    asyncio.run(stop_fleet(fleet.request, fleet.run_id))
    said = fleet.wait(*owners)
    fleet.take_up()
    fleet.wait(fleet.start())

    assert {one["stopped"] for one in said.values()} == {"cancelled"}
    assert sum(one["trials"] for one in said.values()) < CASES * TRIALS
    check_whole(fleet, unharmed, killed=2)


def test_kills_at_random_lose_nothing(fleet: Crew, unharmed: Path) -> None:
    """As soon as one dies another is started, whatever it was doing."""
    dice = random.Random(20261130)
    alive = [fleet.start() for _ in range(3)]
    for kill in range(5):
        fleet.wait_for(5 + 8 * kill)
        time.sleep(dice.uniform(0, 0.4))  # a kill at any moment has no event to wait for
        fleet.kill(alive.pop(dice.randrange(len(alive))))
        alive.append(fleet.start())
    fleet.wait(*alive)

    check_whole(fleet, unharmed, killed=5)


def test_workers_share_the_cap_of_a_run_whoever_dies(tmp_path: Path) -> None:
    """Two thirds of the money, three workers, one of them killed: stopped by the budget, never beyond it."""
    cap = 2 / 3 * CASES * TRIALS * 910e-6
    fleet = manned(tmp_path, budget_usd=f"{cap:.6f}")
    try:
        owners = [fleet.start() for _ in range(3)]
        fleet.wait_for(12)
        fleet.kill(owners[0])
        fleet.wait(*owners[1:])
        stopped = fleet.finish()
        rest = manned(tmp_path, budget_usd="1")
        rest.count = 3
        rest.wait(rest.start())
        whole = rest.finish()
    finally:
        fleet.close()

    assert (stopped["exit_code"], stopped["complete"], stopped["stopped"]) == (4, False, "budget")
    in_flight = 2 * SLOTS * 3 * 550e-6
    assert 0.7 * cap <= stopped["cost_usd"]["at_least"]["total"] <= cap + in_flight
    assert (whole["exit_code"], whole["complete"]) == (0, True)
