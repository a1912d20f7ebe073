"""Gathers records that wait, cuts them into jobs, and hands every record what became of it.

Owns the life of a job: written down before it is submitted, submitted once whatever dies in between,
looked at with growing pauses, read in whatever order its lines come. A record is handed exactly one
thing: its answer, an order to go live, or an error. Knows no provider but its ``BatchService``, and no
evaluator.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from nightgate.adapters.batch.accounts import Accounts
from nightgate.adapters.batch.book import Job, JobBook
from nightgate.adapters.batch.cutting import cut, limits_of, spared
from nightgate.adapters.batch.patience import GROWTH, patiently
from nightgate.adapters.batch.records import Events, Found, Lost, Record
from nightgate.adapters.batch.service import BatchService, Standing
from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.failures import classify
from nightgate.calls import Outcome
from nightgate.errors import BudgetError, ModelCallError
from nightgate.ports import Store

T = TypeVar("T")


class Engine:
    """The queue of one judge's model. Lives on the home loop.

    Args:
        service: The provider.
        accounts: Ledger and budget.
        store: Where the state of jobs lies.
        spec: Of the model.
        settings: Sizes and patience.
        told: Takes a line for people when a job is submitted or over.
        owner: Under whose id jobs are kept; None: that of the run whose judgements wait.
    """

    def __init__(
        self,
        service: BatchService,
        accounts: Accounts,
        store: Store,
        spec: str,
        settings: BatchSettings,
        told: Callable[[str], None] = lambda _: None,
        owner: str | None = None,
    ) -> None:
        self._service, self._accounts, self._store = service, accounts, store
        self._spec, self._settings, self._told = spec, settings, told
        self._limits = limits_of(service.limits, settings)
        self._owner = owner
        self._book: JobBook | None = None
        self._loading = asyncio.Lock()
        self._job_of: dict[str, Job] = {}
        self._waiting: dict[str, Record] = {}
        self._held: dict[str, Record] = {}
        """They fit the cap only once what is in flight costs less than is held for it."""
        self._cutting: list[Record] = []
        self._closed = False
        self._last = 0.0
        self._gatherer: asyncio.Task[None] | None = None
        self._work: dict[Job, asyncio.Task[None]] = {}

    async def ask(self, record: Record) -> Events | None:
        """Wait for a record's answer.

        Returns:
            The answer; None: it has to be sent live.

        Raises:
            ModelCallError: If it was lost, and the settings do not send it live.
            BudgetError: If it could pass the cap.
        """
        await self._load(self._owner or record.scope.run_id)
        job = self._job_of.get(record.id)
        (self._waiting if job is None else job.waiting)[record.id] = record
        self._last = time.monotonic()
        if self._gatherer is None or self._gatherer.done():
            self._gatherer = asyncio.create_task(self._gather())
        return await record.answered

    async def close(self) -> None:
        """Let go of the jobs; they go on at the provider, and a resume finds them."""
        self._closed = True
        tasks = [task for task in (self._gatherer, *self._work.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._service.close()

    async def _load(self, run_id: str) -> None:
        if self._book is not None:
            return
        async with self._loading:
            if self._book is None:
                book = JobBook(self._store, run_id, self._spec)
                for job in await asyncio.to_thread(book.load):
                    self._job_of.update(dict.fromkeys(job.record_ids, job))
                self._book = book

    # --- gathering

    async def _gather(self) -> None:
        """Wait until nobody has added a record for a moment, then begin."""
        try:
            while (rest := self._last + self._settings.quiet_s - time.monotonic()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(rest)
            await self._begin()
        except Exception as error:  # whatever broke, nobody may wait for ever
            waiting = [*self._waiting.values(), *self._held.values(), *self._cutting]
            self._waiting, self._held, self._cutting = {}, {}, []
            self._fail(waiting, error)

    async def _begin(self) -> None:
        """Start work on all that waits, as far as the cap allows."""
        for job in {job for job in self._job_of.values() if job.waiting}:
            self._start(job)
        waiting = [*self._held.values(), *self._waiting.values()]
        self._held, self._waiting = {}, {}
        fit = self._cutting = self._hold(waiting)
        jobs, few = cut(fit, self._limits, lambda record: len(self._service.line(record)) + 1)
        capped = bool(self._held) or any(record.capped for record in few)
        for record in few:
            self._accounts.release(record)
            if not capped:
                record.settle(None)
        if capped:  # that they are few is the cap's doing: a live call costs twice as much as was asked for
            self._held = {record.id: record for record in (*few, *self._held.values())}
        assert self._book is not None
        for records in jobs:
            job = self._book.new(records)
            self._job_of.update(dict.fromkeys(job.record_ids, job))
            self._start(job)
        self._cutting = []
        if self._held and not self._work:
            self._refuse()

    def _hold(self, waiting: Sequence[Record]) -> list[Record]:
        """Hold money for records in their order; the rest waits until something is settled."""
        for number, record in enumerate(waiting):
            try:
                self._accounts.hold(record)
            except BudgetError:
                now = spared(number, len(waiting) - number, self._limits.minimum)
                for early in waiting[now:number]:
                    self._accounts.release(early)
                for late in waiting[now:]:
                    late.capped = True
                self._held = {late.id: late for late in waiting[now:]}
                return list(waiting[:now])
        return list(waiting)

    def _refuse(self) -> None:
        """Nothing is in flight any more that could make room; no record goes live for want of a job."""
        held, self._held = list(self._held.values()), {}
        few = BudgetError(
            f"{self._spec}: the cap left {len(held)} judgements, too few for a batch job "
            f"({self._limits.minimum}), and live they would cost the list price: resume with a higher budget"
        )
        refused: BudgetError = few
        for record in held:
            try:
                self._accounts.hold(record)
            except BudgetError as over:
                refused = over
            self._accounts.release(record)
            record.fail(refused)
        if held and refused is few:
            self._told(f"batch: {few}")

    def _start(self, job: Job) -> None:
        if job not in self._work:
            task = self._work[job] = asyncio.create_task(self._carry_out(job))
            task.add_done_callback(lambda _: self._ended(job))

    def _ended(self, job: Job) -> None:
        del self._work[job]
        again = (bool(job.waiting) or bool(self._held)) and not self._closed
        if again and (self._gatherer is None or self._gatherer.done()):
            self._gatherer = asyncio.get_running_loop().create_task(self._gather())

    # --- one job

    async def _carry_out(self, job: Job) -> None:
        try:
            if job.job_id is None and not await self._submit(job):
                return
            standing = await self._over(job)
            await self._read(job, standing)
        except Exception as error:  # the provider's border: whatever it raises is typed here
            waiting, job.waiting = list(job.waiting.values()), {}
            self._fail(waiting, error)

    async def _submit(self, job: Job) -> bool:
        """Submit a job, or find that it was; False if its records were let go to be cut anew."""
        assert self._book is not None
        found = (
            await self._patiently(lambda: self._service.find(job.name, job.created_at))
            if job.stored
            else None
        )
        if found is None and set(job.record_ids) != set(job.waiting):
            await self._dissolve(job)
            return False
        if found is None:
            if not job.stored:
                await asyncio.to_thread(self._book.submitting, job)
                job.stored = True
            for record in job.waiting.values():
                if record.reservation is None:
                    self._accounts.hold(record)
            for record in job.waiting.values():
                self._accounts.sent(record)
            found = await self._submit_once(job)
        await asyncio.to_thread(self._book.submitted, job, found)
        for record in job.waiting.values():
            record.body = {}  # thousands wait for hours: what was sent is not needed any more
        self._told(f"batch: {len(job.record_ids)} judgements wait at {self._spec} as job {found}")
        return True

    async def _submit_once(self, job: Job) -> str:
        """Submit; after a failure that may have arrived all the same, look first."""
        ordered = [job.waiting[record_id] for record_id in job.record_ids]
        lines = b"".join(self._service.line(record) + b"\n" for record in ordered)
        tried = False

        async def submit() -> str:
            nonlocal tried
            known = await self._service.find(job.name, job.created_at) if tried else None
            tried = True
            return known or await self._service.submit(job.name, lines)

        return await self._patiently(submit)

    async def _dissolve(self, job: Job) -> None:
        """An earlier process died before it submitted, and not all of its records are asked for again."""
        assert self._book is not None
        await asyncio.to_thread(self._book.drop, job)
        for record_id in job.record_ids:
            del self._job_of[record_id]
        self._waiting.update(job.waiting)
        job.waiting = {}
        self._last = time.monotonic()
        if self._gatherer is None or self._gatherer.done():
            self._gatherer = asyncio.create_task(self._gather())

    async def _over(self, job: Job) -> Standing:
        """Look at a job until it is over, ever less often."""
        assert job.job_id is not None
        job_id, pause_s = job.job_id, self._settings.poll_s
        while not (standing := await self._patiently(lambda: self._service.standing(job_id))).over:
            await asyncio.sleep(pause_s)
            pause_s = min(self._settings.poll_cap_s, pause_s * GROWTH)
        return standing

    async def _read(self, job: Job, standing: Standing) -> None:
        """Hand every record of a job that is over what its line says."""
        assert job.job_id is not None
        job_id = job.job_id
        self._told(f"batch: job {job_id} is {standing.word}")

        async def read() -> None:
            async with contextlib.aclosing(self._service.results(job_id, standing)) as lines:
                async for line in lines:
                    found = self._service.read(line)
                    record = None if found is None else job.waiting.pop(found.record_id, None)
                    if found is not None and record is not None:
                        with self._handing(record):
                            self._deliver(record, found)

        late = set(job.waiting)
        if standing.ran:
            await self._patiently(read)
        late &= set(job.waiting)
        told = f"batch job {job_id} is {standing.word}" + (f": {standing.detail}" if standing.detail else "")
        if standing.ran and standing.whole:
            lost = Lost(
                why=f"{told}, and its results have no line for this record",
                outcome=Outcome.UNKNOWN,
                billed=None,
            )
        else:
            lost = Lost(why=f"{told}, before it came to this record")
        for record_id in sorted(late):
            record = job.waiting.pop(record_id)
            with self._handing(record):
                self._lose(record, lost)

    @contextlib.contextmanager
    def _handing(self, record: Record) -> Iterator[None]:
        """Fail a record whose ledger row cannot be written: it is in no job's list any more."""
        try:
            yield
        except Exception as error:
            record.fail(ModelCallError("error", f"{self._spec}: its answer cannot be recorded: {error}"))
            raise

    def _deliver(self, record: Record, found: Found) -> None:
        if found.body is not None:
            try:
                events = self._service.events(record, found.body)
            except (ValueError, KeyError, TypeError, AttributeError, LookupError) as error:
                why = f"its line in the results holds no answer: {type(error).__name__}: {error}"
                self._lose(record, Lost(why=why, outcome=Outcome.UNKNOWN, billed=None))
                return
            self._accounts.answered(record, events)
            record.settle(events)
            return
        assert found.lost is not None
        self._lose(record, found.lost)

    def _lose(self, record: Record, lost: Lost) -> None:
        """Book a record without an answer, and send it live or give it up."""
        self._accounts.lost(record, lost)
        if self._settings.rest == "live":
            record.settle(None)
            return
        error = ModelCallError("error", f"{self._spec}: {lost.why}")
        record.fail(error)

    def _fail(self, records: Sequence[Record], error: BaseException) -> None:
        """The queue itself cannot be used: no call was answered, and none is sent live at twice the price."""
        if isinstance(error, BudgetError):
            for record in records:
                self._accounts.release(record)
                record.fail(error)
            return
        failure = classify(error)
        for record in records:
            with contextlib.suppress(Exception):  # a ledger that cannot be written is known: all are failed
                if record.started_at is None:
                    self._accounts.release(record)
                else:
                    lost = Lost(why=failure.message, outcome=failure.outcome, billed=None)
                    self._accounts.lost(record, lost)
            broken = ModelCallError(failure.outcome.value, f"{self._spec}: batch queue: {failure.message}")
            record.fail(broken)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await patiently(ask, self._settings)
