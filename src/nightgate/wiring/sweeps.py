"""A judge sweep's room: judges and stored trials instead of an agent.

Owns how the sweep of one run is furnished, begun and taken up. Everything else of its life is that of
any run: one recorder, one budget, one ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.batch.records import awaits_batch
from nightgate.adapters.store import open_store
from nightgate.cases import Suite, load_suite
from nightgate.cases.kinship import kinship
from nightgate.errors import InputError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.prices import Budget, PriceTable
from nightgate.recorder import bring_up, next_epoch, refuse_living
from nightgate.requests import RunRequest, default_store
from nightgate.runner import Done
from nightgate.scores import Cell
from nightgate.steps import planning, sweepcosts, sweeping
from nightgate.steps.choosing import Source, choose, found_before
from nightgate.steps.collecting import Collected, collect
from nightgate.steps.listing import resolve
from nightgate.steps.selections import Picked, picked
from nightgate.steps.trials import StoredTrials
from nightgate.trials import Trial
from nightgate.wiring.alerts import refuse_bad_channels
from nightgate.wiring.benches import build_bench, judges_asked, shared_by
from nightgate.wiring.furnishing import Furniture, Relay, open_recorder
from nightgate.wiring.judges import refuse_related

CellKey = tuple[str, int, str]
"""Case id, trial, planned evaluator."""


def swept(store: Store, request: RunRequest, suite: Suite) -> Source:
    """The run whose trials are meant.

    Raises:
        InputError: If it cannot be swept.
    """
    source = sweeping.source_of(store, resolve(store, request.sweep or "", suite.suite))
    if source.plan.suite != suite.suite:
        msg = f"run {source.plan.run_id} is of suite {source.plan.suite!r}, and {suite.file} is another"
        raise InputError(msg)
    return source


def furnish_sweep(request: RunRequest, loaded: Suite, store: Store, source: Source) -> Furniture:
    """Build the judges of a sweep; those of a part of a larger one are there already.

    Raises:
        InputError: If something cannot be built or must not run; nothing is spent.
    """
    whole = shared_by(request)
    refuse_bad_channels(loaded, request)
    if whole is None:
        relay = Relay()
        prices = PriceTable.load(Path(request.prices) if request.prices else None)
        bench = build_bench(request, loaded, store, prices, Budget(request.budget_nanousd(None)), relay)
    else:
        assert request.run_id is not None, "a part of a sweep has its id before it is planned"
        relay, bench = whole.routes.lead(request.run_id), whole.bench(loaded, request)
    refuse_related(request, bench.suite, source.plan.model, judges_asked(bench.judged))
    room = bench.request
    furniture = Furniture(
        request=replace(request, concurrency=room.concurrency, judge_concurrency=room.judge_concurrency),
        suite=bench.suite,
        store=store,
        live=True,
        prices=bench.prices,
        budget=bench.budget,
        relay=relay,
        meter=bench.meter,
        hub=bench.hub,
        evaluators={name: registered for name, (registered, _) in bench.judged.items()},
        factory=None,
        source=source,
        judged=bench.judged,
        shared=whole,
    )
    if whole is None:
        furniture.stack.push_async_callback(bench.hub.close)
    return furniture


def draw_up_sweep(furniture: Furniture, now: datetime) -> Plan:
    """The plan that this sweep would make today; nothing is stored.

    Raises:
        InputError: If there is no trial to judge.
    """
    request, source = furniture.request, furniture.source
    evaluators = request.of or dict.fromkeys(planned.evaluator for _, planned in furniture.judged.values())
    found = found_before(furniture.store, source, request.status, evaluators)
    chosen = choose(furniture.suite, source, found)
    furniture.warnings += sweeping.named(chosen.left_out)
    related = (kinship(source.plan.model, judge) for judge in judges_asked(furniture.judged))
    furniture.warnings += [f"{found}. Pin another judge, or calibrate this one" for found in related if found]
    return sweeping.sweep_plan(
        furniture.suite,
        request,
        source,
        chosen,
        furniture.judged,
        price_table=furniture.prices.version,
        now=now,
    )


async def start_sweep(furniture: Furniture, plan: Plan) -> tuple[Plan, Done]:
    """Freeze the plan, open the recorder, take over what was paid for before."""
    known = await asyncio.to_thread(sweeping.known_findings, furniture.store, plan, furniture.source)
    await asyncio.to_thread(planning.store_plan, furniture.store, plan)
    await open_recorder(furniture, plan, epoch=1)
    return plan, _begun(furniture, plan, known, Collected())


async def go_on_with_sweep(
    furniture: Furniture, fresh: Plan, stored: Plan, *, joining: bool
) -> tuple[Plan, Done]:
    """Take up an open sweep: findings stay, and what is spent counts.

    Raises:
        InputError: If its configuration has changed since, or another process here still works on it.
    """
    store, request = furniture.store, furniture.request
    planning.refuse_mixing(stored, fresh)
    if not joining:
        refuse_living(stored.run_id, request.spool_folder)
    await asyncio.to_thread(bring_up, store, stored.run_id, request.spool_folder)
    found = await asyncio.to_thread(collect, store, stored.run_id, sweep=True)
    if furniture.shared is None:  # parts of a larger sweep share a cap: it was told before the first began
        calls = await asyncio.to_thread(found.calls)
        furniture.meter.recall(call for call in calls if not awaits_batch(call))
    epoch = await asyncio.to_thread(next_epoch, store, stored.run_id)
    # Whoever planned it may have died before it took over what was paid for before.
    known = await asyncio.to_thread(sweeping.known_findings, store, stored, furniture.source)
    await open_recorder(furniture, stored, epoch=epoch)
    return stored, _begun(furniture, stored, known, found)


def _begun(furniture: Furniture, plan: Plan, known: list[Cell], found: Collected) -> Done:
    """Record the findings that hold and are not there yet; they are this sweep's from here on."""
    recorder = furniture.relay.recorder
    assert recorder is not None
    seats = {name for planned in plan.evaluators for name in planned.members}
    votes: dict[CellKey, Cell] = {}
    cells: set[CellKey] = set(found.cells)
    for cell in known:
        key = (cell.case_id, cell.trial, cell.score.evaluator)
        if key not in found.cells:
            recorder.write(cell)
        if key not in found.cells and cell.score.evaluator in seats:
            votes[key] = cell
        cells.add(key)
    done = _done(furniture, plan, cells)
    # What a panel's verdict is made of; where none judges, nothing of what was staged is held on to.
    return replace(done, cell=lambda *key: votes.get(key) or found.cell(*key)) if seats else done


