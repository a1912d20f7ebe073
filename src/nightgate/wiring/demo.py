"""A simulated month in a folder: its suites, and a store with a night of each for every day.

Owns the order: files, the word that it is simulated, then night after night through the real pipeline, with
the clock of each night as its scheduled start. Scripts play every part: no model is called, nobody is told,
and no figure leaves the machine. Knows no command line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nightgate import logs
from nightgate.adapters.store import open_store
from nightgate.calls import Role
from nightgate.cases import Suite, load_suite
from nightgate.errors import InputError, NightgateError
from nightgate.gates import Verdict
from nightgate.heap import settled_heap
from nightgate.ports import Clock, Store
from nightgate.requests import SIMULATED, RunRequest
from nightgate.starter import place, sample_files
from nightgate.steps.promoting import promote
from nightgate.steps.simulated import mark_simulated
from nightgate.wiring.months import STORIES, Month, Story
from nightgate.wiring.reruns import find_flaky
from nightgate.wiring.rooms import Room, open_room, work

CASES, STORE = "cases", "store"
"""What is made in the folder."""
_SETTLED = timedelta(minutes=5)
"""After the start of a night: when its suspects are rerun."""


@dataclass(frozen=True, slots=True)
class _At:
    """A clock that stands."""

    moment: datetime

    def now(self) -> datetime:
        """That moment."""
        return self.moment


def run_id_of(suite: str, night: int) -> str:
    """The id of a night's run: ``support-night-12``."""
    return f"{suite}-night-{night:02d}"


async def make_demo(
    folder: Path,
    month: Month,
    told: Callable[[int], None] = lambda _: None,
    *,
    stories: Sequence[Story] = STORIES,
) -> None:
    """Fill a folder with a month.

    Args:
        folder: New or empty.
        month: What happens in it.
        told: Called with each night, from 1, once all suites have it.
        stories: The suites, with what happens to them.

    Raises:
        InputError: If something is in the folder, or it cannot be written; nothing was written then.
    """
    _refuse_taken(folder)
    place(folder, _files(stories))
    store = open_store(str(folder / STORE))
    mark_simulated(store, _facts(month, stories))
    counted: dict[int, int] = {}

    def played(night: int) -> None:
        counted[night] = counted.get(night, 0) + 1
        if counted[night] == len(stories):
            told(night)

    with logs.silent(), settled_heap(hold=True):
        # Side by side: while one suite waits for the disk the other plays.
        suites = [asyncio.create_task(_play(folder, store, month, story, played)) for story in stories]
        try:
            await asyncio.gather(*suites)
        finally:
            for suite in suites:
                suite.cancel()
            await asyncio.gather(*suites, return_exceptions=True)


def _refuse_taken(folder: Path) -> None:
    try:
        there = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        msg = f"{folder}: {error.strerror or error}; give a folder that is new or empty"
        raise InputError(msg) from error
    if there:
        named = ", ".join(there[:3]) + (", ..." if len(there) > 3 else "")  # noqa: PLR2004
        msg = f"{folder}: holds {named}; a demo wants a folder that is new or empty. Nothing was written"
        raise InputError(msg)


def _files(stories: Sequence[Story]) -> dict[str, str]:
    return {
        f"{CASES}/{story.suite}/{name}": text
        for story in stories
        for name, text in sample_files(story.suite).items()
    }


def _facts(month: Month, stories: Sequence[Story]) -> dict[str, Any]:
    suites = [story.suite for story in stories]
    events = [
        asdict(event) | {"date": f"{month.start(event.night):%Y-%m-%d}"}
        for event in month.events()
        if event.suite in suites
    ]
    return {"seed": month.seed, "nights": month.nights, "suites": suites, "events": events}


async def _play(
    folder: Path, store: Store, month: Month, story: Story, played: Callable[[int], None]
) -> None:
    """All nights of a suite. The first one that passes becomes its baseline."""
    path = folder / CASES / story.suite
    written = await asyncio.to_thread(load_suite, path)
    promoted = False
    for night in range(1, month.nights + 1):
        run_id = run_id_of(story.suite, night)
        request = RunRequest(
            suite=str(path),
            store=store.uri,
            run_id=run_id,
            judge=month.judge(story, night),
            trials=story.trials,
            seed=month.seed,
            trigger=SIMULATED,
            night=True,
            alerts=False,
            report=False,
        )
        # As if its owner had written another model into suite.yaml; and nobody is told of a simulation.
        model = month.model(story, night)
        suite = written.model_copy(update={"model": model, "alerts": ()})
        verdict = await _night(request, suite, store, month, story, night)
        if not promoted and verdict is Verdict.PASS:
            await asyncio.to_thread(promote, store, run_id, now=month.start(night) + _SETTLED)
            promoted = True
        played(night)


async def _night(
    request: RunRequest, suite: Suite, store: Store, month: Month, story: Story, night: int
) -> Verdict:
    """One run, as a night plays it, and what follows its gate."""
    start = month.start(night)
    room = await open_room(request, suite=suite, store=store, clock=_At(start))
    try:
        _draw(room, month, story, night)
        for index in range(len(room.shards)):
            await work(room, index)
    except BaseException:
        await room.close()
        raise
    finished = await room.finish()
    after: Clock = _At(start + _SETTLED)
    found = await find_flaky(request, room.plan.run_id, suite=suite, store=store, clock=after)
    if "error" in found:
        msg = f"run {room.plan.run_id}: {found['error']}"
        raise NightgateError(msg)
    return Verdict(finished.summary.as_dict()["verdict"])


def _draw(room: Room, month: Month, story: Story, night: int) -> None:
    """Put the night's scripts in place of those that were read; the plan has fingerprinted the files."""
    suite, hub = room.furniture.suite, room.furniture.hub
    parts = {Role.AGENT: suite.model, Role.USER: suite.user, Role.JUDGE: suite.judge}
    for role, spec in parts.items():
        if spec is None:
            continue
        metered = hub.build(spec, role)
        script = month.script(story, night, role, spec, metered.inner.script)
        metered.inner.script = script
        metered.wire = replace(metered.wire, price=room.furniture.prices.price(spec, script=script))
