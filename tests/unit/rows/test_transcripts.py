from __future__ import annotations

import json
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nightgate.errors import DamagedError
from nightgate.rows.facts import CaseFacts, RunFacts, trial_from_row, trial_row
from nightgate.rows.parts import decode_part
from nightgate.rows.schemas import TRANSCRIPTS
from nightgate.rows.tables import table_rows, trials_table
from nightgate.rows.transcripts import TranscriptReader, encode_transcripts, split_ref, transcript_at
from nightgate.trials import Ending, Trial, TrialKey

RUN = RunFacts(run_id="r", suite="s", date=date(2026, 11, 29))


def trial(case_id: str, number: int, *texts: str) -> Trial:
    return Trial(
        key=TrialKey(run_id="r", suite="s", case_id=case_id, trial=number),
        ending=Ending.COMPLETED,
        messages=tuple({"role": "user", "content": [{"text": text}]} for text in texts),
    )


def test_a_reference_leads_to_the_words_of_its_trial() -> None:
    """The case page shows the conversation of exactly this trial."""
    trials = [trial("b", 1, "b1"), trial("a", 0, "a0", "again"), trial("b", 0, "b0")]
    stored = encode_transcripts(trials, RUN)
    parts = {part.name: part for part in stored.parts}

    for one in trials:
        key = one.key
        name, row = split_ref(stored.refs[key.case_id, key.trial, one.attempt])
        part = parts[name]
        table = decode_part(part.data, TRANSCRIPTS, rows=part.rows, nbytes=part.bytes, sha256=part.sha256)
        facts = CaseFacts(case_id=key.case_id, case_hash="")
        (stored_row,) = table_rows(trials_table([trial_row(one, RUN, facts)]))
        assert trial_from_row(stored_row, transcript_at(table, row)) == one


def test_a_trial_that_said_nothing_has_no_transcript() -> None:
    """Trials that never ran would fill the table with empty lists."""
    stored = encode_transcripts([trial("a", 0)], RUN)

    assert stored.parts == ()
    assert dict(stored.refs) == {}


@pytest.mark.parametrize("ref", ["", "part.parquet", "part.parquet#", "part.parquet#x", "part.parquet#-1"])
def test_a_text_that_is_no_reference_is_damage(ref: str) -> None:
    """Guessing would show another trial's words."""
    with pytest.raises(DamagedError):
        split_ref(ref)


def test_a_row_outside_of_its_part_is_damage() -> None:
    """Python would count from the end."""
    (part,) = encode_transcripts([trial("a", 0, "hi")], RUN).parts
    table = decode_part(part.data, TRANSCRIPTS, rows=1, nbytes=part.bytes, sha256=part.sha256)

    with pytest.raises(DamagedError):
        transcript_at(table, 1)


def test_a_reader_unpacks_only_the_row_group_that_it_is_asked_for() -> None:
    """A part may unpack to a hundred megabytes; a page needs one conversation at a time."""
    trials = [trial("a", n, f"answer {n}") for n in range(200)]
    encoded = encode_transcripts(trials, RUN, literals=())
    (part,) = encoded.parts
    reads: list[str] = []

    def read(name: str) -> bytes:
        reads.append(name)
        return part.data

    reader = TranscriptReader(read)
    refs = [encoded.refs["a", n, 1] for n in (0, 63, 64, 199)]

    assert [json.loads(reader.at(ref)["messages"])[0]["content"][0]["text"] for ref in refs] == [
        f"answer {n}" for n in (0, 63, 64, 199)
    ]
    assert reads == [part.name]
    assert pq.ParquetFile(pa.BufferReader(part.data)).metadata.num_row_groups == 4


@pytest.mark.parametrize("ref", ["part-1.parquet#200", "part-1.parquet", "part-1.parquet#x"])
def test_a_reader_refuses_a_reference_to_nothing(ref: str) -> None:
    """Another trial's words are worse than none."""
    trials = [trial("a", n, "hi") for n in range(200)]
    (part,) = encode_transcripts(trials, RUN, literals=()).parts

    with pytest.raises(DamagedError):
        TranscriptReader(lambda _: part.data).at(ref)


def test_a_reader_refuses_what_is_no_part() -> None:
    """Garbage under the right name is told by name."""
    with pytest.raises(DamagedError, match="transcripts"):
        TranscriptReader(lambda _: b"garbage").at("part-1.parquet#0")
