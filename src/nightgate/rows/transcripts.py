"""Transcripts: what was said, in parts of their own, so that reading trials stays cheap.

Owns the reference ``<part name>#<row>`` that stands in ``trials.transcript``. Knows no store.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nightgate.errors import DamagedError
from nightgate.rows.facts import RunFacts, transcript_row
from nightgate.rows.parts import Part, encode_parts
from nightgate.rows.schemas import TRANSCRIPTS
from nightgate.rows.tables import conform, transcripts_table
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


class TranscriptReader:
    """Transcripts by their references; only the row group that holds one is unpacked.

    A part may unpack to a hundred megabytes, a row group has 64 conversations. Whoever asks in the order of
    the parts (by case) unpacks each group once.

    Args:
        read: Part name -> its bytes, held against the manifest already (``parts.checked_bytes``).
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._file = lru_cache(maxsize=_OPEN_PARTS)(lambda name: _opened(read(name)))
        self._group = lru_cache(maxsize=_OPEN_GROUPS)(
            lambda name, number: _unpacked(self._file(name), number)
        )

    def at(self, ref: str) -> dict[str, Any]:
        """The row behind a reference.

        Raises:
            DamagedError: If there is none, or its part is not what it should be.
        """
        name, row = split_ref(ref)
        ends = self._file(name)[1]
        number = bisect_right(ends, row)
        if number >= len(ends):
            msg = f"a transcripts part has {ends[-1] if ends else 0} rows, a trial points at row {row}"
            raise DamagedError(msg)
        return transcript_at(self._group(name, number), row - (ends[number - 1] if number else 0))


_OPEN_PARTS = 4
_OPEN_GROUPS = 4


def _opened(data: bytes) -> tuple[pq.ParquetFile, list[int]]:
    """A part, and the number of rows up to the end of each of its groups."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        msg = f"a part of {TRANSCRIPTS.name} cannot be read: {error}"
        raise DamagedError(msg) from error
    found = file.metadata
    TRANSCRIPTS.check_metadata(found.metadata)
    return file, list(accumulate(found.row_group(i).num_rows for i in range(found.num_row_groups)))


def _unpacked(opened: tuple[pq.ParquetFile, list[int]], number: int) -> pa.Table:
    file, _ = opened
    try:
        names = [name for name in file.schema_arrow.names if name in TRANSCRIPTS.names]
        return conform(file.read_row_group(number, columns=names), TRANSCRIPTS)
    except (pa.ArrowException, OSError) as error:
        msg = f"a part of {TRANSCRIPTS.name} cannot be read: {error}"
        raise DamagedError(msg) from error
