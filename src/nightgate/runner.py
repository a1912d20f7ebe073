"""A shard: many trials and their judgements in one event loop.

Owns the fan-out: a window of agent trials, a separate one of judgements that never holds an agent
slot, and the order in which things become durable (a trial before its judgements are counted).
Memory stays flat: trials are built when a slot is free and let go when their cells are written.
Knows no store beyond its ``Recorder`` and no decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from nightgate.calls import Role
from nightgate.cases import Case, Suite
from nightgate.curtailment import Curtailment
from nightgate.deadlines import contained
from nightgate.errors import BudgetError
from nightgate.evaluators.registry import Registered
from nightgate.heap import Tidy
from nightgate.judging import CURTAILED, curtailed, judge
from nightgate.panels import derived
from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.playing import not_run, play
from nightgate.ports import AgentFactory, Models, UserModel
from nightgate.recorder import Recorder
from nightgate.scores import Blame, Cell
from nightgate.shards import Shard
from nightgate.trials import Trial

THREAD_PREFIX = "nightgate"
_MOST_HUNG = 1000
"""Threads are made when none is idle: so many may hang in tools before others have to wait for one."""
_BACKLOG = 8
"""Finished trials waiting for judges, as a multiple of the judge window, before agents pause."""


@dataclass(slots=True)
class Stop:
    """Why nothing new may start; set once."""

    reason: str | None = None
    """budget or cancelled."""

    _cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, reason: str) -> None:
        """Stop for ``reason``, unless something stopped the run already; cancelled outranks budget."""
        if self.reason is None or reason == "cancelled":
            self.reason = reason
        if reason == "cancelled":
            self._cancelled.set()

    async def wait_cancelled(self) -> None:
        """Return once a person or the machine stopped the run."""
        await self._cancelled.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What is in the store already: a resumed run plays and judges only the rest."""

    trials: Mapping[tuple[str, int], Callable[[], Trial]] = field(default_factory=dict)
    """How to read a finished trial again, by (case id, trial)."""
    cells: Collection[tuple[str, int, str]] = frozenset()
    cell: Callable[[str, int, str], Cell | None] = lambda *_: None
    """How to read a stored finding again: a panel's verdict is made of its members'."""
    plays: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """How often a trial was begun before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Everything a shard needs to work."""

    plan: Plan
    suite: Suite
    factory: AgentFactory
    models: Models
    evaluators: Mapping[str, Registered]
    recorder: Recorder
    slots: asyncio.Semaphore
    """Agent trials in flight, shared by all shards of this process."""
    judge_slots: asyncio.Semaphore
    """Judgements in flight, likewise."""
    backlog: asyncio.Semaphore | None = None
    """Finished trials that wait for judges, likewise; None: each shard has its own."""
    concurrency: int = 10
    judge_concurrency: int = 10
    stop: Stop = field(default_factory=Stop)
    curtailment: Curtailment | None = None
    """What may be left out, shared by all shards of this process; None: nothing."""
    admit: Callable[[], Awaitable[bool]] | None = None
    """Asked before each trial and judgement whether the shard is still this worker's; None: there are no
    others."""
    tidy: Callable[[], None] = field(default_factory=Tidy)
    """Called for each trial that is let go."""
    on_trial: Callable[[Trial], None] = lambda _: None
    on_cell: Callable[[Cell], None] = lambda _: None
    on_judged: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What travels back from a shard: counts, never payloads."""

    shard: int
    trials: int
    cells: int
    stopped: str | None
    staged: str | None
    """Why records wait on this machine, when the store is away."""


async def run_shard(shop: Workshop, shard: Shard, done: Done | None = None) -> Receipt:
    """Play and judge all trials of a shard that are not done yet.

    Raises:
        InputError: If the factory cannot be used (found before a call is made).
        OSError: If the journal cannot be written.
    """
    return await _ShardRun(shop, shard, done or Done()).run()


_SIZED: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


def size_executor(threads: int) -> None:
    """Give the running loop threads enough; one that has them keeps its pool.

    The default has six on two cores, and sync tools, sync judges and Bedrock all live in it.
    """
    loop = asyncio.get_running_loop()
    if _SIZED.get(loop, 0) >= threads:
        return
    _SIZED[loop] = threads
    loop.set_default_executor(_Threads(max_workers=threads + _MOST_HUNG, thread_name_prefix=THREAD_PREFIX))


class _Threads(ThreadPoolExecutor):
    """Threads in which an exit or a StopIteration of user code is an error of that code.

    Into a future they would be fatal: the loop ends with the first, and hangs with the second.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As the base class."""
        return super().submit(_held, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Never wait: all that a run needs was awaited, and what is left hangs in user code."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def _held(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        with contained():
            return fn(*args, **kwargs)
    except StopIteration as stopped:
        raise RuntimeError("raised StopIteration") from stopped


class _ShardRun:
    def __init__(self, shop: Workshop, shard: Shard, done: Done) -> None:
        self.shop, self.shard, self.done = shop, shard, done
        self.cases: dict[str, Case] = {case.id: case for case in shop.suite.cases}
        self.planned: dict[str, PlannedCase] = {case.case_id: case for case in shop.plan.cases}
        self.panels = {planned.name: planned for planned in shop.plan.evaluators if planned.members}
        self.backlog = shop.backlog or asyncio.Semaphore(max(1, shop.judge_concurrency) * _BACKLOG)
        self.group = asyncio.TaskGroup()
        self.curtailment = shop.curtailment
        self.trials = self.cells = 0

    async def run(self) -> Receipt:
        queue = iter(self.shard.trials)
        workers = min(self.shop.concurrency, len(self.shard.trials))
        try:
            # Agents and judgements in one group: whatever breaks in any of them ends the shard.
            async with self.group:
                for _ in range(max(1, workers)):
                    self.group.create_task(self._work(queue))
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        return Receipt(
            shard=self.shard.index,
            trials=self.trials,
            cells=self.cells,
            stopped=self.shop.stop.reason,
            staged=self.shop.recorder.problem,
        )

    async def _work(self, queue: Iterator[tuple[str, int]]) -> None:
        """One agent slot: play, write, hand over to the judges, next."""
        for case_id, number in queue:
            if self.shop.stop.reason is not None:
                return
            known = self.done.trials.get((case_id, number))
            if known is None and self._curtailed(case_id):
                self._leave_out(case_id, number)
                continue
            if known is not None:
                # What is stored already waits for judges where it lies, not here.
                async with self.shop.slots:
                    await self._judged(await asyncio.to_thread(known), new=False)
                continue
            async with self.shop.slots:
                trial = await self._play(case_id, number) if await self._admitted() else None
            if trial is None:
                return
            await self._judged(trial, new=True)

    async def _judged(self, trial: Trial, *, new: bool) -> None:
        """The quick findings at once, the others beside the agents."""
        cells = [
            cell for name in self._missing(trial, quick=True) if (cell := await self._judge(trial, name))
        ]
        self._write(trial if new else None, cells)
        await self._hand_over(trial)
        self.shop.tidy()

    async def _play(self, case_id: str, number: int) -> Trial | None:
        """The trial's record; None when the budget stopped it."""
        shop = self.shop
        if shop.stop.reason is not None:
            return None
        try:
            return await play(
                shop.plan,
                self.planned[case_id],
                self.cases[case_id],
                number,
                factory=shop.factory,
                model=shop.models.build(shop.plan.model, Role.AGENT),
                attempt=1 + self.done.plays.get((case_id, number), 0),
                user=self._user(case_id),
            )
        except BudgetError:
            shop.stop("budget")
            return None

    async def _admitted(self) -> bool:
        return self.shop.admit is None or await self.shop.admit()

    def _user(self, case_id: str) -> UserModel | None:
        """The simulated user, for a case that has a conversation."""
        spec = self.shop.plan.user
        if self.cases[case_id].persona is None or spec is None:
            return None
        return self.shop.models.user(spec)

    def _missing(self, trial: Trial, *, quick: bool) -> Iterator[str]:
        """Planned evaluators of a trial without a finding: the quick ones of ours, or all others."""
        case_id, number = trial.key.case_id, trial.key.trial
        for name in self.planned[case_id].evaluators:
            if name in self.panels or (case_id, number, name) in self.done.cells:
                continue
            is_quick = self.shop.plan.evaluator(name).kind != "judge" and self.shop.evaluators[name].inline
            if is_quick is quick:
                yield name

    def _panels(self, trial: Trial) -> Iterator[PlannedEvaluator]:
        """Panels that judge a trial and whose verdict is not there yet."""
        case_id, number = trial.key.case_id, trial.key.trial
        for name in self.planned[case_id].evaluators if self.panels else ():
            if name in self.panels and (case_id, number, name) not in self.done.cells:
                yield self.panels[name]

    async def _hand_over(self, trial: Trial) -> None:
        """Start the judgements of a trial beside the agents; wait only when judges fall far behind."""
        names = list(self._missing(trial, quick=False))
        if not names and not any(self._panels(trial)):
            self.shop.on_judged()
            return
        await self.backlog.acquire()
        task = self.group.create_task(self._judge_all(trial, names))
        task.add_done_callback(lambda _: self.backlog.release())

    async def _judge_all(self, trial: Trial, names: list[str]) -> None:
        """The judges of one trial, in parallel, and then the panels that they sit on."""
        found: dict[str, Cell] = {}

        async def one(name: str) -> None:
            async with self.shop.judge_slots:
                if self.shop.stop.reason is not None or not await self._admitted():
                    return
                cell = self._spared(trial, name) or await self._judge(trial, name)
            if cell is None:
                self.shop.stop("budget")
            else:
                found[name] = cell
                self._write(None, [cell])

        await asyncio.gather(*(one(name) for name in names))
        for panel in self._panels(trial):
            members = [found.get(name) or self._stored(trial, name) for name in panel.members]
            votes = [cell for cell in members if cell is not None]
            if len(votes) == len(members):  # else the run was stopped: whoever resumes it has them all
                self._write(None, [derived(panel, votes)])
        self.shop.on_judged()

    def _stored(self, trial: Trial, name: str) -> Cell | None:
        return self.done.cell(trial.key.case_id, trial.key.trial, name)

    async def _judge(self, trial: Trial, name: str) -> Cell | None:
        return await judge(
            trial,
            self.cases[trial.key.case_id],
            self.shop.plan.evaluator(name),
            self.shop.evaluators[name],
            timeout_s=self.shop.plan.timeout_s,
        )

    def _write(self, trial: Trial | None, cells: list[Cell]) -> None:
        if trial is not None:
            self.shop.recorder.write(trial, *cells)
            self.trials += 1
            self.shop.on_trial(trial)
        elif cells:
            self.shop.recorder.write(*cells)
        self.cells += len(cells)
        for cell in cells:
            if self.curtailment is not None and cell.score.blame is not Blame.CURTAILED:
                self.curtailment.found(cell)
            self.shop.on_cell(cell)

    def _curtailed(self, case_id: str) -> bool:
        return self.curtailment is not None and self.curtailment.trial(self.planned[case_id])

    def _leave_out(self, case_id: str, number: int) -> None:
        """Record that a trial was not played because nothing hangs on it any more."""
        assert self.curtailment is not None
        planned = self.planned[case_id]
        attempt = 1 + self.done.plays.get((case_id, number), 0)
        trial = not_run(self.shop.plan, planned, self.cases[case_id], number, attempt, CURTAILED)
        names = [n for n in planned.evaluators if (case_id, number, n) not in self.done.cells]
        self.curtailment.trials += 1
        self.curtailment.cells += len(names)
        self._write(trial, [curtailed(trial, self.shop.plan.evaluator(name)) for name in names])

    def _spared(self, trial: Trial, name: str) -> Cell | None:
        """The cell of a judgement that need not be made; None when it has to be."""
        case = self.planned[trial.key.case_id]
        if self.curtailment is None or not self.curtailment.cell(case, name):
            return None
        self.curtailment.cells += 1
        return curtailed(trial, self.shop.plan.evaluator(name))
