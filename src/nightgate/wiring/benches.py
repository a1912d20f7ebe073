"""Where the judges of sweeps sit: models, meter and cap, built once and shared by what is swept together.

Owns which judge and evaluator become which planned column of a sweep, and what sweeps of several runs
share: one cap, one meter, one limiter a model, one batch queue, one window of judgements. Knows no
plan and no recorder but by the run's id.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nightgate.calls import Call, CallStart, Role
from nightgate.cases import Panel, Suite, select
from nightgate.errors import InputError, UnpricedError
from nightgate.evaluators import registry
from nightgate.evaluators.registry import Registered
from nightgate.panels import convened
from nightgate.plans import PlannedEvaluator
from nightgate.ports import Store
from nightgate.prices import Budget, PriceTable
from nightgate.requests import RunRequest
from nightgate.runner import size_executor
from nightgate.steps import planning, sweeping
from nightgate.wiring.batches import queue_up, widened
from nightgate.wiring.furnishing import Relay, models_of

Judged = dict[str, tuple[Registered, PlannedEvaluator]]


@dataclass(slots=True, kw_only=True)
class Bench:
    """The judges over one suite."""

    request: RunRequest
    """With room for what waits in batch queues."""
    suite: Suite
    """Filtered."""
    prices: PriceTable
    budget: Budget
    meter: Any
    hub: Any
    judged: Judged


class Routes:
    """The journal of sweeps that share a meter: every call goes to the run whose judgement made it."""

    def __init__(self) -> None:
        self._relays: dict[str, Relay] = {}

    def lead(self, run_id: str) -> Relay:
        """The relay of a run, from here on."""
        return self._relays.setdefault(run_id, Relay())

    def end(self, run_id: str) -> None:
        """The run's recorder is about to close."""
        self._relays.pop(run_id, None)

    def __call__(self, record: CallStart | Call) -> None:
        """Hand a record on; what comes for a run that is over here is found again by a resume.

        That is the answer of a batch whose sweep was interrupted: its call stands in the ledger as sent.
        """
        relay = self._relays.get(record.run_id)
        if relay is not None:
            relay(record)


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the parts of a sweep over several runs share in one process."""

    store: Store
    prices: PriceTable
    budget: Budget
    routes: Routes = field(default_factory=Routes)
    meter: Any = None
    """Of all judges; there once a bench is."""
    judge_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Judgements in flight."""
    told: Callable[[str], None] = lambda _: None
    """Takes lines for people who wait for batches."""
    benches: dict[str, Bench] = field(default_factory=dict)
    """By the suite's folder."""
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    def bench(self, loaded: Suite, request: RunRequest) -> Bench:
        """The judges over a suite, built when they are first asked for: before any part has begun.

        Raises:
            InputError: If something cannot be built or must not run; nothing is spent.
        """
        where = str(loaded.path)
        if where not in self.benches:
            built = build_bench(
                request, loaded, self.store, self.prices, self.budget, self.routes, self.meter
            )
            self.meter = built.meter
            if built.hub.queues is not None:
                built.hub.queues.told = self.told
            self.stack.push_async_callback(built.hub.close)
            self.benches[where] = built
            window = min(bench.request.judge_concurrency for bench in self.benches.values())
            self.judge_slots = asyncio.Semaphore(window)
        return self.benches[where]


def filtered(request: RunRequest, loaded: Suite) -> Suite:
    """The suite with the cases that the request means.

    Raises:
        InputError: If a filter matches nothing.
    """
    return select(
        loaded, case_globs=request.case, tags=request.tag, layers=request.layer, stages=request.stage
    )


def build_bench(
    request: RunRequest,
    loaded: Suite,
    store: Store,
    prices: PriceTable,
    budget: Budget,
    journal: Callable[[CallStart | Call], None],
    meter: Any = None,
) -> Bench:
    """Build the judges over a suite, without a call.

    Args:
        request: What was asked for.
        loaded: The suite as its files have it.
        store: Where the state of batch jobs lies.
        prices: The table.
        budget: The cap.
        journal: Takes every call.
        meter: Shared with others; None makes one.

    Raises:
        InputError: If something cannot be built or must not run; nothing is spent.
    """
    suite = filtered(request, loaded)
    if not request.evaluators:
        known = ", ".join(planning.planned_names(suite, live=True))
        msg = f"a sweep needs --evaluator; suite {suite.suite!r} plans {known}"
        raise InputError(msg)
    names = sweeping.wanted_evaluators(suite, request.evaluators)
    size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    meter, hub = models_of(request, suite, budget, prices, journal, meter)
    if request.batch:
        queue_up(hub, store, live=request.judge_concurrency, owner=request.sweep_id)
    judged = _judged(request, suite, names, hub)
    if request.batch:
        request = widened(request, (registered for registered, _ in judged.values()))
        size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    if budget.cap_nanousd and not request.allow_unpriced:
        _refuse_unpriced(judged, hub)
    return Bench(
        request=request, suite=suite, prices=prices, budget=budget, meter=meter, hub=hub, judged=judged
    )


