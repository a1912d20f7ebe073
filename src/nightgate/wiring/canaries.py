"""A night's canaries: the judges of a run over frozen trials and planted attacks.

Owns the order of it: freeze what is missing, plan, judge anew, commit, tell, learn. The run that it
makes is opened, recorded and committed as any other; the judge cache is never read. Knows no command
line and no Prefect.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.calls import Call
from nightgate.canaries import Reference
from nightgate.cases import Suite, load_suite
from nightgate.errors import STOPPED_EXIT, ExitCode, InputError
from nightgate.plans import CANARY, Plan
from nightgate.ports import Store
from nightgate.recorder import bring_up, next_epoch, refuse_living
from nightgate.requests import RunRequest, default_store
from nightgate.rows import keys
from nightgate.rows.facts import call_from_row
from nightgate.runner import Done
from nightgate.steps import canarydocs, canaryplans, canaryrefs, planning
from nightgate.steps.canaryplans import Tonight
from nightgate.steps.canaryrefs import Night
from nightgate.steps.collecting import collect
from nightgate.steps.finishing import Finished, finish_run
from nightgate.steps.listing import resolve
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.wiring.canaryjudges import furnish_canaries, is_blind
from nightgate.wiring.furnishing import Furniture, open_recorder
from nightgate.wiring.rooms import Progress, opened, stopping_on_signals, work


async def judge_canaries(
    request: RunRequest,
    run_id: str,
    progress: Progress | None = None,
    *,
    suite: Suite | None = None,
    store: Store | None = None,
    beside: Sequence[str] = (),
) -> dict[str, Any] | None:
    """Judge the canaries of a committed run; called again for the same run it goes on, or only reads.

    Args:
        request: The run's own: suite, store, budget, prices, concurrency and spool are taken from it.
        run_id: The run.
        progress: Callbacks.
        suite: Where it is loaded already, whole.
        store: Where it is open already.
        beside: Other runs of the night whose money counts against the same cap.

    Returns:
        The document ``runs/<run_id>/canary.json`` (``steps.canarydocs``), stored. None where the suite
        has no canary case and nothing is frozen. What keeps the canaries from being judged, such as an
        open run or a judge that cannot be built, is said in the document.

    Raises:
        InputError: If another process here is judging the same canaries.
        StoreError: If the store refused; nothing is lost, the same call goes on later.
    """
    loaded = suite if suite is not None else await asyncio.to_thread(load_suite, request.suite)
    store = store if store is not None else await asyncio.to_thread(open_store, request.store)
    night_plan = await asyncio.to_thread(load_plan, store, run_id)
    marked = any(case.canary for case in loaded.cases)
    if not marked and await asyncio.to_thread(canaryrefs.reference_of, store, loaded.suite) is None:
        return None
    try:
        night = await asyncio.to_thread(canaryrefs.night_of, store, run_id)
        document = await _judged(request, loaded, store, night, progress or Progress(), beside)
    except _AtWorkError:
        raise
    except InputError as error:
        document = canarydocs.not_judged(run_id, night_plan.suite, str(error))
    await asyncio.to_thread(canarydocs.keep, store, document)
    return document


def exit_code(document: Mapping[str, Any] | None) -> int:
    """What ``nightgate canary`` answers: 0 no alarm, 1 alarm, 3 nothing was judged, 4 budget, 130."""
    if document is None:
        return ExitCode.INCONCLUSIVE
    if document["stopped"] in STOPPED_EXIT:
        return STOPPED_EXIT[document["stopped"]]
    if document["alarm"]:
        return ExitCode.FAILED
    seen = document["judged"] + document["first_looks"] + document["attacks"]["judged"]
    return ExitCode.OK if document["complete"] and seen else ExitCode.INCONCLUSIVE


async def freeze(request: RunRequest, run_id: str) -> Reference:
    """Freeze a run's canary trials anew; makes no call.

    Args:
        request: Suite and store.
        run_id: The run to take trials and verdicts from.

    Raises:
        InputError: If the run is open, or has no trial to freeze.
    """
    suite = await asyncio.to_thread(load_suite, request.suite)
    store = await asyncio.to_thread(open_store, request.store)
    night = await asyncio.to_thread(canaryrefs.night_of, store, run_id)
    return await asyncio.to_thread(canaryrefs.freeze_anew, store, suite, night, datetime.now(UTC))


def meant(store_uri: str | None, text: str, given: str | None) -> tuple[str, str]:
    """The suite's folder and the id of the run that a person means.

    Args:
        store_uri: The store; None: the usual one.
        text: A run id, ``latest`` or ``latest:SUITE``.
        given: The suite's folder, where it is not where it was.

    Raises:
        MissingError: If there is no such run.
        InputError: If the suite is not there any more.
    """
    store = open_store(store_uri or default_store())
    plan = load_plan(store, resolve(store, text))
    folder = given or plan.suite_path
    if folder is None or not (Path(folder) / "suite.yaml").is_file():
        msg = (
            f"run {plan.run_id}: suite {plan.suite!r} is not at {folder!r} here: name its folder with --suite"
        )
        raise InputError(msg)
    return folder, plan.run_id


class _AtWorkError(InputError):
    """Another process judges these canaries: what it finds must not be written over."""


async def _judged(
    request: RunRequest,
    suite: Suite,
    store: Store,
    night: Night,
    progress: Progress,
    beside: Sequence[str],
) -> dict[str, Any]:
    """Plan or take up the canary run, carry it out, tell."""
    stored, finished = await asyncio.to_thread(_stored, store, night.plan.run_id), None
    if stored is None or await asyncio.to_thread(manifest_of, store, stored) is None:
        capped = planning.kept_cap(night.plan, request)
        request = replace(request, budget_usd=capped)
        if request.budget_nanousd(None) == 0:
            raise InputError("the budget is 0 US dollars: no model call may be made")
        stored, finished = await _carried_out(request, suite, store, night, stored, progress, beside)
    return await asyncio.to_thread(_told, store, stored, finished)


def _stored(store: Store, run_id: str) -> Plan | None:
    name = canaryplans.canary_run_id(run_id)
    if keys.plan_key(name) not in store.find(keys.plan_key(name)):
        return None
    plan = load_plan(store, name)
    if plan.run_kind != CANARY:
        raise InputError(f"run id {name!r} is taken by a run of kind {plan.run_kind}")
    return plan


async def _carried_out(
    request: RunRequest,
    suite: Suite,
    store: Store,
    night: Night,
    stored: Plan | None,
    progress: Progress,
    beside: Sequence[str],
) -> tuple[Plan, Finished]:
    """The canary run's plan and what it came to once its judges have worked; open if they were stopped."""
    began, now = time.monotonic(), datetime.now(UTC)
    if stored is None:
        reference = await asyncio.to_thread(canaryrefs.freeze_missing, store, suite, night, now)
    else:
        reference = await asyncio.to_thread(_planned_with, store, stored)
    judged = await asyncio.to_thread(canaryplans.tonight, store, suite, night.plan, reference)
    if reference is None or not judged.cases:
        raise InputError(_why_nothing(judged))
    furniture = furnish_canaries(request, suite, store, night.plan, judged)
    try:
        plan = await _planned(furniture, night.plan, reference, judged, stored, now)
        calls = await asyncio.to_thread(_spent, store, [night.plan.run_id, *beside])
        own = await _opened(furniture, plan, joining=stored is not None)
        furniture.meter.recall(itertools.chain(calls, own[1]))
        readers = await asyncio.to_thread(canaryplans.readers, store, suite, plan)
    except BaseException:
        await furniture.stack.aclose()
        raise
    progress.on_plan(plan)
    progress.on_there(0, len(own[0]))
    done = Done(trials=readers, cells=frozenset(own[0]))
    room = opened(furniture, plan, done, progress, began)
    with stopping_on_signals(plan.run_id):
        try:
            await asyncio.gather(*(work(room, index) for index in range(len(room.shards))))
        except BaseException:
            await room.close()
            raise
        return plan, await room.finish()


