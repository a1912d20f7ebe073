"""Rows as Arrow tables: checked, sorted, in the declared schema.

Owns the way from row mappings to a table and back. Knows no file format and no store. The types of
values are checked here, because pyarrow turns 1.5 into 1, True into 1.0 and a time without zone
into UTC in silence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from nightgate.errors import DamagedError
from nightgate.rows.schemas import CALLS, SCORES, SUMMARIES, TRANSCRIPTS, TRIALS, Column, TableSchema

Row = Mapping[str, Any]


def scores_table(rows: Iterable[Row]) -> pa.Table:
    """One row a planned cell; see ``build_table``."""
    return build_table(SCORES, rows)


def trials_table(rows: Iterable[Row]) -> pa.Table:
    """One row a trial; see ``build_table``."""
    return build_table(TRIALS, rows)


def calls_table(rows: Iterable[Row]) -> pa.Table:
    """One row a call and attempt; see ``build_table``."""
    return build_table(CALLS, rows)


def transcripts_table(rows: Iterable[Row]) -> pa.Table:
    """One row a trial; see ``build_table``."""
    return build_table(TRANSCRIPTS, rows)


def summaries_table(rows: Iterable[Row]) -> pa.Table:
    """One row a case and evaluator; see ``build_table``."""
    return build_table(SUMMARIES, rows)


def build_table(schema: TableSchema, rows: Iterable[Row]) -> pa.Table:
    """A table in the declared schema, sorted by the schema's order.

    Args:
        schema: One of ``schemas.TABLES``.
        rows: Column name -> value. Columns that are missing are null.

    Raises:
        TypeError: If a value has another type than its column, a required one is null, or a
            column is unknown; names table and column.
    """
    listed = list(rows)
    known = frozenset(schema.names)
    for row in listed:
        if not known.issuperset(row):
            msg = f"{schema.name}: no column {min(set(row) - known)!r}"
            raise TypeError(msg)
    columns = {column.name: [row.get(column.name) for row in listed] for column in schema.columns}
    for column in schema.columns:
        _check_kinds(schema, column, columns[column.name])
    order = _order(schema, columns)
    arrays = [_array(schema, column, columns[column.name], order) for column in schema.columns]
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def conform(table: pa.Table, schema: TableSchema) -> pa.Table:
    """A table that was read, in the declared schema.

    Nullable columns that it lacks become null, columns that the schema does not know are left
    out, narrower types are widened.

    Raises:
        DamagedError: If a required column is missing or has nulls, or a type cannot be widened.
    """
    arrays = []
    for column, field in zip(schema.columns, schema.arrow, strict=True):
        if column.name not in table.column_names:
            if column.required:
                msg = f"{schema.name}: the required column {column.name!r} is missing"
                raise DamagedError(msg)
            arrays.append(pa.nulls(table.num_rows, field.type))
            continue
        values = table.column(column.name)
        if column.required and values.null_count:
            msg = f"{schema.name}.{column.name}: {values.null_count} nulls in a required column"
            raise DamagedError(msg)
        arrays.append(_widened(schema, column, values))
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def table_rows(table: pa.Table, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The rows of a table as mappings, in order; times are aware and in UTC.

    Args:
        table: In a declared schema.
        columns: Only these; all unless given.
    """
    rows: list[dict[str, Any]] = (table if columns is None else table.select(list(columns))).to_pylist()
    return rows


def _widened(schema: TableSchema, column: Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    if values.type == column.type:
        return values
    try:
        return values.cast(column.type, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        msg = f"{schema.name}.{column.name}: {values.type} in the file, {column.type} declared: {error}"
        raise DamagedError(msg) from error


def _order(schema: TableSchema, columns: Mapping[str, list[Any]]) -> list[int]:
    """Positions of the rows in the schema's order; it does not depend on the order they came in."""
    nullable = [[(value is not None, value) for value in columns[name]] for name in schema.order]
    keys = list(zip(*nullable, strict=True))
    if len(set(keys)) < len(keys):
        # Rows that share their identity (two sweeps of one cell) are ordered by all they hold.
        whole = list(zip(*columns.values(), strict=True))
        keys = [(*key, repr(row)) for key, row in zip(keys, whole, strict=True)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _array(
    schema: TableSchema, column: Column, unordered: list[Any], order: Sequence[int]
) -> pa.Array | pa.ChunkedArray:
    values = [unordered[i] for i in order]
    try:
        return pa.array(values, column.type)
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], column.type)
    except (pa.ArrowException, OverflowError) as error:
        msg = f"{schema.name}.{column.name}: {error}"
        raise TypeError(msg) from error


def _check_kinds(schema: TableSchema, column: Column, values: list[Any]) -> None:
    """One set of types a column is cheap; the slow search runs only where something is wrong."""
    kinds = set(map(type, values))
    kinds.discard(type(None))
    fits = _fits(column.type)
    wrong = {kind for kind in kinds if not fits(kind)}
    position = next((i for i, value in enumerate(values) if type(value) in wrong), None)
    if position is None and column.required:
        position = next((i for i, value in enumerate(values) if value is None), None)
    if position is None:
        position = _bad_value(column.type, values)
    if position is not None:
        value = values[position]
        msg = (
            f"{schema.name}.{column.name}: row {position} has {value!r:.80} ({type(value).__name__}),"
            f" the column holds {'required ' if column.required else ''}{column.type}"
        )
        raise TypeError(msg)


def _fits(kind: pa.DataType) -> Callable[[type], bool]:
    if pa.types.is_string(kind):
        return lambda t: issubclass(t, str)
    if pa.types.is_boolean(kind):
        return lambda t: t is bool
    if pa.types.is_integer(kind):
        return lambda t: issubclass(t, int) and t is not bool
    if pa.types.is_floating(kind):
        return lambda t: issubclass(t, int | float) and t is not bool
    if pa.types.is_timestamp(kind):
        return lambda t: issubclass(t, datetime)
    if pa.types.is_date(kind):
        return lambda t: issubclass(t, date) and not issubclass(t, datetime)
    return lambda t: issubclass(t, list | tuple)


def _bad_value(kind: pa.DataType, values: list[Any]) -> int | None:
    """Position of a value of the right type that still may not be stored."""
    if pa.types.is_floating(kind):
        found = (i for i, v in enumerate(values) if v is not None and not math.isfinite(v))
    elif pa.types.is_timestamp(kind):
        found = (i for i, v in enumerate(values) if v is not None and v.utcoffset() is None)
    elif pa.types.is_list(kind):
        found = (i for i, v in enumerate(values) if v is not None and not all(isinstance(x, str) for x in v))
    else:
        return None
    return next(found, None)


def _encodable(value: Any) -> Any:
    """Text without lone surrogates, which Parquet cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
