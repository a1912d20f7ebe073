"""The reference of a suite's canaries: frozen out of a night, grown by what judges say first.

Owns which trials are frozen and when the reference changes. Each change is a document of its own, put
once: of two nights that would freeze, one wins and the other takes what is there, and a result can
always be held against the reference that it was made with. Knows no adapter and no document of a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from nightgate.canaries import Flips, Frozen, Judge, Looks, Reference
from nightgate.canaries.references import SCHEMA
from nightgate.cases import Suite, case_hash
from nightgate.errors import ConflictError, DamagedError, InputError, MissingError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.jsondocs import (
    COUNT,
    FLAG,
    INTEGER,
    TEXT,
    DocumentKind,
    NewerDocumentError,
    OrNull,
)
from nightgate.rows.manifests import Manifest
from nightgate.scores import Status
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.trials import Ending

MOST_TRIALS = 5
"""Trials of one case that are frozen: more would cost every night and tell little more."""
_TRIES = 10
_NUMBER = re.compile(r"/([0-9]{6,})\.json$")
_KIND = DocumentKind(
    name="canary reference",
    schema=SCHEMA,
    shape={
        "suite": TEXT,
        "number": COUNT,
        "frozen_at": TEXT,
        "run_id": TEXT,
        "why": [TEXT],
        "trials": [{"run_id": TEXT, "case": TEXT, "trial": COUNT, "case_hash": TEXT}],
        "judges": [
            {
                "evaluator": TEXT,
                "version": INTEGER,
                "judge_fingerprint": OrNull(TEXT),
                "verdicts": [{"case": TEXT, "trial": COUNT, "passed": FLAG}],
                "nights": [{"run_id": TEXT, "judged": COUNT, "to_pass": COUNT, "to_fail": COUNT}],
            }
        ],
    },
    way_out=(
        "remove it: the number before it holds again, without what was learnt since; or freeze another run's "
        "trials with `nightgate canary RUN --freeze`"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A committed run whose canaries are meant."""

    plan: Plan
    manifest: Manifest


def night_of(store: Store, run_id: str) -> Night:
    """A run by its id.

    Raises:
        MissingError: If there is no such run.
        InputError: If it is open, or no run that played trials.
    """
    plan = load_plan(store, run_id)
    if plan.is_sweep:
        msg = f"run {run_id} is of kind {plan.run_kind} and played nothing: name the run {plan.source}"
        raise InputError(msg)
    manifest = manifest_of(store, plan)
    if manifest is None:
        msg = f"run {run_id} is open: go on with it first, then its canaries can be judged"
        raise InputError(msg)
    return Night(plan=plan, manifest=manifest)


def reference_of(store: Store, suite: str, number: int | None = None) -> Reference | None:
    """A reference of a suite by its number, or the one that holds; None when nothing is frozen.

    Raises:
        MissingError: If there is none of that number.
        NewerDocumentError: If a newer nightgate wrote it.
        DamagedError: If the document is none, or another one's.
    """
    holds = number if number is not None else _newest(store, suite)
    if not holds:
        return None
    key = keys.canary_key(suite, holds)
    try:
        data = store.read(key)
    except MissingError as error:
        msg = f"{key} is gone, and canaries were planned with it: restore it, or judge those of a later run"
        raise MissingError(msg) from error
    found = _KIND.read(data, key)
    if (found["suite"], found["number"]) != (suite, holds):
        raise _KIND.damaged(key, f"it is number {found['number']} of suite {found['suite']!r}")
    return Reference.from_dict(found)


def _newest(store: Store, suite: str) -> int:
    """The highest number; 0 when nothing is frozen. What else lies in the folder is nobody's reference."""
    found = (_NUMBER.search(key) for key in store.find(keys.canary_prefix(suite)))
    return max((int(match[1]) for match in found if match is not None), default=0)


def freeze_missing(store: Store, suite: Suite, night: Night, now: datetime) -> Reference | None:
    """See to it that every canary case of the night has frozen trials; take the night's where not.

    An edited case drops out with its old trials. Verdicts of the night's own judges over newly frozen
    trials are their reference.

    Args:
        store: Where everything lies.
        suite: With all its cases.
        night: The run to take trials from.
        now: When.

    Returns:
        The reference that holds; None when there is nothing frozen and nothing to freeze.
    """
    return _changed(
        store, suite.suite, night.plan.run_id, now, lambda last: _with_missing(store, suite, night, last)
    )


def freeze_anew(store: Store, suite: Suite, night: Night, now: datetime) -> Reference:
    """Drop what was frozen and take the night's trials and verdicts instead.

    A last reference that is damaged is passed over; one of a newer nightgate is not.

    Raises:
        InputError: If the night has no canary trial with a judge's verdict.
        NewerDocumentError: If a newer nightgate wrote the last reference.
    """

    def anew(last: Reference) -> Reference:
        fresh = _with_missing(store, suite, night, replace(last, trials=(), looks={}, nights={}, why=()))
        if not fresh.trials:
            msg = (
                f"run {night.plan.run_id} has no trial to freeze: mark cases `canary: true` that a judge "
                "evaluator looks at, and run the suite with its judge"
            )
            raise InputError(msg)
        return replace(fresh, why=("frozen anew by hand", *fresh.why))

    made = _changed(store, suite.suite, night.plan.run_id, now, anew, last_of=_last_or_none)
    assert made is not None
    return made


