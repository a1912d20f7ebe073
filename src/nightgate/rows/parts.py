"""Parts: immutable Parquet objects, named after their own content.

Owns encoding in memory and checked decoding. Knows no store: a part is bytes with a name, put
once by somebody else. Never streams: a writer that is left by an exception would leave a valid,
short file behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from nightgate.errors import DamagedError
from nightgate.rows.redaction import redact
from nightgate.rows.schemas import Free, TableSchema
from nightgate.rows.tables import conform

_LEVEL = 3
_ROW_GROUP_ROWS = 64 * 1024
_PART_BYTES = 128 << 20
"""Arrow bytes of one part at most, unless one row alone has more."""
_MAX_EXPANDED_BYTES = 4 << 30
"""A part that unpacks to more is refused: 2 MB of Parquet can claim 20 GB."""
_BATCH_ROWS = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An encoded part.

    Attributes:
        name: ``part-<first 16 hex digits of the sha256>.parquet``.
        data: The whole object.
        sha256: Of ``data``, 64 hex digits.
        rows: How many it holds.
    """

    name: str
    data: bytes
    sha256: str
    rows: int

    @property
    def bytes(self) -> int:
        """Length of ``data``."""
        return len(self.data)


def encode_part(
    table: pa.Table,
    schema: TableSchema,
    *,
    literals: Sequence[str] | None = None,
    row_group_rows: int = _ROW_GROUP_ROWS,
) -> Part:
    """One part of a table; the same rows give the same bytes.

    Texts that are not ours are masked first, a column at a time.

    Args:
        table: In the declared schema, sorted (``tables.build_table``).
        schema: Its declaration.
        literals: Values to mask besides the patterns; those of the environment unless given.
        row_group_rows: Rows of a group: what a reader has to unpack at least.

    Raises:
        DamagedError: If the table does not conform to the schema.
    """
    masked = _masked(conform(table, schema), schema, literals)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        # Without metadata of Arrow's own: what is in the file is the declared schema, nothing else.
        masked.schema.remove_metadata(),
        store_schema=False,
        version="2.6",
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=True,
        write_statistics=True,
        write_page_index=True,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(masked.replace_schema_metadata(None), row_group_size=row_group_rows)
        writer.add_key_value_metadata(schema.metadata)
    data = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(data).hexdigest()
    return Part(name=f"part-{digest[:16]}.parquet", data=data, sha256=digest, rows=masked.num_rows)


def encode_parts(
    table: pa.Table,
    schema: TableSchema,
    *,
    literals: Sequence[str] | None = None,
    row_group_rows: int = _ROW_GROUP_ROWS,
    part_bytes: int = _PART_BYTES,
) -> list[Part]:
    """A table in as many parts as its size asks for, in row order; none for an empty table.

    Where it is cut depends on the rows alone.

    Args:
        table: As for ``encode_part``.
        schema: As for ``encode_part``.
        literals: As for ``encode_part``.
        row_group_rows: As for ``encode_part``.
        part_bytes: Arrow bytes of a part, about.
    """
    if not table.num_rows:
        return []
    count = max(1, -(-table.nbytes // part_bytes))
    step = max(1, -(-table.num_rows // count))
    return [
        encode_part(table.slice(start, step), schema, literals=literals, row_group_rows=row_group_rows)
        for start in range(0, table.num_rows, step)
    ]


def decode_part(data: bytes, schema: TableSchema, *, rows: int, nbytes: int, sha256: str) -> pa.Table:
    """The rows of a part, in the declared schema.

    Length, digest, row count and version are checked before anything is unpacked.

    Args:
        data: The whole object.
        schema: The declaration to read it with.
        rows: As the manifest has it.
        nbytes: As the manifest has it.
        sha256: As the manifest has it, 64 hex digits.

    Raises:
        DamagedError: If anything differs, or a newer major version wrote it.
    """
    checked_bytes(data, schema, nbytes=nbytes, sha256=sha256)
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        found = file.metadata
        schema.check_metadata(found.metadata)
        if found.num_rows != rows:
            msg = f"a part of {schema.name} has {found.num_rows} rows, its manifest says {rows}"
            raise DamagedError(msg)
        table = _unpacked(file, schema)
    except (pa.ArrowException, OSError) as error:
        msg = f"a part of {schema.name} cannot be read: {error}"
        raise DamagedError(msg) from error
    return conform(table, schema)


def checked_bytes(data: bytes, schema: TableSchema, *, nbytes: int, sha256: str) -> None:
    """Hold an object against its manifest.

    Raises:
        DamagedError: If its length or its digest differs.
    """
    if len(data) != nbytes:
        msg = f"a part of {schema.name} has {len(data)} bytes, its manifest says {nbytes}"
        raise DamagedError(msg)
    if hashlib.sha256(data).hexdigest() != sha256:
        msg = f"a part of {schema.name} differs from the sha256 in its manifest"
        raise DamagedError(msg)


def _unpacked(file: pq.ParquetFile, schema: TableSchema) -> pa.Table:
    groups = file.metadata.num_row_groups
    expanded = sum(file.metadata.row_group(i).total_byte_size for i in range(groups))
    names = [name for name in file.schema_arrow.names if name in schema.names]
    batches, size = [], 0
    if expanded <= _MAX_EXPANDED_BYTES:
        # The footer counts a repeated value once, so what comes out is counted as well.
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=names):
            size += batch.nbytes
            if size > _MAX_EXPANDED_BYTES:
                break
            batches.append(batch)
    if max(expanded, size) > _MAX_EXPANDED_BYTES:
        msg = f"a part of {schema.name} unpacks to more than {_MAX_EXPANDED_BYTES} bytes"
        raise DamagedError(msg)
    fields = [file.schema_arrow.field(name) for name in names]
    return pa.Table.from_batches(batches, pa.schema(fields))


def _masked(table: pa.Table, schema: TableSchema, literals: Sequence[str] | None) -> pa.Table:
    for i, column in enumerate(schema.columns):
        if column.free is not None:
            masked = redact(table.column(i), json_text=column.free is Free.JSON, literals=literals)
            table = table.set_column(i, table.schema.field(i), masked)
    return table