def _why_nothing(judged: Tonight) -> str:
    reasons = "; ".join(f"{count} frozen trials left out: {why}" for why, count in judged.left_out.items())
    return reasons or (
        "nothing is frozen yet: no canary case of this run has a completed trial with a judge's verdict"
    )


def _planned_with(store: Store, stored: Plan) -> Reference:
    found = canaryrefs.reference_of(store, stored.suite, stored.sweep["reference"])
    assert found is not None
    return found


# --- plan, recorder, money ---


async def _planned(
    furniture: Furniture,
    night: Plan,
    reference: Reference,
    judged: Tonight,
    stored: Plan | None,
    now: datetime,
) -> Plan:
    """The plan, frozen before the first call; a stored one only if it would be the same today.

    Raises:
        InputError: If judges or cases have changed since the canary run was planned.
    """
    fresh = canaryplans.canary_plan(
        night,
        reference,
        judged,
        canaryplans.planned_evaluators(night, furniture.evaluators, set(furniture.evaluators)),
        blind=[name for name, registered in furniture.evaluators.items() if is_blind(registered)],
        budget_nanousd=furniture.budget.cap_nanousd,
        price_table=furniture.prices.version,
        now=now,
    )
    if stored is not None:
        planning.refuse_mixing(stored, fresh)
        return stored
    try:
        await asyncio.to_thread(planning.store_plan, furniture.store, fresh)
    except InputError as taken:
        msg = f"another process judges the canaries of {night.run_id} just now"
        raise _AtWorkError(msg) from taken
    return fresh


