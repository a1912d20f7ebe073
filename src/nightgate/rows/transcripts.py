"""Transcripts: what was said, in parts of their own, so that reading trials stays cheap.

Owns the reference ``<part name>#<row>`` that stands in ``trials.transcript``. Knows no store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from nightgate.errors import DamagedError
from nightgate.rows.facts import RunFacts, transcript_row
from nightgate.rows.parts import Part, encode_parts
from nightgate.rows.schemas import TRANSCRIPTS
from nightgate.rows.tables import transcripts_table
from nightgate.trials import Trial

_ROW_GROUP_ROWS = 64
"""Small, so that one conversation can be read without unpacking all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcripts:
    """Encoded transcripts of a run.

    Attributes:
        parts: To put under ``transcripts/``.
        refs: (case id, trial, attempt) -> what ``facts.trial_row`` takes as ``transcript``.
    """

    parts: tuple[Part, ...]
    refs: Mapping[tuple[str, int, int], str]


def encode_transcripts(
    trials: Iterable[Trial], run: RunFacts, *, literals: Sequence[str] | None = None
) -> Transcripts:
    """Encode the transcripts of all trials that said anything.

    Args:
        trials: Of one run, in any order.
        run: Facts of the run.
        literals: Values to mask besides the patterns; those of the environment unless given.
    """
    spoken = [t for t in trials if t.messages or t.system_prompt is not None or t.tools_offered]
    table = transcripts_table(transcript_row(trial, run) for trial in spoken)
    parts = encode_parts(table, TRANSCRIPTS, literals=literals, row_group_rows=_ROW_GROUP_ROWS)
    places = [f"{part.name}#{row}" for part in parts for row in range(part.rows)]
    owners = zip(*(table.column(name).to_pylist() for name in ("case_id", "trial", "attempt")), strict=True)
    return Transcripts(parts=tuple(parts), refs=dict(zip(owners, places, strict=True)))


def split_ref(ref: str) -> tuple[str, int]:
    """Part name and row of a reference.

    Raises:
        DamagedError: If it is none.
    """
    name, mark, row = ref.rpartition("#")
    if not mark or not (row.isascii() and row.isdigit()):
        msg = f"no transcript reference: {ref!r}; expected 'part-....parquet#row'"
        raise DamagedError(msg)
    return name, int(row)


def transcript_at(table: pa.Table, row: int) -> dict[str, Any]:
    """One row of a decoded transcripts part.

    Raises:
        DamagedError: If the part has no such row.
    """
    if not 0 <= row < table.num_rows:
        msg = f"a transcripts part has {table.num_rows} rows, a trial points at row {row}"
        raise DamagedError(msg)
    found: dict[str, Any] = table.slice(row, 1).to_pylist()[0]
    return found
