"""The cases of a run as they were played: trials and findings, case by case, from stored rows alone.

Owns the way from parts, or from staged records while a run is open, to a case at a time: memory holds the
rows as they are stored, and one case unpacked. Decides nothing and renders nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nightgate.errors import DamagedError, MissingError
from nightgate.plans import Plan, PlannedCase
from nightgate.ports import Store
from nightgate.reports.pages.values import PlayedCase
from nightgate.rows import keys
from nightgate.rows.casewise import CELL_COLUMNS, CaseRows
from nightgate.rows.facts import cell_from_row, trial_from_row
from nightgate.rows.manifests import Manifest
from nightgate.rows.parts import checked_bytes
from nightgate.rows.schemas import TRANSCRIPTS
from nightgate.rows.transcripts import TranscriptReader
from nightgate.scores import Cell
from nightgate.steps.collecting import collect
from nightgate.steps.reading import manifest_of, table_of
from nightgate.trials import Trial


def played_cases(store: Store, plan: Plan) -> Iterator[PlayedCase]:
    """All planned cases, sorted by id: the order in which they are stored.

    Args:
        store: Where the run lies.
        plan: Its plan.

    Raises:
        DamagedError: If trials or scores are not those that were committed. A transcript that cannot be read
            is told with its case.
    """
    manifest = manifest_of(store, plan)
    cases = sorted(plan.cases, key=lambda case: case.case_id)
    yield from _staged(store, plan, cases) if manifest is None else _committed(store, manifest, cases)


def _committed(store: Store, manifest: Manifest, cases: Iterable[PlannedCase]) -> Iterator[PlayedCase]:
    trials, scores = (
        CaseRows((table_of(store, manifest, part) for part in manifest.of(table)), columns)
        for table, columns in ((keys.TRIALS, None), (keys.SCORES, (*CELL_COLUMNS, "cost_nanousd")))
    )
    transcripts = _transcripts(store, manifest)
    for case in cases:
        troubles: dict[str, None] = {}
        played = {}
        for row in trials.of(case.case_id):
            played[row["trial"]] = trial_from_row(row, _transcript(transcripts, row["transcript"], troubles))
        rows = scores.of(case.case_id)
        yield PlayedCase(
            case=case,
            trials=played,
            cells={(row["trial"], row["evaluator"]): cell_from_row(row) for row in rows},
            judge_nanousd=_costs((row["trial"], row["cost_nanousd"]) for row in rows),
            troubles=tuple(troubles),
        )


def _transcripts(store: Store, manifest: Manifest) -> TranscriptReader:
    parts = {part.key.rpartition("/")[2]: part for part in manifest.of(keys.TRANSCRIPTS)}

    def read(name: str) -> bytes:
        part = parts.get(name)
        if part is None:
            msg = f"run {manifest.run_id}: its manifest names no transcripts part {name}"
            raise DamagedError(msg)
        data = store.read(part.key)
        checked_bytes(data, TRANSCRIPTS, nbytes=part.bytes, sha256=part.sha256)
        return data

    return TranscriptReader(read)


def _transcript(
    transcripts: TranscriptReader, ref: str | None, troubles: dict[str, None]
) -> Mapping[str, Any] | None:
    """What was said in a trial; None where it is not stored, or cannot be read: no figure needs it."""
    if ref is None:
        return None
    try:
        return transcripts.at(ref)
    except (DamagedError, MissingError) as error:
        troubles[f"a transcript cannot be read: {error}"] = None
        return None


def _costs(costs: Iterable[tuple[int, int | None]]) -> dict[int, int | None]:
    found: dict[int, int | None] = {}
    for trial, nanousd in costs:
        before = found.get(trial, 0)
        found[trial] = None if before is None or nanousd is None else before + nanousd
    return found


def _staged(store: Store, plan: Plan, cases: Iterable[PlannedCase]) -> Iterator[PlayedCase]:
    """The same of a run that is open, from what it has staged."""
    found = collect(store, plan.run_id)
    for case in cases:
        numbers = case.numbers or tuple(range(case.trials))
        wanted = [(number, name) for number in numbers for name in case.evaluators]
        trials: dict[int, Trial] = {
            number: found.trial(case.case_id, number)
            for number in numbers
            if (case.case_id, number) in found.trials
        }
        cells: dict[tuple[int, str], Cell] = {
            key: cell for key in wanted if (cell := found.cell(case.case_id, *key)) is not None
        }
        yield PlayedCase(
            case=case,
            trials=trials,
            cells=cells,
            judge_nanousd=_costs((trial, cell.cost_nanousd) for (trial, _), cell in cells.items()),
        )
