"""A shared run as its parent sees it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightgate.adapters.store import open_store
from nightgate.calls import CallStart, Role
from nightgate.errors import InputError
from nightgate.localdates import stamp
from nightgate.requests import RunRequest
from nightgate.rows.keys import CALLS, plan_key
from nightgate.rows.records import encode_record
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.wiring.drains import drain
from nightgate.wiring.fleets import finish_fleet, plan_fleet
from shell import SUPPORT

LATE = timedelta(hours=5)


async def a_night(store: Path, **plan: object) -> float | None:
    """``wall_s`` of a night that is begun hours after its scheduled start.

    Args:
        store: Where it lies.
        plan: What another version would have frozen.
    """
    asked = {"store": str(store), "run_id": "night", "trials": 1, "drainers": 1}
    # As a date's run is handed to its flow: settled, with its scheduled start.
    request = replace(RunRequest.make(SUPPORT, asked, {}), scheduled=stamp(datetime.now(UTC) - LATE))
    planned = await plan_fleet(request)
    opened = open_store(str(store))
    frozen = opened.read(plan_key("night"))
    if plan:
        changed = json.dumps({**json.loads(frozen), **plan}, sort_keys=True).encode()
        opened.swap(plan_key("night"), changed, frozen)
    await drain(RunRequest.of_parameters(planned["request"]), "night", "one")
    finished = await finish_fleet(replace(request, run_id=None, resume="night"), "night")
    summary = finished.summary.as_dict()
    assert summary["complete"]
    found: float | None = summary["wall_s"]
    return found


async def test_how_long_a_late_night_took_is_counted_from_when_it_began(tmp_path: Path) -> None:
    """A night that waited five hours for the one before it was not slow."""
    began = datetime.now(UTC)

    wall_s = await a_night(tmp_path)

    assert wall_s is not None
    assert 0 < wall_s <= (datetime.now(UTC) - began).total_seconds()


async def test_a_night_that_was_planned_by_an_earlier_version_has_no_length(tmp_path: Path) -> None:
    """Its plan knows the scheduled start alone."""
    assert await a_night(tmp_path, frozen_at=None) is None


async def test_a_clock_that_was_set_back_makes_no_negative_length(tmp_path: Path) -> None:
    """Parents may run on another machine than the one that planned."""
    ahead = datetime.now(UTC) + timedelta(minutes=1)

    assert await a_night(tmp_path, frozen_at=ahead.isoformat()) == 0.0


async def test_calls_of_a_worker_that_died_with_nothing_in_hand_are_in_the_ledger(tmp_path: Path) -> None:
    """It had let go of its shard, or lost it: nobody took anything over from it, and it was paid for."""
    request = RunRequest.make(SUPPORT, {"store": str(tmp_path), "run_id": "shared", "drainers": 1}, {})
    planned = await plan_fleet(request)
    await drain(RunRequest.of_parameters(planned["request"]), "shared", "one")
    store = open_store(str(tmp_path))
    plan = load_plan(store, "shared")
    sent = CallStart(
        call_id="dead-000001",
        run_id="shared",
        suite=plan.suite,
        role=Role.AGENT,
        case_id=plan.cases[0].case_id,
        trial=0,
        evaluator=None,
        model=plan.model,
        attempt=1,
    )
    journal = request.spool_folder / "shared" / "000001-dead.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_bytes(encode_record(sent) + b"\n")
    finished = await finish_fleet(request, "shared")

    manifest = manifest_of(store, plan)
    assert finished.summary.as_dict()["complete"]
    assert manifest is not None
    found = [row["outcome"] for row in rows_of(store, manifest, CALLS) if row["call_id"] == "dead-000001"]
    assert found == ["unknown"]
    assert not journal.exists()


async def test_of_two_parents_in_one_moment_the_second_takes_the_run_up(tmp_path: Path) -> None:
    """Both find no plan under that id; one freezes it, and the other is no error."""
    asked = {"store": str(tmp_path), "run_id": "shared", "trials": 1, "drainers": 2}
    request = RunRequest.make(SUPPORT, asked, {})

    first, second = await asyncio.gather(plan_fleet(request), plan_fleet(request))

    for what in ("run_id", "shards", "trials"):
        assert first[what] == second[what]
    other = replace(request, model="scripted:upgraded")
    with pytest.raises(InputError, match="model"):
        await plan_fleet(other)
