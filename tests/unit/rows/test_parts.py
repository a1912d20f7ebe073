from __future__ import annotations

import hashlib
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.errors import DamagedError
from nightgate.rows import parts
from nightgate.rows.parts import Part, decode_part, encode_part, encode_parts
from nightgate.rows.schemas import SCORES, TRIALS, VERSION_FIELD, TableSchema
from nightgate.rows.tables import build_table, scores_table, table_rows

NEEDED = {
    "run_id": "r",
    "suite": "s",
    "date": date(2026, 11, 29),
    "case_id": "c",
    "case_hash": "h",
    "evaluator": "E",
    "evaluator_version": 1,
    "status": "pass",
}


def scores(number: int, **changes: Any) -> pa.Table:
    return scores_table({**NEEDED, "trial": trial, **changes} for trial in range(number))


def read(part: Part, **claims: Any) -> pa.Table:
    return decode_part(
        part.data, SCORES, **{"rows": part.rows, "nbytes": part.bytes, "sha256": part.sha256, **claims}
    )


def sealed(table: pa.Table, metadata: dict[bytes, bytes]) -> Part:
    """A well-formed file that we did not write."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink)
    data = sink.getvalue().to_pybytes()
    return Part(name="part", data=data, sha256=hashlib.sha256(data).hexdigest(), rows=table.num_rows)


def test_a_part_comes_back_as_the_table_that_it_was() -> None:
    """Values, types, order and the schema's version."""
    table = scores(3, tags=["a", "b"], score=0.5, cost_nanousd=None)

    assert read(encode_part(table, SCORES)).equals(table, check_metadata=True)


def test_the_name_of_a_part_is_its_content() -> None:
    """Two writers of the same rows write one object, and nothing is ever overwritten."""
    part, again, other = (encode_part(scores(number), SCORES) for number in (3, 3, 4))

    assert part == again
    assert part.name == f"part-{hashlib.sha256(part.data).hexdigest()[:16]}.parquet" != other.name


def test_a_part_holds_the_declared_schema_and_nothing_of_its_writer() -> None:
    """Plain text, no dictionaries, zstd, page index, checksums: what every reader understands."""
    part = encode_part(scores(3, reason="fine"), SCORES)
    file = pq.ParquetFile(pa.BufferReader(part.data))

    assert file.metadata.metadata == {
        b"nightgate.table": b"scores",
        b"nightgate.schema": SCORES.version.encode(),
    }
    assert file.schema_arrow.equals(SCORES.arrow)
    chunk = file.metadata.row_group(0).column(0)
    assert chunk.compression == "ZSTD"
    assert chunk.has_column_index
    assert chunk.has_offset_index


