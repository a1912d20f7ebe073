"""A sweep over several runs: one sweep a run, worked on a few at a time, with one cap over all.

Owns the order of its life: everything is checked and every plan is stored before the first call; each
part is then staged and committed like any sweep, so that a kill at any moment leaves parts that are
done, parts that are open and parts that were not begun, and all of them can be taken up. Knows no
command line and no Prefect.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.batch.records import awaits_batch
from nightgate.adapters.store import open_store
from nightgate.calls import Call
from nightgate.cases import Suite, load_suite
from nightgate.errors import STOPPED_EXIT, InputError, MissingError
from nightgate.plans import Plan, new_run_id
from nightgate.ports import Store
from nightgate.recorder import bring_up, refuse_living
from nightgate.requests import RunRequest
from nightgate.rows import keys
from nightgate.rows.facts import call_from_row
from nightgate.steps import planning, selections, sweeping
from nightgate.steps.collecting import collect
from nightgate.steps.finishing import Finished, finish_run, write_summary
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.selections import Part, Selection
from nightgate.steps.sweepgroups import Combined, combined_forecast
from nightgate.summaries import Summary
from nightgate.wiring.benches import Shared, sharing
from nightgate.wiring.drawing import draw_up_part, draw_up_selection
from nightgate.wiring.readiness import refuse_unready
from nightgate.wiring.rooms import Progress, Room, on_signals, open_room, room_here, work

LIVE_WAVE = 8
"""Parts that are worked on together: enough to keep the judges busy while small runs end."""
BATCH_WAVE = 64
"""The same where judgements wait for hours: what waits together is submitted together."""
_WHY: dict[int, str] = {int(code): why for why, code in STOPPED_EXIT.items()}


@dataclass(slots=True, kw_only=True)
class Group:
    """A sweep over several runs in this process."""

    store: Store
    request: RunRequest
    """Of the whole; ``sweep_id`` is its id."""
    shared: Shared
    progress: Progress
    suites: dict[str, Suite] = field(default_factory=dict)
    """Loaded, by folder."""
    selection: Selection | None = None
    combined: Combined = field(default_factory=Combined)
    began: float = field(default_factory=time.monotonic)
    stopped: str | None = None
    """budget or cancelled: no further part begins."""

    def stop(self, reason: str) -> None:
        """Begin no further part, and end those that are open."""
        self.stopped = reason
        for part in self.selection.parts if self.selection is not None else ():
            room = room_here(part.run_id)
            if room is not None:
                room.stop(reason)

    def heard(self, exit_code: int) -> None:
        """A part ended with this exit code: what stopped it stops the rest."""
        self.stopped = self.stopped or _WHY.get(exit_code)

    def waves(self) -> Iterator[list[RunRequest]]:
        """Requests of the parts that are not committed yet, in groups that are worked on together."""
        assert self.selection is not None
        open_parts = [part for part in self.selection.parts if not _committed(self.store, part)]
        size = BATCH_WAVE if self.request.batch else LIVE_WAVE
        for start in range(0, len(open_parts), size):
            if self.stopped is not None:
                return
            yield [self._of(part) for part in open_parts[start : start + size]]

    def _of(self, part: Part) -> RunRequest:
        return replace(
            self.request, suite=part.suite_path, sweep=part.source, run_id=part.run_id, resume=part.run_id,
            selection=(), since=None, until=None,
        )  # fmt: skip

    async def open(self, request: RunRequest) -> Room:
        """The room of a part."""
        told = replace(self.progress, on_plan=lambda _: None, on_warning=lambda _: None)
        return await open_room(request, told, suite=self.suites[request.suite], store=self.store)

    def add(self, finished: Finished) -> None:
        """Count a part that is over in this process."""
        document = finished.summary.as_dict()
        self.stopped = self.stopped or document["stopped"]
        self.combined.add(document, finished.tallies, finished.decision, finished.cases)

    async def finish(self) -> Summary:
        """Count what was not counted here, and write the summary of the whole."""
        assert self.selection is not None
        for part in self.selection.parts:
            if part.run_id not in self.combined:
                self.add(await asyncio.to_thread(finish_run, self.store, part.run_id, stopped=self.stopped))
        summary = self.combined.document(
            self.selection, stopped=self.stopped, wall_s=time.monotonic() - self.began
        )
        await asyncio.to_thread(write_summary, self.store, self.selection.sweep_id, summary)
        return summary


def _committed(store: Store, part: Part) -> bool:
    return manifest_of(store, load_plan(store, part.run_id)) is not None


async def run_selection(request: RunRequest, progress: Progress | None = None) -> Summary:
    """A sweep over several runs in this process, begun or taken up.

    Args:
        request: With ``selection``, or with ``resume`` of such a sweep.
        progress: Callbacks.

    Raises:
        InputError: Before anything was spent.
    """
    async with open_group(request, progress) as group:
        for wave in group.waves():
            rooms: list[Room] = []
            try:
                for part in wave:
                    room = await group.open(part)
                    rooms.append(room)
                await asyncio.gather(*(work(room, n) for room in rooms for n in range(len(room.shards))))
                for room in rooms:
                    group.add(await room.finish())
            except BaseException:
                for room in rooms:
                    await room.close()
                raise
        return await group.finish()


@contextlib.asynccontextmanager
async def open_group(request: RunRequest, progress: Progress | None = None) -> AsyncIterator[Group]:
    """Check and plan all parts, or take them up; Ctrl-C ends them in order within the block.

    Raises:
        InputError: Before anything was spent.
    """
    store = await asyncio.to_thread(open_store, request.store)
    selection, progress = None, progress or Progress()
    for warning in await asyncio.to_thread(refuse_unready, request, store):
        progress.on_warning(warning)
    if request.resume is not None:
        selection = await asyncio.to_thread(selections.load_selection, store, request.resume)
        if selection is None:
            msg = f"{request.resume} is no sweep over several runs"
            raise InputError(msg)
    request = _as_begun(request, selection)
    async with sharing(request, store) as shared:
        group = Group(store=store, request=request, shared=shared, progress=progress)
        shared.told = group.progress.on_warning
        plans = await (_begin(group) if selection is None else _take_up(group, selection))
        group.progress.on_plan(_whole(request, plans))
        with on_signals(group.stop):
            yield group


def _as_begun(request: RunRequest, selection: Selection | None) -> RunRequest:
    """The request of the whole: with an id, and taken up with what the first start asked for."""
    if selection is None:
        name = request.run_id or new_run_id("sweep", datetime.now(UTC), secrets.token_hex(3))
        return replace(request, run_id=name, sweep_id=name)
    kept = sweeping.as_asked(request, selection.asked)
    budget = request.budget_usd if request.budget_usd is not None else selection.budget_usd
    return replace(
        kept, run_id=selection.sweep_id, sweep_id=selection.sweep_id, resume=None, budget_usd=budget,
        allow_unpriced=request.allow_unpriced or selection.allow_unpriced,
    )  # fmt: skip


def _whole(request: RunRequest, plans: Sequence[Plan]) -> Plan:
    """All plans as one, for whoever shows how far it is."""
    return replace(
        plans[0],
        run_id=request.sweep_id or "",
        suite=", ".join(dict.fromkeys(plan.suite for plan in plans)),
        # A case of many nights is one case; two suites may call theirs alike.
        cases=tuple(
            replace(case, case_id=f"{plan.suite}: {case.case_id}") for plan in plans for case in plan.cases
        ),
        expected_calls={},
    )


async def _begin(group: Group) -> list[Plan]:
    """Plan all parts and store their plans; the last check before the first call."""
    request, store = group.request, group.store
    drawn = await draw_up_selection(request, store, group.suites)
    parts = selections.numbered(request.sweep_id or "", drawn.runs)
    plans = [replace(plan, run_id=part.run_id) for plan, part in zip(drawn.plans, parts, strict=True)]
    group.selection = Selection(
        sweep_id=request.sweep_id or "",
        started_at=plans[0].started_at,
        trigger=request.trigger,
        words=request.selection,
        since=request.since,
        until=request.until,
        asked=sweeping.what_is_asked(request),
        budget_usd=request.budget_usd,
        allow_unpriced=request.allow_unpriced,
        parts=parts,
        left_out=tuple(drawn.left_out),
    )
    await asyncio.to_thread(selections.store_selection, store, group.selection)
    for plan in plans:
        await asyncio.to_thread(planning.store_plan, store, plan)
    for line in drawn.warnings:
        group.progress.on_warning(line)
    return plans


async def _take_up(group: Group, selection: Selection) -> list[Plan]:
    """Take up what an earlier process left: all that was spent counts once, before the first call.

    Raises:
        InputError: If it is complete, or another process here still works on it.
    """
    request, store = group.request, group.store
    group.selection = selection
    plans = [await _plan_of(group, part) for part in selection.parts]
    if all([await asyncio.to_thread(_committed, store, part) for part in selection.parts]):
        await group.finish()  # its summary may be older than the last commit
        msg = f"sweep {selection.sweep_id} is complete: there is nothing to resume"
        raise InputError(msg)
    for plan, part in zip(plans, selection.parts, strict=True):
        suite = await _loaded(group, part.suite_path)
        bench = group.shared.bench(suite, sweeping.as_asked(request, plan.sweep))
        refuse_living(plan.run_id, request.spool_folder)
        if not await asyncio.to_thread(_committed, store, part):
            planning.refuse_mixing(plan, await draw_up_part(request, store, suite, part))
        bench.meter.recall(await asyncio.to_thread(_spent, store, plan, request.spool_folder))
    return plans


async def _plan_of(group: Group, part: Part) -> Plan:
    """The stored plan of a part; made now where the first process died before it had stored them all."""
    try:
        return await asyncio.to_thread(load_plan, group.store, part.run_id)
    except MissingError:
        plan = await draw_up_part(group.request, group.store, await _loaded(group, part.suite_path), part)
        await asyncio.to_thread(planning.store_plan, group.store, plan)
        return plan


async def _loaded(group: Group, folder: str) -> Suite:
    if folder not in group.suites:
        group.suites[folder] = await asyncio.to_thread(load_suite, folder)
    return group.suites[folder]


def _spent(store: Store, plan: Plan, spool: Path) -> list[Call]:
    """The ledger of a part so far, committed or not, without records whose answers are still to come."""
    manifest = manifest_of(store, plan)
    if manifest is not None:
        return [call_from_row(row) for row in rows_of(store, manifest, keys.CALLS)]
    bring_up(store, plan.run_id, spool)
    return [call for call in collect(store, plan.run_id, sweep=True).calls() if not awaits_batch(call)]


async def selection_forecast(request: RunRequest) -> dict[str, Any]:
    """What a sweep over several runs would judge and cost; makes no call and stores nothing.

    Raises:
        InputError: As the sweep would.
    """
    store = await asyncio.to_thread(open_store, request.store)
    request = _as_begun(request, None)
    async with sharing(request, store):
        drawn = await draw_up_selection(request, store, {}, priced=True)
    return {**combined_forecast(drawn.forecasts), "runs_left_out": drawn.left_out}
