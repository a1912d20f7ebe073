"""What becomes of a start that asks for one night a local date."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest
from drill_lab import a_case, write_suite

from nightgate import wiring
from nightgate.adapters.store import open_store
from nightgate.errors import InputError
from nightgate.localdates import start_given
from nightgate.recorder import Recorder
from nightgate.requests import RunRequest
from nightgate.rows.keys import night_key
from nightgate.steps.nightdates import NightDate, claim
from nightgate.steps.nightholds import Hold
from nightgate.steps.reading import load_plan
from nightgate.testing import FixedClock
from nightgate.wiring import Due, nights_of

START = start_given("2026-10-25T02:30:00+02:00")
SECOND = start_given("2026-10-25T02:30:00+01:00")
DAY = date(2026, 10, 25)


@pytest.fixture
def asked(tmp_path: Path) -> RunRequest:
    """A scheduler's request for a suite of one case."""
    suite = write_suite(tmp_path / "nights" / "drill", [a_case("one")])
    return RunRequest(
        suite=str(suite), store=str(tmp_path / "store"), once=True, timezone="Europe/Madrid", night=True
    )


@pytest.fixture
def failing(asked: RunRequest, tmp_path: Path) -> RunRequest:
    """The same for a suite whose gate fails."""
    suite = write_suite(
        tmp_path / "bad", [a_case("one")], replies={"*": [{"say": "no"}]},
        evaluators={"CitesSource": {"threshold": "1.0"}},
    )  # fmt: skip
    return replace(asked, suite=str(suite))


async def start(*requests: RunRequest, at: datetime = START) -> list[Due]:
    """A scheduler fires: all that is due is played while the dates are held."""
    async with nights_of(requests, clock=FixedClock(at), patience_s=1.0) as nights:
        for due in nights:
            if due.summary is None:
                await wiring.run_request(due.request)
    return nights


def claimed(asked: RunRequest, run_id: str = "left-behind") -> NightDate:
    """The claim of a start that died right behind it."""
    night = NightDate(
        suite="drill", date=DAY, zone="Europe/Madrid", run_id=run_id, scheduled_at=START, claimed_at=START
    )
    return claim(open_store(asked.store), night)


def test_the_second_firing_of_the_clock_change_gets_the_verdict_of_the_first(asked: RunRequest) -> None:
    """02:30 comes twice; the day before and the day after have nights of their own."""
    first = asyncio.run(start(asked, at=START))
    second = asyncio.run(start(asked, at=SECOND))
    next_day = asyncio.run(start(asked, at=start_given("2026-10-26T02:30:00+01:00")))

    assert first[0].summary is None
    assert second[0].summary is not None
    assert (second[0].summary["run_id"], second[0].summary["exit_code"]) == (first[0].request.run_id, 0)
    assert "it is complete, verdict pass" in str(second[0].line)
    assert next_day[0].summary is None
    assert open_store(asked.store).find("nights/") == [
        "nights/drill/2026-10-25.json",
        "nights/drill/2026-10-26.json",
    ]


def test_a_failed_night_is_answered_as_gate_would(failing: RunRequest) -> None:
    """A scheduler that fires again must not turn a failed night green."""
    asyncio.run(start(failing))
    again = asyncio.run(start(failing))

    assert again[0].summary is not None
    assert again[0].summary["exit_code"] == 1


def test_a_late_start_has_the_date_of_its_schedule(asked: RunRequest) -> None:
    """The worker was down until after midnight; the next date still gets its own run."""
    late = start_given("2026-10-26T00:10:00+01:00")
    asyncio.run(start(replace(asked, scheduled="2026-10-25T02:30:00+02:00"), at=late))
    asyncio.run(start(asked, at=start_given("2026-10-26T02:30:00+01:00")))

    store = open_store(asked.store)
    assert [key[-15:-5] for key in store.find("nights/")] == ["2026-10-25", "2026-10-26"]
    run_ids = {key.split("/")[3]: key.split("/")[2] for key in store.find("manifests/")}
    assert sorted(run_ids.values()) == ["2026-10-25", "2026-10-26"]


def test_a_scheduler_s_start_is_that_of_a_request_without_one(asked: RunRequest) -> None:
    """The flow hands in when it was due."""

    async def late() -> list[Due]:
        now = FixedClock(start_given("2026-10-26T03:00:00Z"))
        async with nights_of([asked], scheduled=START, clock=now) as nights:
            return nights

    due = asyncio.run(late())[0]

    assert open_store(asked.store).find("nights/") == ["nights/drill/2026-10-25.json"]
    assert (due.request.scheduled, due.request.once) == ("2026-10-25T00:30:00Z", False)


def test_a_start_that_died_before_its_plan_is_planned_under_its_id(asked: RunRequest) -> None:
    """The claim fixes the run; nobody has to clean up."""
    claimed(asked)
    due = asyncio.run(start(asked, at=SECOND))[0]

    assert due.request.run_id == "left-behind"
    assert "nothing of it was planned" in str(due.line)
    plan = load_plan(open_store(asked.store), "left-behind")
    assert (plan.date, plan.started_at) == ("2026-10-25", "2026-10-25T00:30:00.000Z")


def test_an_open_run_that_nobody_works_on_is_resumed(asked: RunRequest) -> None:
    """Planned and killed: the second start plays the rest under the same id."""

    async def killed() -> None:
        room = await wiring.open_room(replace(asked, once=False, run_id="left-behind"))
        await room.close()

    claimed(asked)
    asyncio.run(killed())
    due = asyncio.run(start(asked, at=SECOND))[0]

    assert (due.request.resume, due.request.run_id) == ("left-behind", None)
    assert "it is resumed" in str(due.line)
    assert len(open_store(asked.store).find("manifests/drill/")) == 1