def test_page_checksums_are_written_and_read() -> None:
    """A digest over the whole object does not help a reader of one column; the pages' own do."""
    part = encode_part(scores(3, reason="a fine reason"), SCORES)
    file = pq.ParquetFile(pa.BufferReader(part.data))
    place = SCORES.names.index("reason")
    chunk = file.metadata.row_group(0).column(place)
    damaged = bytearray(part.data)
    damaged[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1

    with pytest.raises(DamagedError):
        decode_part(
            bytes(damaged),
            SCORES,
            rows=part.rows,
            nbytes=len(damaged),
            sha256=hashlib.sha256(damaged).hexdigest(),
        )


@pytest.mark.parametrize("claims", [{"rows": 2}, {"rows": 4}, {"nbytes": 1}, {"sha256": "0" * 64}])
def test_a_part_that_differs_from_its_manifest_is_damaged(claims: dict[str, Any]) -> None:
    """A short object must never pass for a whole one."""
    with pytest.raises(DamagedError):
        read(encode_part(scores(3), SCORES), **claims)


@given(st.data())
def test_a_cut_part_is_damaged(data: st.DataObject) -> None:
    """A copy that stopped half-way, with a manifest made from the copy."""
    part = encode_part(scores(3), SCORES)
    cut = part.data[: data.draw(st.integers(0, part.bytes - 1))]

    with pytest.raises(DamagedError):
        decode_part(cut, SCORES, rows=3, nbytes=len(cut), sha256=hashlib.sha256(cut).hexdigest())


def test_a_newer_major_version_is_refused_by_name() -> None:
    """An old gate must not decide on rows that it cannot understand."""
    part = sealed(scores(1), {**SCORES.metadata, VERSION_FIELD: b"2.0"})

    with pytest.raises(DamagedError, match=r"scores schema 2\.0 was written by a newer nightgate"):
        read(part)


def test_a_newer_minor_version_is_read() -> None:
    """It has a column more; what is known of it is enough."""
    newer = scores(1, reason="fine").append_column("mood", pa.array(["good"]))

    table = read(sealed(newer, {**SCORES.metadata, VERSION_FIELD: b"1.7"}))

    assert table.schema.equals(SCORES.arrow, check_metadata=True)
    assert table_rows(table, ["reason"]) == [{"reason": "fine"}]


def test_an_older_version_without_a_column_is_read() -> None:
    """The column is null, in whatever order the parts are read."""
    older = sealed(scores(1).drop_columns(["details", "label"]), SCORES.metadata)
    now = encode_part(scores(1, label="good"), SCORES)

    assert pa.concat_tables([read(older), read(now)])["label"].to_pylist() == [None, "good"]
    assert pa.concat_tables([read(now), read(older)])["label"].to_pylist() == ["good", None]


@pytest.mark.parametrize("metadata", [{}, dict(TRIALS.metadata)])
def test_a_part_of_another_table_is_refused(metadata: dict[bytes, bytes]) -> None:
    """A wrong key in a manifest must not turn trials into scores."""
    with pytest.raises(DamagedError, match="table 'scores'"):
        read(sealed(scores(1), metadata))


def test_a_small_part_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that repeats costs nothing in the file and everything in memory."""
    monkeypatch.setattr(parts, "_MAX_EXPANDED_BYTES", 1 << 20)
    bomb = encode_part(scores(2000, reason="x" * 2000), SCORES, literals=())
    assert bomb.bytes < 100_000

    with pytest.raises(DamagedError, match="unpacks to more"):
        read(bomb)


def test_an_exception_while_encoding_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A streaming writer would have left a valid, short file under the published name."""
    written: list[int] = []
    real = pq.ParquetWriter.write_table

    def fail_on_second_group(self: pq.ParquetWriter, table: pa.Table, row_group_size: int) -> None:
        real(self, table.slice(0, 1), row_group_size)
        written.append(1)
        raise OSError("disk full")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail_on_second_group)

    with pytest.raises(OSError, match="disk full"):
        encode_part(scores(3), SCORES)
    assert written == [1]


def test_a_large_table_becomes_several_parts_in_row_order() -> None:
    """One conversation of a megabyte each, and a run has thousands."""
    table = scores(100, reason="x" * 1000)

    made = encode_parts(table, SCORES, part_bytes=20_000)

    assert len(made) > 3
    assert pa.concat_tables([read(part) for part in made]).equals(table)
    assert made == encode_parts(table, SCORES, part_bytes=20_000)


def test_no_rows_are_no_part() -> None:
    """An object without rows would only cost a request."""
    assert encode_parts(scores(0), SCORES) == []


@pytest.mark.parametrize("schema", [SCORES, TRIALS])
def test_secrets_are_masked_in_what_others_worded_and_nowhere_else(schema: TableSchema) -> None:
    """Ids of the user stay verbatim; answers, errors and reasons may hold anything."""
    secret = "api_key=aB3dE6gH9"
    row: dict[str, Any] = {**NEEDED, "trial": 0, "ending": "completed", "case_id": secret, "tags": [secret]}
    free = [column.name for column in schema.columns if column.free]
    row |= dict.fromkeys(free, f'{{"k": "{secret}"}}')
    table = build_table(schema, [{name: value for name, value in row.items() if name in schema.names}])
    part = encode_part(table, schema)

    (found,) = table_rows(decode_part(part.data, schema, rows=1, nbytes=part.bytes, sha256=part.sha256))

    assert {name for name in free if found[name] != '{"k": "api_key=[redacted]"}'} == set()
    assert found["case_id"] == secret
    assert found["tags"] == [secret]
