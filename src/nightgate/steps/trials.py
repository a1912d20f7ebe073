"""Stored trials, wherever their records lie: in committed parts or in staging.

Owns the way from a run, a case and a number to the trial with its transcript. Of a committed run
only the parts that hold it are read. Decides nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from sys import intern
from typing import Any

from nightgate.cases.problems import did_you_mean
from nightgate.errors import DamagedError, InputError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import trial_from_row
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.rows.tables import table_rows
from nightgate.rows.transcripts import split_ref, transcript_at
from nightgate.steps.collecting import collect
from nightgate.steps.reading import load_plan, manifest_of, rows_of, table_of
from nightgate.trials import Ending, Trial

INDEX = ("case_id", "trial", "case_hash", "ending", "tags", "layer", "stage")
_KEPT_PARTS = 8
"""Of trials and of their transcripts: shards walk through them in the same order, but not in step."""


def stored_trial(store: Store, run_id: str, case_id: str | None, number: int) -> tuple[Trial, bool]:
    """A trial of a run, with its messages.

    Args:
        store: Where the run lies.
        run_id: The run, open or committed.
        case_id: The case; None is refused with the list of the run's cases.
        number: The trial, from 0.

    Returns:
        The trial, and whether its run is committed.

    Raises:
        MissingError: If there is no such run.
        InputError: If the run has no such case or trial, or the run is open and has not played it yet.
        DamagedError: If what was committed is gone or is not what was committed.
    """
    plan = load_plan(store, run_id)
    case_id = _planned(plan, case_id, number)
    manifest = manifest_of(store, plan)
    if manifest is not None:
        return _committed(store, manifest, case_id, number), True
    found = collect(store, run_id)
    if (case_id, number) not in found.trials:
        msg = (
            f"run {run_id} is open and trial {number} of {case_id!r} has not been played; "
            f"go on with `nightgate run SUITE --resume {run_id}`"
        )
        raise InputError(msg)
    return found.trial(case_id, number), False


def completed_trials(store: Store, run_id: str, case_id: str) -> list[int]:
    """Numbers of the trials of a case that completed, in a run that is open or committed.

    Raises:
        MissingError: If there is no such run.
        DamagedError: If what was committed is gone or is not what was committed.
    """
    plan = load_plan(store, run_id)
    manifest = manifest_of(store, plan)
    if manifest is not None:
        rows = rows_of(store, manifest, keys.TRIALS)
        ended = {row["trial"]: row["ending"] for row in rows if row["case_id"] == case_id}
    else:
        found = collect(store, run_id)
        numbers = [number for case, number in found.trials if case == case_id]
        ended = {number: found.trial(case_id, number).ending for number in numbers}
    return sorted(number for number, ending in ended.items() if ending == Ending.COMPLETED)


def _planned(plan: Plan, case_id: str | None, number: int) -> str:
    """The case, once the plan has it and that many trials of it."""
    planned = {case.case_id: case.trials for case in plan.cases}
    if case_id is None:
        names = "".join(f"\n  {name}" for name in planned)
        msg = f"run {plan.run_id}: name the case with --case; it has{names}"
        raise InputError(msg)
    if case_id not in planned:
        msg = f"run {plan.run_id}: no case {case_id!r}{did_you_mean(case_id, planned)}"
        raise InputError(msg)
    if not 0 <= number < planned[case_id]:
        msg = f"run {plan.run_id}: case {case_id!r} has trials 0 to {planned[case_id] - 1}, not {number}"
        raise InputError(msg)
    return case_id


def _committed(store: Store, manifest: Manifest, case_id: str, number: int) -> Trial:
    rows = rows_of(store, manifest, keys.TRIALS)
    row = next((row for row in rows if (row["case_id"], row["trial"]) == (case_id, number)), None)
    if row is None:
        msg = f"run {manifest.run_id}: no row of trial {number} of case {case_id!r}"
        raise DamagedError(msg)
    return trial_from_row(row, _transcript(store, manifest, row["transcript"]))


def _transcript(store: Store, manifest: Manifest, ref: str | None) -> Mapping[str, Any] | None:
    if not ref:
        return None
    name, place = split_ref(ref)
    return transcript_at(table_of(store, manifest, _transcripts_part(manifest, name)), place)


def _transcripts_part(manifest: Manifest, name: str) -> PartRef:
    for part in manifest.of(keys.TRANSCRIPTS):
        if part.key.endswith(f"/{name}"):
            return part
    msg = f"run {manifest.run_id}: the manifest names no transcripts part {name}"
    raise DamagedError(msg)


def _once(value: Any) -> Any:
    """Thousands of rows hold the same few texts: each is kept once."""
    return intern(value) if isinstance(value, str) else value


class StoredTrials:
    """The trials of a committed run, read one by one when they are asked for.

    Keeps an index of all of them (case id, number, case hash, ending) and the last few parts that were
    read, so that memory does not grow with the run. Safe to be asked from several threads.

    Args:
        store: Where the run lies.
        manifest: Its commit.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store, self._manifest = store, manifest
        self._lock = threading.Lock()
        self._tables: OrderedDict[str, Any] = OrderedDict()
        self._places: dict[tuple[str, int], tuple[PartRef, int]] = {}
        self.index: dict[tuple[str, int], dict[str, Any]] = {}
        """(case id, number) -> the columns of ``INDEX``, in the order of the parts."""
        for part in manifest.of(keys.TRIALS):
            for place, read in enumerate(table_rows(table_of(store, manifest, part), INDEX)):
                row = {name: _once(value) for name, value in read.items()}
                key = (row["case_id"], row["trial"])
                self._places[key], self.index[key] = (part, place), row

    def read(self, case_id: str, number: int) -> Trial:
        """One trial with its messages.

        Raises:
            DamagedError: If what was committed is gone or is not what was committed.
        """
        part, place = self._places[case_id, number]
        row = transcript_at(self._table(part), place)
        return trial_from_row(row, self._spoken(row["transcript"]))

    def _spoken(self, ref: str | None) -> Mapping[str, Any] | None:
        if not ref:
            return None
        name, place = split_ref(ref)
        return transcript_at(self._table(_transcripts_part(self._manifest, name)), place)

    def _table(self, part: PartRef) -> Any:
        with self._lock:
            if part.key not in self._tables:
                self._tables[part.key] = table_of(self._store, self._manifest, part)
                if len(self._tables) > _KEPT_PARTS:
                    self._tables.popitem(last=False)
            self._tables.move_to_end(part.key)
            return self._tables[part.key]
