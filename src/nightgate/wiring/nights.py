"""Nights that are due: of each suite at most one run for a local date, whoever starts how many.

Owns what becomes of a start that asks for ``once``: it has the date, it goes on with the run that has it, or
it is told why not. Knows no command line and no Prefect.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.cases import Suite, load_suite
from nightgate.errors import DamagedError, ExitCode, InputError, MissingError, StoreError
from nightgate.localdates import DEFAULT_ZONE, local_date, refuse_ahead, stamp, start_given, zone_named
from nightgate.plans import Plan, new_run_id
from nightgate.ports import Clock, Store
from nightgate.recorder import refuse_living
from nightgate.requests import DEFAULT_STORE, RunRequest
from nightgate.rows.keys import plan_key, summary_key
from nightgate.steps import nightdates, reporting
from nightgate.steps.claims import PATIENCE_S
from nightgate.steps.finishing import finish_run
from nightgate.steps.nightdates import NightDate
from nightgate.steps.nightholds import Hold
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.wiring.afterwards import take_up, told
from nightgate.wiring.readiness import nothing_spent
from nightgate.wiring.rooms import SystemClock, open_room


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A suite of a night, and whether it is played now."""

    request: RunRequest
    """To be played, its run id fixed."""
    line: str | None = None
    """For people: who has the date, and what that means for this start."""
    summary: dict[str, Any] | None = None
    """What stands in place of a run; None: the request is to be played."""
    after: list[str] = field(default_factory=list)
    """Of a date that is done: what followed its gate."""


@contextlib.asynccontextmanager
async def nights_of(
    requests: Sequence[RunRequest],
    *,
    scheduled: datetime | None = None,
    clock: Clock | None = None,
    patience_s: float = PATIENCE_S,
) -> AsyncIterator[list[Due]]:
    """Settle for each suite whether it is played now, and hold the dates until the block is left.

    A request that does not ask for ``once`` is always played.

    Args:
        requests: One a suite.
        scheduled: The scheduled start, for requests that name none; None: now.
        clock: Instead of the machine's.
        patience_s: Seconds after which a holder that does not change is taken over; the same for all.

    Raises:
        InputError: If a suite, a time zone or a start is wrong, or the store cannot be used; no date is taken
            for what follows it.
        StoreError: If the store goes away meanwhile.
    """
    holds: list[Hold] = []
    renewing = asyncio.create_task(_renew(holds, patience_s))
    found = []
    try:
        for request in requests:
            settling = _Settling(request, holds, clock or SystemClock(), patience_s)
            found.append(await settling.due(scheduled))
        yield found
    finally:
        renewing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await renewing
        for hold in holds:
            await _let_go(hold)


def with_run_id(request: RunRequest) -> RunRequest:
    """The request with a run id, so that the run can be found whatever happens to it."""
    if request.run_id is not None or request.resume is not None:
        return request
    suite = Path(request.suite).resolve().name.lower()
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in suite).strip("-") or "suite"
    return request.named(new_run_id(slug, datetime.now(UTC), secrets.token_hex(3)))


