"""What nightgate does fits the roles that it does it under: runs are played, and each request is asked about.

A new key in the code without a line in the template fails here. No emulator at hand evaluates policies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infra.asking import refused
from infra.recording import ONCE, Asked, recorded
from nightgate.cli import main
from nightgate.requests import RunRequest
from nightgate.wiring import afterwards
from nightgate.wiring.drains import drain
from nightgate.wiring.fleets import finish_fleet, plan_fleet
from nightgate.wiring.watching import Manner, look_at
from shell import SUPPORT, nightgate


@pytest.fixture
def request_of(tmp_path: Path) -> RunRequest:
    """A run of the sample suite for one drainer, under a cap."""
    return RunRequest.make(
        SUPPORT,
        {
            "store": str(tmp_path / "store"),
            "run_id": "fleet-1",
            "trials": 2,
            "drainers": 1,
            "budget_usd": "1",
            "spool": str(tmp_path / "spool"),
            "trigger": "nightly",
        },
        environ={},
    )


async def test_a_fleets_run_asks_for_nothing_that_its_roles_refuse(
    request_of: RunRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent plans and finishes under the finisher's role, the drainer plays under the worker's."""
    with recorded(monkeypatch) as planning:
        planned = await plan_fleet(request_of)
    with recorded(monkeypatch) as playing:
        await drain(RunRequest.of_parameters(planned["request"]), "fleet-1", "w1")
    with recorded(monkeypatch) as finishing:
        await finish_fleet(request_of, "fleet-1")
        await afterwards(request_of, "fleet-1")

    assert Asked("s3:PutObject", "runs/fleet-1/claims/00000.json", tuple(ONCE.items())) in (
        planning.asked | playing.asked
    )
    assert any(one.key == "runs/fleet-1/budget.json" for one in playing.asked)
    assert any(one.key.startswith("manifests/") for one in finishing.asked)
    assert refused("WorkerRole", playing.asked) == []
    assert refused("FinisherRole", planning.asked | playing.asked | finishing.asked) == []


async def test_a_drainer_of_a_sweep_may_read_what_it_judges(
    request_of: RunRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored trials of another run, with what was said in them and what was found so far."""
    base = nightgate("run", SUPPORT, "--store", tmp_path / "store", "--run-id", "base-1")
    assert base.code == 0, base.err
    sweep = replace(request_of, sweep="base-1", run_id="sweep-1", trials=None, evaluators=("ToolPolicy",))
    with recorded(monkeypatch) as planning:
        planned = await plan_fleet(sweep)
    with recorded(monkeypatch) as playing:
        await drain(RunRequest.of_parameters(planned["request"]), "sweep-1", "w1")

    assert any(one.key.startswith("trials/") for one in playing.asked)
    assert refused("WorkerRole", playing.asked) == []
    assert refused("FinisherRole", planning.asked) == []


def test_what_people_do_with_a_run_fits_the_finishers_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One-off tasks run under it: a run, its promotion, the history, a look at the store."""
    store = ["--store", str(tmp_path / "store")]
    with recorded(monkeypatch) as asked:
        assert main(["run", str(SUPPORT), *store, "--spool", str(tmp_path / "spool")]) == 0
        assert main(["promote", "latest:support", *store]) == 0
        assert main(["history", "support", *store]) == 0
        assert main(["doctor", *store]) == 0

    assert any(one.key == "baselines/support.json" for one in asked.asked)
    assert refused("FinisherRole", asked.asked) == []


async def test_a_look_of_the_watcher_fits_its_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the last complete run and writes down what it saw; the run itself is somebody else's."""
    assert nightgate("run", SUPPORT, "--store", tmp_path / "store").code == 0

    async def start(request: RunRequest) -> int | None:
        raise AssertionError(request)

    request = RunRequest.make(SUPPORT, {"store": str(tmp_path / "store")}, environ={})
    with recorded(monkeypatch) as asked:
        looked = await look_at(request, Manner(start=start))

    assert looked.code == 0, looked.said
    assert any(one.key == "watch/support.json" for one in asked.asked)
    assert refused("WatcherRole", asked.asked) == []
