from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.errors import DamagedError
from nightgate.rows.groups import decode_group, encode_group
from nightgate.rows.records import Record, decode_record, encode_record
from rowgen import RECORDS


@given(st.lists(RECORDS, max_size=5))
def test_records_come_back_in_order(records: list[Record]) -> None:
    """What was staged is what the finisher reads."""
    group = encode_group([encode_record(record) for record in records], literals=())

    assert [decode_record(line) for line in decode_group(group)] == records


@given(st.lists(st.just(b"{}") | st.just(b'{"a":1}'), min_size=1, max_size=5), st.data())
def test_any_altered_byte_is_noticed(lines: list[bytes], data: st.DataObject) -> None:
    """A finisher that reads damage as truth would commit it for ever."""
    group = bytearray(encode_group(lines, literals=()))
    position = data.draw(st.integers(0, len(group) - 1))
    group[position] ^= data.draw(st.integers(1, 255))

    try:
        found = decode_group(bytes(group))
    except DamagedError:
        return
    # A bit that zstd itself ignores (a reserved flag) may change and leave the text whole.
    assert found == lines


@given(st.lists(st.just(b'{"a":1}'), max_size=5), st.data())
def test_a_cut_group_is_damaged(lines: list[bytes], data: st.DataObject) -> None:
    """A copy that stopped half-way."""
    group = encode_group(lines, literals=())

    with pytest.raises(DamagedError):
        decode_group(group[: data.draw(st.integers(0, len(group) - 1))])


def test_a_group_that_claims_gigabytes_is_refused_before_it_is_unpacked() -> None:
    """A few bytes can ask for all memory there is."""
    group = bytearray(encode_group([b"{}"], literals=()))
    group[8:16] = (1 << 40).to_bytes(8, "big")

    with pytest.raises(DamagedError, match="claims"):
        decode_group(bytes(group))


def test_a_line_break_inside_of_a_record_is_refused() -> None:
    """It would come back as two records."""
    with pytest.raises(ValueError, match="line break"):
        encode_group([b'{"a":\n1}'])


def test_secrets_are_masked_before_anything_leaves_the_process() -> None:
    """Groups go to the bucket at once, long before parts are made."""
    line = json.dumps({"error": "401 for key sk-proj-aB3dE6gH9jK2mN5pQ8"}).encode()

    (stored,) = decode_group(encode_group([line]))

    assert json.loads(stored) == {"error": "401 for key [redacted]"}