def test_an_open_run_whose_suite_was_edited_is_refused_with_what_changed(
    asked: RunRequest, tmp_path: Path
) -> None:
    """Resuming would mix two suites; the date stays open, and other suites go on."""

    async def killed() -> None:
        room = await wiring.open_room(replace(asked, once=False, run_id="left-behind"))
        await room.close()

    claimed(asked)
    asyncio.run(killed())
    edited = write_suite(tmp_path / "edited", [a_case("one", input="Another question?")])
    other = write_suite(tmp_path / "other", [a_case("one")], suite="other")
    both = asyncio.run(start(replace(asked, suite=str(edited)), replace(asked, suite=str(other))))

    assert both[0].summary is not None
    assert both[0].summary["exit_code"] == 2
    assert "case 'one' was edited" in str(both[0].line)
    assert str(both[0].line).endswith("Without --once a new one is started")
    assert both[1].summary is None


def test_a_date_that_is_worked_on_is_refused_and_other_suites_go_on(
    asked: RunRequest, tmp_path: Path
) -> None:
    """Each suite by its own claim."""
    claimed(asked)
    hold = Hold(open_store(asked.store), "left-behind", asked.spool_folder)
    assert hold.take()
    other = write_suite(tmp_path / "nights" / "other", [a_case("one")], suite="other")

    busy, free = asyncio.run(start(asked, replace(asked, suite=str(other))))

    assert busy.summary is not None
    assert (busy.summary["exit_code"], busy.summary["run_id"]) == (2, "left-behind")
    assert "still being worked on by process" in str(busy.line)
    assert "--resume left-behind" in str(busy.line)
    assert free.summary is None


def test_a_date_that_a_person_resumed_by_hand_is_refused(asked: RunRequest) -> None:
    """They hold its journal and no date; a moment later the date is free again."""
    claimed(asked)

    async def beside() -> list[Due]:
        store = open_store(asked.store)
        async with Recorder(store, "left-behind", "byhand", 1, asked.spool_folder):
            return await start(asked)

    assert "which holds its journal" in str(asyncio.run(beside())[0].line)
    assert asyncio.run(start(asked))[0].summary is None


def test_two_starts_at_once_play_a_suite_once(asked: RunRequest) -> None:
    """Two schedulers in one moment: one plays, the other is told."""

    async def both() -> list[list[Due]]:
        return await asyncio.gather(start(asked), start(asked))

    found = [nights[0] for nights in asyncio.run(both())]

    assert sum(due.summary is None for due in found) == 1
    assert len(open_store(asked.store).find("manifests/")) == 1


def test_a_start_on_another_machine_is_seen_through_the_store(asked: RunRequest, tmp_path: Path) -> None:
    """Their spools are apart: only the record in the store tells that somebody lives."""
    elsewhere = replace(asked, spool=str(tmp_path / "elsewhere"))

    async def second_while_first_holds() -> list[Due]:
        async with (
            nights_of([asked], clock=FixedClock(START), patience_s=1.0),
            nights_of([elsewhere], clock=FixedClock(START), patience_s=1.0) as nights,
        ):
            return nights

    due = asyncio.run(second_while_first_holds())[0]

    assert due.summary is not None
    assert due.summary["exit_code"] == 2


def test_a_person_s_run_is_never_refused(asked: RunRequest) -> None:
    """Several times a day, beside the schedule."""
    by_hand = replace(asked, once=False, timezone=None)
    for _ in range(2):
        assert asyncio.run(start(by_hand))[0].summary is None
    asyncio.run(start(asked))

    assert asyncio.run(start(by_hand))[0].line is None
    assert len(open_store(asked.store).find("nights/")) == 1


def test_a_damaged_claim_is_told_and_other_suites_go_on(asked: RunRequest, tmp_path: Path) -> None:
    """Nobody knows whose date it is, so it is not played."""
    open_store(asked.store).create(night_key("drill", DAY), b"{}")
    other = write_suite(tmp_path / "nights" / "other", [a_case("one")], suite="other")

    broken, free = asyncio.run(start(asked, replace(asked, suite=str(other))))

    assert broken.summary is not None
    assert (broken.summary["exit_code"], broken.summary["run_id"]) == (3, None)
    assert free.summary is None


@pytest.mark.parametrize("wrong", [{"timezone": "Europe/Madird"}, {"scheduled": "2026-10-25T12:00:00Z"}])
def test_a_wrong_zone_or_a_start_ahead_takes_no_date(asked: RunRequest, wrong: dict[str, str]) -> None:
    """A flow's parameters were checked by nobody before."""
    with pytest.raises(InputError):
        asyncio.run(start(replace(asked, **wrong)))

    assert open_store(asked.store).find("nights/") == []


def test_a_rerun_within_a_night_has_a_start_of_its_own(failing: RunRequest) -> None:
    """It inherits the night's request, and comes hours later."""
    asyncio.run(start(failing))
    night = open_store(failing.store).find("manifests/")[0].split("/")[-1].removesuffix(".json")

    async def rerun() -> str:
        again = replace(failing, once=False, rerun=night, run_id="again", scheduled="2026-10-25T00:30:00Z")
        room = await wiring.open_room(again, clock=FixedClock(SECOND))
        await room.close()
        return room.plan.started_at

    assert load_plan(open_store(failing.store), night).started_at == "2026-10-25T00:30:00.000Z"
    assert asyncio.run(rerun()) == "2026-10-25T01:30:00.000Z"
