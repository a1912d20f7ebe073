"""A fleet through Prefect, on real servers that are killed: the run is as if nothing had happened."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetruns import Fleet, Run, rows
from fleetservers import FleetServers, Server, fleet_servers
from shell import DRILLS, nightgate

pytestmark = pytest.mark.server

SUITE = DRILLS / "slow"
CASES, TRIALS, SLOTS = 5, 60, 4
TOTAL = CASES * TRIALS
MOST_TASK_RUNS = 99


@pytest.fixture(scope="module")
def servers() -> Iterator[FleetServers]:
    """PostgreSQL, broker, Prefect's server and S3, for this file."""
    with fleet_servers() as found:
        yield found


@pytest.fixture(scope="module")
def fleet(servers: FleetServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two workers that wait for something to do."""
    made = Fleet(servers, tmp_path_factory.mktemp("fleet"), DRILLS)
    try:
        made.deploy()
        for name in ("w1", "w2"):
            made.work(name)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def store(servers: FleetServers) -> str:
    """Where the runs of this file lie."""
    return f"s3://{servers.s3.bucket()}/evals"


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run of one process that nothing happened to."""
    folder = tmp_path_factory.mktemp("unharmed")
    done = nightgate(
        *("run", SUITE, "--store", folder, "--run-id", "whole", "--trials", TRIALS, "--concurrency", 60)
    )
    assert done.code == 0, done.err
    return folder


_NUMBERS = itertools.count(1)


def begin(fleet: Fleet, store: str) -> Run:
    """A run of two workers, with an id of its own."""
    request = fleet.request(
        SUITE, f"drill-{next(_NUMBERS)}", store, trials=TRIALS, concurrency=SLOTS, drainers=2
    )
    return fleet.start(request)


def check_whole(run: Run, unharmed: Path) -> None:
    """The parent ends well, and the rows are those of a run that nothing happened to."""
    said = run.end()
    assert said["state"] == "Completed", said
    assert said["summary"]["complete"]
    for table in ("scores", "trials"):
        assert run.rows(table) == rows(str(unharmed), table, "whole")


def restart(*killed: Server) -> None:
    """What somebody who looks after servers does; each may need the one before it."""
    for server in killed:
        server.start()


def test_two_workers_share_a_run_with_few_task_runs(fleet: Fleet, store: str, unharmed: Path) -> None:
    """A task run a trial would be five times the bar, and slow the server down for all runs."""
    run = begin(fleet, store)
    check_whole(run, unharmed)

    parts = run.parts()
    assert len(parts) == 2
    assert all(part.state == "COMPLETED" and part.trials > 0 for part in parts.values())
    assert sum(part.trials for part in parts.values()) == TOTAL
    assert run.task_runs() <= MOST_TASK_RUNS


@pytest.mark.fleet
def test_a_killed_parent_is_started_again_with_its_run_id(fleet: Fleet, store: str, unharmed: Path) -> None:
    """The workers go on without one; the next parent finds them by their claims and starts nobody."""
    run = begin(fleet, store)
    run.wait_for(TOTAL // 5)
    run.kill_parent()
    check_whole(fleet.start(run.request), unharmed)

    assert sum(part.trials for part in run.parts().values()) == TOTAL


@pytest.mark.fleet
def test_prefect_without_its_server_database_and_broker(fleet: Fleet, store: str, unharmed: Path) -> None:
    """All three die early and come back late: the run needs them to start and to end, not in between."""
    servers, run = fleet.servers, begin(fleet, store)
    run.wait_for(TOTAL // 5)
    killed = (servers.database, servers.broker, servers.api)
    for server in killed:
        server.kill()
    run.wait_for(TOTAL // 2)
    restart(*killed)
    check_whole(run, unharmed)


@pytest.mark.fleet
def test_the_store_goes_away_and_comes_back(fleet: Fleet, store: str, unharmed: Path) -> None:
    """Trials go to the journals meanwhile, and nobody's claim is taken for silent."""
    servers, run = fleet.servers, begin(fleet, store)
    run.wait_for(TOTAL // 5)
    servers.s3.kill()
    run.wait_for(TOTAL // 5 + 2 * SLOTS)  # played on
    servers.s3.start()
    check_whole(run, unharmed)


@pytest.mark.fleet
def test_a_killed_worker_is_replaced(fleet: Fleet, store: str, unharmed: Path) -> None:
    """Its worker died with it, so nobody tells Prefect: the parent sees the claims fall silent."""
    run = begin(fleet, store)
    run.wait_for(TOTAL // 5)
    fleet.kill("w1")
    fleet.work("w3")
    check_whole(run, unharmed)

    parts = run.parts()
    assert len(parts) == 3
    assert sum(part.taken_over for part in parts.values()) >= 1