class _Settling:
    """One suite of a night."""

    def __init__(self, request: RunRequest, holds: list[Hold], clock: Clock, patience_s: float) -> None:
        self.request, self.holds, self.clock, self.patience_s = request, holds, clock, patience_s
        # What is handed on is settled: it names its run, and nobody asks again.
        self.settled = replace(request, once=False, timezone=None)

    async def due(self, scheduled: datetime | None) -> Due:
        if not self.request.once:
            return Due(request=with_run_id(self.request))
        suite = await asyncio.to_thread(load_suite, self.request.suite)
        wanted = self._wanted(suite, scheduled)
        store = await asyncio.to_thread(open_store, self.request.store)
        try:
            with nothing_spent(store):
                night = await asyncio.to_thread(nightdates.claim, store, wanted)
            return await self._standing(store, night, suite, first=night is wanted)
        except DamagedError as error:  # it cannot be told who has the date; other suites go on
            return self._refused(wanted, str(error), error.exit_code)

    def _wanted(self, suite: Suite, scheduled: datetime | None) -> NightDate:
        now = self.clock.now()
        zone = zone_named(self.request.timezone or DEFAULT_ZONE)
        start = start_given(self.request.scheduled) if self.request.scheduled else scheduled or now
        refuse_ahead(start, now)
        return NightDate(
            suite=suite.suite,
            date=local_date(start, zone),
            zone=zone.key,
            run_id=self.request.run_id or new_run_id(suite.suite, start, secrets.token_hex(3)),
            scheduled_at=start,
            claimed_at=now,
        )

    async def _standing(self, store: Store, night: NightDate, suite: Suite, *, first: bool) -> Due:
        """What the run of a date needs: to be played, to be gone on with, or nothing."""
        hold = Hold(store, night.run_id, self.request.spool_folder, patience_s=self.patience_s)
        mine = await self._held(hold, store, night)
        plan, committed = await asyncio.to_thread(_found, store, night.run_id)
        if committed:
            return await self._done(store, night, suite, hold)
        if not mine:
            return self._busy(night, hold.other)
        try:
            refuse_living(night.run_id, self.request.spool_folder)
        except InputError:  # somebody resumed it by hand, and holds no date
            await self._give_back(hold)
            return self._busy(night, "another process of this machine, which holds its journal")
        try:
            if plan is not None:
                await self._refuse_changed(plan, suite)
        except InputError as error:
            await self._give_back(hold)
            return self._refused(night, nightdates.stuck_line(night, f"{error}"))
        line = None if first else nightdates.on_line(night, planned=plan is not None)
        if plan is None:
            start = stamp(night.scheduled_at)
            return Due(request=replace(self.settled, run_id=night.run_id, scheduled=start), line=line)
        return Due(request=self._resumed(night.run_id), line=line)

    async def _held(self, hold: Hold, store: Store, night: NightDate) -> bool:
        """Take the run of a date, as soon as it is known whether its holder lives."""
        while (mine := await asyncio.to_thread(hold.take)) is None:
            _, committed = await asyncio.to_thread(_found, store, night.run_id)
            if committed:  # nothing is left to wait for
                return False
            await asyncio.sleep(hold.look_s)
        if mine:
            self.holds.append(hold)
        return mine

    async def _done(self, store: Store, night: NightDate, suite: Suite, hold: Hold) -> Due:
        """The verdict of a date that is done; what a killed start left after the gate is done now."""
        taken, why = None, []
        try:
            if hold.held:
                taken = await take_up(self._resumed(night.run_id), suite=suite, store=store, clock=self.clock)
        except InputError as error:  # the verdict stands, whatever is left to tell
            why = [str(error)]
        finally:
            await self._give_back(hold)
        if taken is not None:
            summary, after = taken.summary, taken.lines
        else:  # whoever holds it is at what follows the gate
            summary = await asyncio.to_thread(_summary, store, night.run_id)
            after = [*await told(self.request, night.run_id, store=store), *why]
        line = nightdates.done_line(night, str(summary["verdict"]))
        return Due(request=self._resumed(night.run_id), line=line, summary=summary, after=after)

    def _busy(self, night: NightDate, where: str) -> Due:
        named = self.request.store if self.request.store != DEFAULT_STORE else None
        return self._refused(night, nightdates.busy_line(night, where, self.request.suite, named))

    def _refused(self, night: NightDate, why: str, code: ExitCode = ExitCode.INPUT) -> Due:
        run_id = night.run_id if code == ExitCode.INPUT else None  # else nobody knows whose date it is
        summary = reporting.refused(night.suite, run_id, why, code)
        return Due(request=replace(self.settled, run_id=night.run_id), line=why, summary=summary)

    def _resumed(self, run_id: str) -> RunRequest:
        return replace(self.settled, resume=run_id, run_id=None, reuse=None)

    async def _refuse_changed(self, plan: Plan, suite: Suite) -> None:
        """Take the run up in a store of its own, so that what cannot be gone on with is known by now.

        Raises:
            InputError: As the run would.
        """
        aside = InMemoryStore()
        aside.create(plan_key(plan.run_id), plan.to_json())
        with tempfile.TemporaryDirectory() as spool:
            asked = replace(self._resumed(plan.run_id), store=aside.uri, spool=spool, baseline=None)
            room = await open_room(asked, suite=suite, store=aside)
            await room.close()

    async def _give_back(self, hold: Hold) -> None:
        """Hold no longer what is not played here."""
        if hold in self.holds:
            self.holds.remove(hold)
            await _let_go(hold)


def _found(store: Store, run_id: str) -> tuple[Plan | None, bool]:
    """The plan of a run, if it got one, and whether it is committed."""
    try:
        plan = load_plan(store, run_id)
    except MissingError:
        return None, False
    return plan, manifest_of(store, plan) is not None


def _summary(store: Store, run_id: str) -> dict[str, Any]:
    """The summary of a committed run; a finisher that was killed may have left an older one."""
    with contextlib.suppress(MissingError, ValueError):
        document: dict[str, Any] = json.loads(store.read(summary_key(run_id)))
        if document.get("complete"):
            return document
    return finish_run(store, run_id).summary.as_dict()


async def _renew(holds: list[Hold], patience_s: float) -> None:
    while True:
        await asyncio.sleep(patience_s / 4)
        for hold in list(holds):
            with contextlib.suppress(StoreError):  # away: nobody can take over then either
                await asyncio.to_thread(hold.renew)


async def _let_go(hold: Hold) -> None:
    with contextlib.suppress(StoreError):  # the others find this process gone all the same
        await asyncio.to_thread(hold.let_go)
