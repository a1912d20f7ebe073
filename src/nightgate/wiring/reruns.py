"""The reruns of a night's suspects, in the same night: one trial at a time until each is decided.

Owns the order of it: find, play, leave out the rest, commit, decide. The reruns are a run of their own
with an id that follows from the night's, so that whoever comes back goes on with them. Knows no command
line and no Prefect.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.calls import Call
from nightgate.cases import Suite
from nightgate.errors import InputError, MissingError
from nightgate.flakiness import Reruns
from nightgate.judging import curtailed
from nightgate.plans import Plan
from nightgate.playing import not_run
from nightgate.ports import Clock, Store
from nightgate.recorder import refuse_living
from nightgate.requests import SUSPECTS, RunRequest
from nightgate.rows import keys
from nightgate.rows.facts import call_from_row
from nightgate.runner import run_shard
from nightgate.scores import Cell, Status
from nightgate.shards import Shard
from nightgate.steps import flaky
from nightgate.steps.flakyplan import rerun_id
from nightgate.steps.planning import kept_cap
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.rerunning import left_out, left_out_as
from nightgate.trials import Ending, Trial
from nightgate.wiring.rooms import Progress, Room, open_room, stopping_on_signals

_VERDICTS = {Status.PASS: True, Status.FAIL: False}


async def find_flaky(
    request: RunRequest,
    run_id: str,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
    beside: Sequence[str] = (),
) -> dict[str, Any]:
    """Find a night's suspects, rerun them, decide, and write the states; twice is as once.

    Args:
        request: The run's own: suite, store, budget, prices, concurrency and spool are taken from it.
        run_id: A committed run.
        progress: Callbacks of the reruns.
        suite: Where it is loaded already, whole.
        store: Where it is open already.
        clock: Gives the reruns' start.
        beside: Other runs of the night whose money counts against the same cap.

    Returns:
        The document ``runs/<run_id>/flakiness.json`` (``steps.flakybook``); ``reruns_stopped`` says why
        nothing or not all could be played. ``night: false`` where the run is none.

    Raises:
        MissingError: If there is no such run.
        InputError: If another process here plays the reruns.
        StoreError: If the store refused; the same call goes on later.
    """
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    stopped: str | None = None
    try:
        stopped = await rerun_suspects(
            request, run_id, progress, suite=suite, store=store, clock=clock, beside=beside
        )
    except InputError as error:
        if isinstance(error, MissingError):
            raise
        # Another process here plays them: decided without, what it finds would be lost.
        refuse_living(rerun_id(run_id), request.spool_folder)
        # What cannot be played leaves suspects as suspects: the night is decided without.
        stopped = str(error)
    if stopped == "cancelled":
        return {"schema": 1, "run_id": run_id, "night": False, "reason": "its reruns were stopped by hand"}
    return await asyncio.to_thread(flaky.settle, store, run_id, stopped=stopped)


async def rerun_suspects(
    request: RunRequest,
    run_id: str,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    clock: Clock | None = None,
    beside: Sequence[str] = (),
) -> str | None:
    """Play what a night's suspects ask for, and commit it. Arguments as for ``find_flaky``.

    Returns:
        Why not all was played: budget or cancelled; None where nothing is left to play.

    Raises:
        InputError: If the suite cannot be played as it was; nothing was spent.
    """
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    opened = await asyncio.to_thread(flaky.open_tonight, store, run_id)
    queue = None if opened is None else Reruns(opened.tonight)
    if queue is None or not queue.asked:
        return None
    night = await asyncio.to_thread(load_plan, store, run_id)
    stored = await asyncio.to_thread(_stored, store, rerun_id(run_id))
    if stored is not None and await asyncio.to_thread(manifest_of, store, stored) is not None:
        return None
    if replace(request, budget_usd=kept_cap(night, request)).budget_nanousd(None) == 0:
        return "budget"
    heard = _Heard(progress or Progress())
    asked = _request(request, night, stored)
    room = await open_room(asked, heard.progress(), suite=suite, store=store, clock=clock)
    with stopping_on_signals(room.plan.run_id):
        try:
            spent = await asyncio.to_thread(_spent, store, [run_id, *beside])
            room.furniture.meter.recall(spent)
            ended = await asyncio.to_thread(_ended, room)
            if ended is None:
                await _play(room, queue, heard)
            if room.stop.reason != "cancelled":
                _leave_out(room, heard, ended or left_out(room.plan, stopped=room.stop.reason))
        except BaseException:
            await room.close()
            raise
        await room.finish()
    return room.stop.reason


def _request(request: RunRequest, night: Plan, stored: Plan | None) -> RunRequest:
    """The request of the reruns: the night's own, without what chose a part of it."""
    bare = replace(
        request, case=(), tag=(), layer=(), stage=(), trials=None, reuse=None, baseline=None, curtail=False
    )
    if stored is not None:
        return replace(bare, resume=stored.run_id, run_id=None, rerun=None, only=None)
    name = rerun_id(night.run_id)
    return replace(bare, rerun=night.run_id, only=SUSPECTS, run_id=name, resume=None)