async def _opened(
    furniture: Furniture, plan: Plan, *, joining: bool
) -> tuple[set[tuple[str, int, str]], Iterable[Call]]:
    """Open the recorder; what was found and spent before, where the run is taken up."""
    if not joining:
        await open_recorder(furniture, plan, epoch=1)
        return set(), ()
    store, spool = furniture.store, furniture.request.spool_folder
    try:
        refuse_living(plan.run_id, spool)
    except InputError as living:
        raise _AtWorkError(str(living)) from living
    await asyncio.to_thread(bring_up, store, plan.run_id, spool)
    found = await asyncio.to_thread(collect, store, plan.run_id, sweep=True)
    calls = await asyncio.to_thread(found.calls)
    epoch = await asyncio.to_thread(next_epoch, store, plan.run_id)
    await open_recorder(furniture, plan, epoch=epoch)
    return set(found.cells), calls


def _spent(store: Store, runs: Iterable[str]) -> list[Call]:
    """The ledger of runs whose money counts against the same cap."""
    spent: list[Call] = []
    for run_id in runs:
        plan = load_plan(store, run_id)
        manifest = manifest_of(store, plan)
        if manifest is None:
            spent += collect(store, run_id).calls()
        else:
            spent += (call_from_row(row) for row in rows_of(store, manifest, keys.CALLS))
    return spent


# --- what it came to ---


def _told(store: Store, plan: Plan, finished: Finished | None) -> dict[str, Any]:
    """The document, and what the reference learns of a committed canary run."""
    summary = (finished or finish_run(store, plan.run_id)).summary.as_dict()
    reference = _planned_with(store, plan)
    found = canarydocs.statuses(store, plan)
    document = canarydocs.document(
        plan,
        reference,
        found,
        complete=summary["complete"],
        stopped=summary["stopped"],
        cost_usd=summary["cost_usd"]["total"],
    )
    if summary["complete"]:
        judged = canarydocs.judged_by(plan, reference, found)
        quiet = {} if document["drift"] else {canarydocs.judge_of(one.planned): one.flips for one in judged}
        canaryrefs.learn(
            store, reference, plan.run_id, datetime.now(UTC), looks=canarydocs.looks_of(judged), quiet=quiet
        )
    return document
