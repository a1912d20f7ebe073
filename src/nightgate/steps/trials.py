"""One stored trial, wherever its record lies: in a committed part or in staging.

Owns the way from a run, a case and a number to the trial with its transcript. Of a committed run
only the transcript part that holds it is read. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightgate.cases.problems import did_you_mean
from nightgate.errors import DamagedError, InputError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import trial_from_row
from nightgate.rows.manifests import Manifest
from nightgate.rows.transcripts import split_ref, transcript_at
from nightgate.steps.collecting import collect
from nightgate.steps.reading import load_plan, manifest_of, rows_of, table_of
from nightgate.trials import Trial


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
    for part in manifest.of(keys.TRANSCRIPTS):
        if part.key.endswith(f"/{name}"):
            return transcript_at(table_of(store, manifest, part), place)
    msg = f"run {manifest.run_id}: the manifest names no transcripts part {name}"
    raise DamagedError(msg)
