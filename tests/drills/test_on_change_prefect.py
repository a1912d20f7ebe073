"""Runs that start by themselves on a real Prefect server: each change and each night starts one.

Parents and the workers of their runs have one slot each: in one pool a parent would wait for ever for a
worker that waits for the parent's slot.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fleetruns import Fleet, ask, until
from fleetservers import fleet_servers
from nightgate import wiring
from nightgate.localdates import local_date
from nightgate.steps.listing import runs_of
from servers import environment
from shell import DRILLS, ROOT

pytestmark = [pytest.mark.server, pytest.mark.fleet]

KEY = "kb/manifest.json"
PARENTS, DRAINERS = "nightgate", "nightgate-drain"
PATIENCE_S = 240


class Drill:
    """A deployed fleet with one live suite, whose runs are shared by one worker.

    Args:
        fleet: Its processes.
        bucket: Where its knowledge base and its runs lie.
    """

    def __init__(self, fleet: Fleet, bucket: str) -> None:
        self.fleet, self.bucket, self.url = fleet, bucket, fleet.servers.url
        self.source = f"s3://{bucket}/{KEY}"
        self.deployments = {row["name"]: row for row in ask(self.url, "deployments/filter", {})}

    def write(self, text: str) -> None:
        """The document that the suite declares; another text is another ETag."""
        self.fleet.servers.s3.client().put_object(Bucket=self.bucket, Key=KEY, Body=text.encode())

    def notify(self) -> None:
        """What a deploy pipeline posts, each time with the same id."""
        self.fleet.command(
            *("notify-change", "retrieval", "--suite", "slow", "--resource", self.source, "--id", "e-1")
        )

    def look(self) -> None:
        """A flow run as the reconcile's schedule makes it, only that it does not wait for quiet."""
        self._start("on-change", {"parameters": {"quiet": "0s"}})

    def _start(self, deployment: str, how: dict[str, Any]) -> str:
        return str(
            ask(self.url, f"deployments/{self.deployments[deployment]['id']}/create_flow_run", how)["id"]
        )

    def looks(self, **parameters: str) -> list[str]:
        """What looks with such parameters came to, once none of them is under way."""
        asked = {"flows": {"name": {"any_": ["on-change"]}}}
        found = [
            run
            for run in ask(self.url, "flow_runs/filter", asked)
            if parameters.items() <= run["parameters"].items() and _is_due(run)
        ]
        ended = [run for run in found if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED")]
        return [run["state"]["message"] for run in ended] if len(ended) == len(found) else []

    def wait_for_looks(self, number: int, **parameters: str) -> list[str]:
        """Until so many have ended."""
        until(lambda: len(self.looks(**parameters)) >= number, PATIENCE_S, f"{number} looks", pause_s=0.5)
        return self.looks(**parameters)

    def runs(self) -> list[tuple[str, bool, str | None]]:
        """Trigger, completeness and reason of each run, the oldest first."""
        with environment(**self.fleet.servers.s3.env):
            store = wiring.open_store(self.fleet.settings["NIGHTGATE_STORE"])
            rows = sorted(runs_of(store, "slow"), key=lambda run: str(run["run_id"]))
            plans = [json.loads(store.read(f"runs/{run['run_id']}/plan.json")) for run in rows]
        return [
            (run["trigger"], run["complete"], plan["reason"]) for run, plan in zip(rows, plans, strict=True)
        ]

    def wait_for_runs(self, number: int) -> list[tuple[str, bool, str | None]]:
        """Until so many are complete; what there is then."""

        def there() -> bool:
            return sum(complete for _, complete, _ in self.runs()) >= number

        until(there, PATIENCE_S, f"{number} complete runs", pause_s=0.5)
        return self.runs()

    def start_night(self, scheduled: datetime) -> str:
        """A night's flow run as its schedule makes it; its id."""
        due = {"type": "SCHEDULED", "state_details": {"scheduled_time": scheduled.isoformat()}}
        return self._start("nightly", {"state": due})

    def wait_for_nights(self, *flow_runs: str) -> list[list[str]]:
        """Names of all states that each of them went through, once all have ended."""
        found: list[list[str]] = []

        def ended() -> bool:
            found[:] = [
                [state["name"] for state in ask(self.url, f"flow_run_states/?flow_run_id={one}")]
                for one in flow_runs
            ]
            return all({"Completed", "Failed", "Crashed"} & set(names) for names in found)

        until(ended, PATIENCE_S, "end of the nights", pause_s=1.0)
        return found

    def dates(self) -> dict[str, str]:
        """Run by local date, of the nights that were claimed."""
        with environment(**self.fleet.servers.s3.env):
            store = wiring.open_store(self.fleet.settings["NIGHTGATE_STORE"])
            claims = [json.loads(store.read(key)) for key in store.find("nights/")]
        return {claim["date"]: claim["run_id"] for claim in claims}

    def summary(self, run_id: str) -> dict[str, Any]:
        """As it lies in the store."""
        with environment(**self.fleet.servers.s3.env):
            store = wiring.open_store(self.fleet.settings["NIGHTGATE_STORE"])
            found: dict[str, Any] = json.loads(store.read(f"runs/{run_id}/summary.json"))
        return found

    def drained(self) -> list[str]:
        """States of the workers' parts."""
        found = ask(self.url, "flow_runs/filter", {"flows": {"name": {"any_": ["drain"]}}})
        return [run["state_type"] for run in found]


def _is_due(run: dict[str, Any]) -> bool:
    return bool(datetime.fromisoformat(run["expected_start_time"]) <= datetime.now(UTC))


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    """All servers, ``infra/prefect.yaml`` deployed, a run to compare with, one worker for each pool."""
    home = tmp_path_factory.mktemp("fleet")
    with fleet_servers() as servers:
        bucket = servers.s3.bucket()
        suite = home / "cases" / "slow"
        shutil.copytree(DRILLS / "slow", suite)
        text = (suite / "suite.yaml").read_text().replace("trials: 4", "trials: 1")
        live = 'live: {model: "scripted:agent", judge: "scripted:judge"}'
        (suite / "suite.yaml").write_text(f'{text}{live}\nfingerprint: ["s3://{bucket}/{KEY}"]\n')
        settings = {"NIGHTGATE_STORE": f"s3://{bucket}/evals", "NIGHTGATE_DRAINERS": "1"}
        fleet = Fleet(servers, home, DRILLS, settings)
        try:
            fleet.command("deploy", "--file", ROOT / "infra" / "prefect.yaml")
            found = Drill(fleet, bucket)
            found.write("one")
            fleet.command("run", "cases/slow", "--live", "--drainers", "0")
            fleet.work("parent", PARENTS)
            fleet.work("drainer", DRAINERS)
            yield found
        finally:
            fleet.close()


def test_a_posted_change_starts_one_run_with_a_parent_and_a_worker_of_one_slot_each(drill: Drill) -> None:
    """Through the automation; the same event again is heard and starts nothing."""
    drill.write("two")
    drill.notify()
    first = drill.wait_for_runs(2)
    drill.notify()
    looks = drill.wait_for_looks(2, event_id="e-1")

    assert [(trigger, complete) for trigger, complete, _ in first] == [("manual", True), ("retrieval", True)]
    assert drill.source in str(first[1][2])
    assert len(looks) == 2
    assert sum("goes on elsewhere" in line for line in looks) == 1, looks
    assert drill.runs() == first
    assert drill.drained() == ["COMPLETED"]


def test_two_looks_at_once_start_one_run_for_a_changed_object(drill: Drill) -> None:
    """Of the deployment that is on a schedule; a look at what has not changed since starts none."""
    drill.fleet.work("parent-2", PARENTS)
    before = len(drill.runs())
    drill.write("three")
    drill.look()
    drill.look()
    both = drill.wait_for_looks(2, quiet="0s")
    runs = drill.wait_for_runs(before + 1)
    drill.look()
    third = drill.wait_for_looks(3, quiet="0s")

    assert [one["active"] for one in drill.deployments["on-change"]["schedules"]] == [True]
    assert runs[before:] == [("retrieval", True, f"{drill.source} changed")]
    assert sum("goes on elsewhere" in line for line in both) == 1, both
    assert sum("nothing changed" in line for line in third) >= 1, third
    assert drill.runs() == runs


def test_a_night_that_overruns_into_the_next_leaves_both_dates_their_run(drill: Drill) -> None:
    """The next one waits for the slot, keeps the date of its own start, and is as long as it was itself."""
    now = datetime.now(UTC).replace(microsecond=0)
    starts = [now - timedelta(hours=24), now]
    began = time.monotonic()
    states = drill.wait_for_nights(*(drill.start_night(start) for start in starts))
    took_s = time.monotonic() - began

    dates = drill.dates()
    assert list(dates) == [local_date(start, ZoneInfo("Europe/Madrid")).isoformat() for start in starts]
    assert sum("AwaitingConcurrencySlot" in names for names in states) == 1, states
    for run_id in dates.values():
        night = drill.summary(run_id)
        assert night["complete"]
        assert 0 < night["wall_s"] < took_s
