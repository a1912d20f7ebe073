"""A worker of a fleet that nobody needs any more goes in peace."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.errors import InputError
from nightgate.requests import RunRequest
from nightgate.wiring.drains import drain
from nightgate.wiring.fleets import finish_fleet, plan_fleet
from shell import SUPPORT


def a_request(store: Path, **values: object) -> RunRequest:
    """A run of a few cases for two workers."""
    return RunRequest.make(
        SUPPORT, {"store": str(store), "run_id": "shared", "trials": 1, "drainers": 2, **values}, {}
    )


async def test_a_worker_that_starts_after_the_commit_has_nothing_to_do(tmp_path: Path) -> None:
    """A container needs a minute to start: the others may be through by then, and nobody did wrong."""
    request = a_request(tmp_path)
    planned = RunRequest.of_parameters((await plan_fleet(request))["request"])
    first = await drain(planned, "shared", "one")
    await finish_fleet(request, "shared")
    late = await drain(planned, "shared", "two")

    assert first.trials > 0
    assert late.as_dict() == {**late.as_dict(), "owner": "two", "shards": 0, "trials": 0, "stopped": None}


async def test_a_worker_with_another_configuration_is_refused(tmp_path: Path) -> None:
    """Only where the run is complete does it not matter any more what a worker was started with."""
    planned = await plan_fleet(a_request(tmp_path))
    other = RunRequest.of_parameters({**planned["request"], "model": "scripted:upgraded"})

    with pytest.raises(InputError, match="model"):
        await drain(other, "shared", "one")