def _stored(store: Store, run_id: str) -> Plan | None:
    try:
        return load_plan(store, run_id)
    except MissingError:
        return None


def _spent(store: Store, runs: Sequence[str]) -> list[Call]:
    """Calls of other runs under the same cap."""
    found: list[Call] = []
    for run_id in runs:
        manifest = manifest_of(store, load_plan(store, run_id))
        if manifest is not None:
            found += (call_from_row(row) for row in rows_of(store, manifest, keys.CALLS))
    return found


@dataclass(slots=True)
class _Heard:
    """What the shards of this process found."""

    told: Progress
    trials: dict[tuple[str, int], Trial] = field(default_factory=dict)
    cells: dict[tuple[str, int, str], Cell] = field(default_factory=dict)

    def progress(self) -> Progress:
        """Callbacks that listen and pass on."""
        return Progress(
            on_plan=self.told.on_plan,
            on_warning=self.told.on_warning,
            on_trial=self._trial,
            on_cell=self._cell,
        )

    def _trial(self, trial: Trial) -> None:
        self.trials[trial.key.case_id, trial.key.trial] = trial
        self.told.on_trial(trial)

    def _cell(self, cell: Cell) -> None:
        self.cells[cell.case_id, cell.trial, cell.score.evaluator] = cell
        self.told.on_cell(cell)


async def _play(room: Room, queue: Reruns, heard: _Heard) -> None:
    """Rounds of one trial a case; what an earlier process played is heard again first."""
    planned = {case.case_id: case for case in room.plan.cases}
    played = dict.fromkeys(planned, 0)
    for rounds in itertools.count():
        cases = [case for case in queue.next_cases() if case in planned]
        if not cases or room.stop.reason is not None:
            return
        trials = tuple((case, played[case]) for case in cases)
        shard = Shard(run_id=room.plan.run_id, suite=room.plan.suite, index=rounds, trials=trials)
        work = asyncio.create_task(run_shard(room.shop, shard, room.done))
        stopped = asyncio.create_task(room.stop.wait_cancelled())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return
            work.result()
        finally:
            stopped.cancel()
            work.cancel()
        await room.furniture.hub.settle()
        for case, number in trials:
            if (case, number) in heard.trials or (case, number) in room.done.trials:
                played[case] += 1
                queue.add(case, _verdicts(room, heard, case, number, planned[case].evaluators))


def _verdicts(
    room: Room, heard: _Heard, case: str, number: int, names: Sequence[str]
) -> Mapping[str, bool | None]:
    found: dict[str, bool | None] = {}
    for name in names:
        cell = heard.cells.get((case, number, name)) or room.done.cell(case, number, name)
        found[name] = None if cell is None else _verdict(room.plan, cell)
    return found


def _verdict(plan: Plan, cell: Cell) -> bool | None:
    """As the summaries table will count it: a required finding that did not apply has failed."""
    case = next(case for case in plan.cases if case.case_id == cell.case_id)
    if cell.score.status is Status.NOT_APPLICABLE and cell.score.evaluator in case.require:
        return False
    return _VERDICTS.get(cell.score.status)


def _ended(room: Room) -> Mapping[str, Any] | None:
    """Why an earlier process left trials out, if it came so far: what was not played is no evidence."""
    trials = (read() for read in room.done.trials.values())
    why = next((trial.error for trial in trials if trial.ending is Ending.NOT_RUN), None)
    return None if why is None else left_out_as(room.plan, why)


def _leave_out(room: Room, heard: _Heard, why: Mapping[str, Any]) -> None:
    """Record what was not played, and why: the reruns are complete with it."""
    suite = {case.id: case for case in room.shop.suite.cases}
    recorder = room.shop.recorder
    for case, number in room.plan.trials():
        key = (case.case_id, number)
        names = [
            name
            for name in case.evaluators
            if (*key, name) not in heard.cells and (*key, name) not in room.done.cells
        ]
        trial = heard.trials.get(key)
        known = trial is not None or key in room.done.trials
        if known and not names:
            continue
        if trial is None:
            attempt = 1 + room.done.plays.get(key, 0)
            trial = (
                room.done.trials[key]()
                if known
                else not_run(room.plan, case, suite[case.case_id], number, attempt, why["reason"])
            )
        cells = [curtailed(trial, room.plan.evaluator(name)) for name in names]
        cells = [replace(cell, score=replace(cell.score, **why)) for cell in cells]
        recorder.write(*(() if known else (trial,)), *cells)


__all__ = ["find_flaky", "rerun_suspects"]
