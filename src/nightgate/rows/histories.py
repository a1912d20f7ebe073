"""Many nights of counts in one table: compacted months, and the grids that trends are drawn from.

Owns the compacted object (derived from the summaries table, never trusted over manifests) and the way from
rows to arrays of case and evaluator by night. Works on whole columns: a year of 300 cases and five
evaluators is half a million rows. Knows no store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nightgate.errors import DamagedError
from nightgate.rows.manifests import PartRef
from nightgate.rows.parts import checked_bytes
from nightgate.rows.schemas import SUMMARIES

COUNTS = ("planned", "passed", "failed", "measured", "not_applicable", "error", "skipped")
_IDENTITY = ("case_hash", "evaluator_version", "judge_fingerprint")
_TEXTS = ("run_id", "case_id", "evaluator", "threshold", "stage")
_COLUMNS = (*_TEXTS, *_IDENTITY, *COUNTS, "not_applicable_required", "score_sum", "score_count")
_RUNS = b"nightgate.runs"
_FORM = b"nightgate.history"
_FORM_NOW = b"1"


def counts_of(data: bytes, part: PartRef) -> pa.Table:
    """The counts of one run, checked against its manifest first.

    Raises:
        DamagedError: If the bytes are not those that were committed.
    """
    checked_bytes(data, SUMMARIES, nbytes=part.bytes, sha256=part.sha256)
    try:
        # Digest and length are the manifest's: the pages need no second look.
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=_CODED)
        SUMMARIES.check_metadata(file.metadata.metadata)
        known = set(file.schema_arrow.names)
        there = [name for name in _COLUMNS if name in known]
        table = file.read(columns=there, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        msg = f"{part.key} cannot be read: {error}"
        raise DamagedError(msg) from error
    if table.num_rows != part.rows:
        msg = f"{part.key} has {table.num_rows} rows, its manifest says {part.rows}"
        raise DamagedError(msg)
    return _shaped(table)


def _shaped(table: pa.Table) -> pa.Table:
    """The columns in their order; those that older rows lack are null."""
    if table.schema.equals(_SCHEMA):
        return table
    known = set(table.column_names)
    arrays = [
        table.column(field.name).cast(field.type) if field.name in known
        else pa.nulls(table.num_rows, field.type)
        for field in _SCHEMA
    ]  # fmt: skip
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def _field(name: str) -> pa.Field:
    """A column's type here: texts repeat night for night, and stay coded from the file to the grid."""
    field = SUMMARIES.arrow.field(name).with_nullable(True)
    return field.with_type(_CODE) if pa.types.is_string(field.type) else field


