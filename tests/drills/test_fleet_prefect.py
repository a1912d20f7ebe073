"""A fleet through Prefect, on real servers that are killed: the run is as if nothing had happened."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleetruns import Fleet, Run, rows
from fleetservers import FleetServers, Server, fleet_servers
from leasecontract import CONTRACT
from nightgate.adapters.prefect_api import PrefectApi
from providers import Provider, provider
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
def test_two_parents_with_one_run_id_are_one_run(fleet: Fleet, store: str, unharmed: Path) -> None:
    """Two schedulers, or a person who did not see that it runs: each cell once, and both hear the verdict."""
    first = begin(fleet, store)
    second = fleet.start(first.request)
    for run in (first, second):
        check_whole(run, unharmed)

    assert sum(part.trials for part in first.parts().values()) == TOTAL


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
@pytest.mark.parametrize("which", ["broker", "database", "api"])
def test_one_of_prefects_servers_alone_dies_and_comes_back(
    fleet: Fleet, store: str, unharmed: Path, which: str
) -> None:
    """The others live on without it, and none of them may need a hand when it is back."""
    server: Server = getattr(fleet.servers, which)
    run = begin(fleet, store)
    run.wait_for(TOTAL // 5)
    server.kill()
    run.wait_for(TOTAL // 2)
    server.start()
    check_whole(run, unharmed)

    check_whole(begin(fleet, store), unharmed)  # what is started through it afterwards comes to its end, too


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


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_servers_limits_keep_the_contract(
    servers: FleetServers, check: Callable[[PrefectApi], None]
) -> None:
    """What the shares' tests show holds for the stand-in, and the stand-in answers as the server does."""
    check(PrefectApi(servers.url, {}))


@pytest.mark.fleet
def test_the_only_slot_of_a_limit_comes_back_from_a_killed_worker(
    fleet: Fleet, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One call in flight for all workers: who holds it dies, and within 90 s the other one goes on."""
    with provider(latency_s=0.1) as served:
        run = begin_asked(fleet, store, served, "&max_in_flight=1", trials=30)
        run.wait_for(10)
        holder = run.busiest()  # the other one holds a single shard, to be seen
        worker, killed_at = run.played_by(holder), time.monotonic()
        fleet.kill(worker)
        before = len(served.requests)
        fleet.work(f"{worker}-again")
        said = run.end()
        waited_s = served.requests[before].at - killed_at
    with capsys.disabled():
        sys.stderr.write(f"the slot was used again after {waited_s:.0f} s\n")
    assert said["summary"]["trials"]["completed"] == 150
    assert waited_s <= 90


@pytest.mark.fleet
def test_leases_that_a_killed_broker_forgot_hold_nothing_up(fleet: Fleet, store: str) -> None:
    """They were in its memory: workers free what they held, and lease it anew."""
    with provider(latency_s=0.3) as served:
        run = begin_asked(fleet, store, served, "&max_in_flight=2", trials=40)
        run.wait_for(20)
        fleet.servers.broker.kill()
        fleet.servers.broker.start()
        run.end()
        again = begin_asked(fleet, store, served, "&max_in_flight=2", trials=4).end()
    assert again["summary"]["trials"]["completed"] == 20


def begin_asked(fleet: Fleet, store: str, served: Provider, limits: str, *, trials: int) -> Run:
    """A run of two workers over a provider whose limits they share."""
    model = f"openai:asked?base_url={served.base_url}{limits}"
    run_id = f"drill-{next(_NUMBERS)}"
    request = fleet.request(
        DRILLS / "asked", run_id, store, model=model, trials=trials, concurrency=SLOTS, drainers=2
    )
    return fleet.start(request)
