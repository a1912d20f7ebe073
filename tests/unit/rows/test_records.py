from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.calls import Call
from nightgate.errors import DamagedError
from nightgate.rows.records import Record, decode_record, encode_record, record_kind
from nightgate.trials import Ending, Trial, TrialKey
from rowgen import CALLS, RECORDS, TRIALS


@given(RECORDS)
def test_every_field_comes_back_exactly(record: Record) -> None:
    """A resumed run must judge and bill the very same trial."""
    back = decode_record(encode_record(record))

    assert back == record
    assert repr(back) == repr(record)


@given(RECORDS)
def test_a_record_is_one_line_of_json(record: Record) -> None:
    """The journal is split at line breaks, and people look into it with jq."""
    line = encode_record(record)

    assert b"\n" not in line
    assert json.loads(line)["kind"] == record_kind(line)


@given(RECORDS)
def test_the_first_raw_tab_stands_before_the_body(record: Record) -> None:
    """Redaction leaves what stands before it alone: ids have to stay verbatim."""
    head, tab, _ = encode_record(record).partition(b"\t")

    assert tab
    assert json.loads(head.rstrip(b",") + b"}")["case_id"] == (
        record.key.case_id if isinstance(record, Trial) else record.case_id
    )


@given(TRIALS, st.data())
def test_a_cut_line_is_damage_and_nothing_else(trial: Trial, data: st.DataObject) -> None:
    """A kill leaves half a line at the end of the journal."""
    line = encode_record(trial)
    cut = data.draw(st.integers(0, len(line) - 1))

    with pytest.raises(DamagedError):
        decode_record(line[:cut])


@given(CALLS)
def test_fields_of_a_newer_version_are_ignored(call: Call) -> None:
    """An older worker may read what a newer one staged."""
    data = json.loads(encode_record(call))
    data["future"] = data["body"]["future"] = 1

    assert decode_record(json.dumps(data).encode()) == call


@pytest.mark.parametrize("line", [b"", b"null", b"[]", b'{"kind":"other","body":{}}', b"\xff\xfe"])
def test_a_foreign_line_is_damage(line: bytes) -> None:
    """Whatever lies in the journal, reading it ends in our own error."""
    with pytest.raises(DamagedError):
        decode_record(line)


def test_a_lone_surrogate_in_the_output_comes_back() -> None:
    """Models do send them; refusing the record would lose a paid trial."""
    key = TrialKey(run_id="r", suite="s", case_id="c", trial=0)
    trial = Trial(key=key, ending=Ending.COMPLETED, output="cut \ud83d")

    assert decode_record(encode_record(trial)) == trial