_CODE = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema([_field(name) for name in _COLUMNS])
_CODED = [field.name for field in _SCHEMA if field.type == _CODE]


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of several."""
    return pa.concat_tables(tables) if tables else _SCHEMA.empty_table()


def compact(table: pa.Table, runs: Sequence[Mapping[str, Any]]) -> bytes:
    """A compacted object: the counts of some runs, and what is known of these runs."""
    sink = pa.BufferOutputStream()
    table = table.unify_dictionaries().combine_chunks()
    told = {_FORM: _FORM_NOW, _RUNS: json.dumps(list(runs)).encode()}
    pq.write_table(table.replace_schema_metadata(told), sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def expand(data: bytes) -> tuple[pa.Table, list[dict[str, Any]]]:
    """The counts and the runs behind a compacted object.

    Raises:
        DamagedError: If it is none of ours, or of another form: it is made again then.
    """
    try:
        # Not ``read_table``: it imports pyarrow.dataset, and with it pandas, which takes a second.
        table = pq.ParquetFile(pa.BufferReader(data)).read()
        told = table.schema.metadata or {}
        if told.get(_FORM) != _FORM_NOW:
            msg = "a compacted month of another version"
            raise DamagedError(msg)
        return _shaped(table), json.loads(told[_RUNS])
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        msg = f"no compacted month: {error}"
        raise DamagedError(msg) from error


def of_runs(table: pa.Table, runs: Sequence[str]) -> pa.Table:
    """The rows of some runs."""
    return table.filter(pa.array(_positions(table.column("run_id"), runs) >= 0))


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts of pairs by night; an entry of -1 is a hole: the night has no such row.

    Attributes:
        pairs: (case id, evaluator), sorted.
        counts: Name -> array of shape (pairs, nights); ``failed`` includes required findings that did not
            apply, ``judged`` is passed plus failed.
        identities: Column -> codes of its values, of the same shape.
        thresholds: The newest threshold of each pair.
        stages: The newest stage of each pair.
        scores: Sums and numbers of scores, of shape (pairs, nights).
    """

    pairs: list[tuple[str, str]]
    counts: dict[str, np.ndarray[Any, Any]]
    identities: dict[str, np.ndarray[Any, Any]]
    thresholds: list[str | None]
    stages: list[str | None]
    scores: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def grid(table: pa.Table, runs: Sequence[str]) -> Grid:
    """The rows of these runs, in this order of nights, as arrays.

    Args:
        table: Counts, of these runs at least.
        runs: Run ids, oldest first.
    """
    night = _positions(table.column("run_id"), runs)
    known = night >= 0
    if not known.all():
        table, night = table.filter(pa.array(known)), night[known]
    case, cases = _codes(table.column("case_id"))
    evaluator, evaluators = _codes(table.column("evaluator"))
    key = case * max(1, len(evaluators)) + evaluator
    unique, pair = np.unique(key, return_inverse=True)
    names = [(cases[k // len(evaluators)], evaluators[k % len(evaluators)]) for k in unique.tolist()]
    shape = (len(names), len(runs))

    def spread(values: np.ndarray[Any, Any], hole: float = -1) -> np.ndarray[Any, Any]:
        whole = np.full(shape, hole, dtype=values.dtype)
        whole[pair, night] = values
        return whole

    counts = {name: spread(_whole(table.column(name))) for name in COUNTS}
    required = spread(_whole(table.column("not_applicable_required")), 0)
    counts["failed"] = np.where(counts["failed"] < 0, -1, counts["failed"] + required)
    counts["judged"] = np.where(counts["passed"] < 0, -1, counts["passed"] + counts["failed"])
    sums = spread(_figures(table.column("score_sum")), 0.0)
    return Grid(
        pairs=names,
        counts=counts,
        identities={name: spread(_codes(table.column(name))[0]) for name in _IDENTITY},
        thresholds=_newest(table.column("threshold"), pair, night, shape),
        stages=_newest(table.column("stage"), pair, night, shape),
        scores=(sums, spread(_whole(table.column("score_count")), 0)),
    )


def _positions(column: pa.ChunkedArray, runs: Sequence[str]) -> np.ndarray[Any, Any]:
    """Where in ``runs`` each row's run stands; -1 where it does not."""
    codes, values = _codes(column)
    place = {run: i for i, run in enumerate(runs)}
    return np.asarray(np.array([place.get(value, -1) for value in values], dtype=np.int64)[codes])


def _codes(column: pa.ChunkedArray) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """A code for each value, in the order of the values; nulls have the highest."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    encoded = column.unify_dictionaries().combine_chunks()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = len(values)
    return rank[_filled(encoded.indices, len(values))], [*(values[i] for i in order), None]


def _whole(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    return _filled(column.combine_chunks(), 0)


def _filled(numbers: pa.Array, null: int) -> np.ndarray[Any, Any]:
    """Whole numbers, with something else for null. Not ``fill_null``: it imports pandas where it can."""
    found = np.asarray(numbers.to_numpy(zero_copy_only=False))
    return np.asarray(np.nan_to_num(found, nan=null) if numbers.null_count else found, dtype=np.int64)


def _figures(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    found = np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False))
    return np.asarray(np.nan_to_num(found, nan=0.0))


def _newest(
    column: pa.ChunkedArray,
    pair: np.ndarray[Any, Any],
    night: np.ndarray[Any, Any],
    shape: tuple[int, int],
) -> list[str | None]:
    """The value of each pair's last night."""
    codes, values = _codes(column)
    last = np.full(shape[0], -1, dtype=np.int64)
    order = np.argsort(night, kind="stable")
    last[pair[order]] = codes[order]
    return [values[code] if code >= 0 else None for code in last.tolist()]