def _judged(request: RunRequest, suite: Suite, names: tuple[str, ...], hub: object) -> Judged:
    """Every planned column: evaluator x judge x repeat; code evaluators once, they need no judge."""
    specs, rule = _judges(request, suite)
    folders = (suite.path, Path.cwd())
    found: Judged = {}
    for spec in specs or (None,):
        judge = hub.judge(spec) if spec is not None else None  # type: ignore[attr-defined]
        for name, registered in registry.build(suite, names, judge, folders).items():
            is_judge = registered.facts.kind == "judge"
            repeats = request.repeat if is_judge else 1
            for repeat in range(repeats):
                shown = judge.spec if judge is not None and is_judge else ""
                planned_name = sweeping.label(
                    name, shown, repeat, judges=len(specs) if is_judge else 1, repeats=repeats
                )
                planned = sweeping.planned_evaluator(suite, name, registered, shown, repeat, planned_name)
                found.setdefault(planned_name, (registered, planned))
    return found if rule is None else _paneled(found, rule, request.repeat)


def _judges(request: RunRequest, suite: Suite) -> tuple[tuple[str, ...], str | None]:
    """The judges' specs, and the rule by which they are one panel; None: each judges for itself.

    Raises:
        InputError: If a panel is asked for that is none.
    """
    specs = request.judges or suite.judges
    if request.panel is None:
        specs = tuple(dict.fromkeys(specs))
        return specs, suite.panel.rule if suite.panel is not None and not request.judges else None
    try:
        Panel.of(request.panel, specs)
    except ValueError as error:
        named = ", ".join(specs) or "no judge at all"
        msg = f"--panel {request.panel}: a panel has at least 2 different judges, not {named}; repeat --judge"
        raise InputError(msg) from error
    return specs, request.panel


def _paneled(judged: Judged, rule: str, repeats: int) -> Judged:
    """The same columns as members, and after them a panel's own for each evaluator and repeat."""
    groups: dict[tuple[str, int], list[PlannedEvaluator]] = {}
    for _, planned in judged.values():
        if planned.kind == "judge":
            groups.setdefault((planned.evaluator, planned.repeat), []).append(planned)
    found = dict(judged)
    for (name, repeat), members in groups.items():
        registered = judged[members[0].name][0]
        own = replace(members[0], name=sweeping.label(name, "", repeat, judges=1, repeats=repeats))
        for column in convened(own, members, rule):
            found[column.name] = (found.get(column.name, (registered, column))[0], column)
    return found


def judges_asked(judged: Judged) -> tuple[str, ...]:
    """Specs of the judges that a sweep would call."""
    asking = (planned.judge_model for _, planned in judged.values() if planned.asks)
    return tuple(dict.fromkeys(spec for spec in asking if spec))


def _refuse_unpriced(judged: Judged, hub: object) -> None:
    for judge in judges_asked(judged):
        if not hub.priced(judge, Role.JUDGE):  # type: ignore[attr-defined]
            msg = (
                f"the price of judge {judge!r} is unknown, no budget can hold: add it with "
                "--prices FILE, drop the budget, or pass --allow-unpriced"
            )
            raise UnpricedError(msg)


_SHARED: dict[str, Shared] = {}
"""By the id of the sweep: its parts find what they share, also as tasks of one flow."""


def shared_by(request: RunRequest) -> Shared | None:
    """What a part of a sweep over several runs shares with the others in this process."""
    return _SHARED.get(request.sweep_id) if request.sweep_id is not None else None


@contextlib.asynccontextmanager
async def sharing(request: RunRequest, store: Store) -> AsyncIterator[Shared]:
    """Share judges, cap and queues among the parts of sweep ``request.sweep_id`` within the block.

    Raises:
        InputError: If the cap or the price table cannot be.
    """
    assert request.sweep_id is not None
    made = Shared(
        store=store,
        prices=PriceTable.load(Path(request.prices) if request.prices else None),
        budget=Budget(request.budget_nanousd(None)),
    )
    _SHARED[request.sweep_id] = made
    try:
        async with made.stack:
            yield made
    finally:
        _SHARED.pop(request.sweep_id, None)