def learn(
    store: Store, used: Reference, run_id: str, now: datetime, *, looks: Looks, quiet: Mapping[Judge, Flips]
) -> Reference | None:
    """Keep what a canary run adds: first looks, and nights by which flip rates are measured.

    Args:
        store: Where the reference lies.
        used: The reference that the canary run was planned with; what has been frozen anew since
            learns nothing from it.
        run_id: The canary run.
        now: When.
        looks: All verdicts of the run over frozen trials; those that have a reference change nothing.
        quiet: What the night came to by judge, where it was no alarm.
    """

    def grown(last: Reference) -> Reference:
        same = {(trial.case, trial.trial) for trial in set(used.trials) & set(last.trials)}
        told = {
            judge: {key: passed for key, passed in said.items() if key in same}
            for judge, said in looks.items()
        }
        found = last.seen(told)
        if same:
            found = found.measured(run_id, quiet)
        news = [f"first look of {judge.evaluator}" for judge in found.looks if judge not in last.looks]
        return replace(found, why=tuple(news) or ("measured one more night",))

    return _changed(store, used.suite, run_id, now, grown)


def _last_or_none(store: Store, suite: str) -> Reference | None:
    try:
        return reference_of(store, suite)
    except NewerDocumentError:
        raise
    except DamagedError:
        return None


def _changed(
    store: Store,
    suite: str,
    run_id: str,
    now: datetime,
    change: Callable[[Reference], Reference],
    *,
    last_of: Callable[[Store, str], Reference | None] = reference_of,
) -> Reference | None:
    """Put the next reference unless nothing changes; begin again where another one was first."""
    for _ in range(_TRIES):
        newest, last = _newest(store, suite), last_of(store, suite)
        stamp = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        base = last or Reference(suite=suite, number=newest, frozen_at=stamp, run_id=run_id, why=())
        found = change(base)
        if (found.trials, found.looks, found.nights) == (base.trials, base.looks, base.nights):
            return last
        since = stamp if found.trials != base.trials else base.frozen_at
        found = replace(found, number=base.number + 1, frozen_at=since, run_id=run_id)
        data = json.dumps(found.to_dict(), ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
        try:
            store.create(keys.canary_key(suite, found.number), data)
        except ConflictError:
            continue
        return found
    msg = f"{keys.canary_prefix(suite)}: {_TRIES} others were first; judge the canaries again later"
    raise ConflictError(msg)


def _with_missing(store: Store, suite: Suite, night: Night, last: Reference) -> Reference:
    hashes = {case.id: case_hash(case) for case in suite.cases if case.canary}
    frozen = {trial.case: trial.case_hash for trial in last.trials}
    wanted = {
        case.case_id: case.case_hash
        for case in night.plan.cases
        if hashes.get(case.case_id) == case.case_hash and frozen.get(case.case_id) != case.case_hash
    }
    if not wanted:
        return last
    looks = _verdicts(store, night, wanted)
    judged = {key for said in looks.values() for key in said}
    taken: dict[str, list[Frozen]] = {}
    rows = rows_of(store, night.manifest, keys.TRIALS, ("case_id", "trial", "case_hash", "ending"))
    for row in sorted(rows, key=lambda row: (row["case_id"], row["trial"])):
        case, number = row["case_id"], row["trial"]
        mine = taken.setdefault(case, [])
        usable = (case, number) in judged and Ending(row["ending"]) is Ending.COMPLETED
        if usable and row["case_hash"] == wanted[case] and len(mine) < MOST_TRIALS:
            mine.append(Frozen(night.plan.run_id, case, number, row["case_hash"]))
    taken = {case: trials for case, trials in taken.items() if trials}
    kept = last.without(taken)
    order = {case.id: place for place, case in enumerate(suite.cases)}
    trials = [*kept.trials, *(trial for found in taken.values() for trial in found)]
    trials.sort(key=lambda trial: (order.get(trial.case, len(order)), trial.case, trial.trial))
    return replace(kept, trials=tuple(trials), why=tuple(_news(taken, frozen))).seen(looks)


def _news(taken: Mapping[str, list[Frozen]], frozen: Mapping[str, str]) -> list[str]:
    said = []
    for case, trials in taken.items():
        was = "was edited: its frozen trials dropped out" if case in frozen else "is new"
        said.append(f"case {case!r} {was}, {len(trials)} of this run frozen")
    return said


def _verdicts(store: Store, night: Night, cases: Mapping[str, str]) -> Looks:
    """What the night's judges said of these cases."""
    # In a run a panel's member keeps its column's name; verdicts are its evaluator's all the same.
    asking = {
        (name, e.judge_fingerprint): e.evaluator
        for e in night.plan.evaluators
        if e.asks
        for name in (e.name, e.evaluator)
    }
    found: dict[Judge, dict[tuple[str, int], bool]] = {}
    columns = ("case_id", "trial", "evaluator", "evaluator_version", "judge_fingerprint", "status")
    for row in rows_of(store, night.manifest, keys.SCORES, columns):
        status = Status(row["status"])
        evaluator = asking.get((row["evaluator"], row["judge_fingerprint"]))
        if evaluator is not None and status.judged and row["case_id"] in cases:
            judge = Judge(evaluator, row["evaluator_version"], row["judge_fingerprint"])
            found.setdefault(judge, {})[row["case_id"], row["trial"]] = status is Status.PASS
    return found