async def sweep_forecast(request: RunRequest) -> dict[str, Any]:
    """What a sweep would judge and what it would cost; makes no call and stores nothing.

    Raises:
        InputError: As the sweep would.
    """
    suite = await asyncio.to_thread(load_suite, request.suite)
    store = await asyncio.to_thread(open_store, request.store)
    source = await asyncio.to_thread(swept, store, request, suite)
    furniture = furnish_sweep(request, suite, store, source)
    async with furniture.stack:
        plan = draw_up_sweep(furniture, datetime.now(UTC))
        known = await asyncio.to_thread(sweeping.known_findings, store, plan, source)
        spent = await asyncio.to_thread(sweepcosts.spent_on_judging, store, source)
    return sweepcosts.forecast(plan, suite, known, furniture.prices, spent, furniture.hub.foresee)


def suite_of(store_uri: str | None, run: str, given: str | None) -> str:
    """The suite's folder of the run that somebody means; arguments and errors as ``suite_folder``'s."""
    (found,) = picked(open_store(store_uri or default_store()), (run,))
    return suite_folder(found, given)


def suite_folder(run: Picked, given: str | None) -> str:
    """The suite's folder of a stored run: the one given, else where it lay when the run was planned.

    Raises:
        InputError: If it is not there any more.
    """
    if given is not None:
        return given
    if run.suite_path is None or not (Path(run.suite_path) / "suite.yaml").is_file():
        msg = (
            f"run {run.run_id}: the suite {run.suite!r} is not at {run.suite_path!r} here: "
            "name its folder with --suite PATH"
        )
        raise InputError(msg)
    return run.suite_path


def _done(furniture: Furniture, plan: Plan, cells: set[CellKey]) -> Done:
    """All trials are there; they are read when a judge is free."""
    return Done(trials=_Readers(furniture.source.trials, plan), cells=frozenset(cells))


class _Readers(Mapping[tuple[str, int], Callable[[], Trial]]):
    """How to read each trial of a sweep; made when it is asked for, so that thousands cost nothing."""

    def __init__(self, stored: StoredTrials, plan: Plan) -> None:
        self._stored, self._run_id = stored, plan.run_id
        self._keys = {(case.case_id, number) for case, number in plan.trials()}

    def __getitem__(self, key: tuple[str, int]) -> Callable[[], Trial]:
        if key not in self._keys:
            raise KeyError(key)

        # As a record of this sweep: its scopes and ledger rows carry the sweep's id.
        def read() -> Trial:
            trial = self._stored.read(*key)
            return replace(trial, key=replace(trial.key, run_id=self._run_id))

        return read

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
