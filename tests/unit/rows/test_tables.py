from __future__ import annotations

import random
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.errors import DamagedError
from nightgate.rows.schemas import SCORES, TABLES, TableSchema
from nightgate.rows.tables import build_table, conform, scores_table, table_rows

DAY = date(2026, 11, 29)
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def score(**changes: Any) -> dict[str, Any]:
    """A row with what is required."""
    return {
        "run_id": "r",
        "suite": "s",
        "date": DAY,
        "case_id": "c",
        "case_hash": "h",
        "trial": 0,
        "evaluator": "E",
        "evaluator_version": 1,
        "status": "pass",
        **changes,
    }


@pytest.mark.parametrize("schema", TABLES.values(), ids=TABLES)
def test_an_empty_table_has_the_declared_schema(schema: TableSchema) -> None:
    """Types never follow from values."""
    assert build_table(schema, []).schema.equals(schema.arrow, check_metadata=True)


def test_shards_with_other_values_have_the_same_schema() -> None:
    """Whole scores and null errors in one shard, fractions and an error in the other."""
    first = scores_table([score(score=1, reason=None), score(trial=1, score=0)])
    second = scores_table([score(score=0.5, reason="boom", tags=["x"])])

    assert first.schema.equals(second.schema, check_metadata=True)
    assert pa.concat_tables([first, second]).num_rows == pa.concat_tables([second, first]).num_rows == 3


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("score", "0.5"),
        ("score", True),
        ("score", float("nan")),
        ("score", float("inf")),
        ("trial", 1.5),
        ("trial", 1.0),
        ("trial", True),
        ("trial", "0"),
        ("trial", 2**31),
        ("cost_nanousd", 2**63),
        ("cost_nanousd", 0.1),
        ("passed", 1),
        ("reason", 5),
        ("reason", b"text"),
        ("tags", "text"),
        ("tags", [1]),
        ("date", NOON),
        ("date", "2026-11-29"),
        ("scored_at", datetime(2026, 11, 29)),  # noqa: DTZ001 - the point
        ("scored_at", DAY),
        ("scored_at", 0),
        ("case_id", None),
        ("run_id", None),
    ],
)
def test_a_wrong_value_is_refused_and_its_column_named(column: str, value: Any) -> None:
    """Arrow itself turns 1.5 into 1, True into 1.0 and local time into UTC without a word."""
    with pytest.raises(TypeError, match=rf"scores\.{column}"):
        scores_table([score(), score(**{column: value})])


def test_an_unknown_column_is_refused() -> None:
    """A misspelt name would be a column of nulls."""
    with pytest.raises(TypeError, match="no column 'scoer'"):
        scores_table([score(scoer=1.0)])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "ü"]),
            st.integers(0, 3),
            st.sampled_from("EF"),
            st.none() | st.text("xy"),
        )
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_is_that_of_the_schema(rows: list[tuple[Any, ...]], chance: random.Random) -> None:
    """Two finishers collect the same rows in different orders."""
    listed = [score(case_id=c, trial=t, evaluator=e, judge_fingerprint=j) for c, t, e, j in rows]
    shuffled = listed[:]
    chance.shuffle(shuffled)

    assert scores_table(listed).equals(scores_table(shuffled))
    found = [(row["case_id"], row["trial"], row["evaluator"]) for row in table_rows(scores_table(listed))]
    assert found == sorted(found)


def test_lone_surrogates_become_the_replacement_character() -> None:
    """Parquet text is UTF-8; a broken character must not lose the row."""
    table = scores_table([score(reason="cut \ud83d", tags=["\ud83d"], label="\ud83d\ude00")])

    (row,) = table_rows(table, ["reason", "tags", "label"])
    assert row == {"reason": "cut \ufffd", "tags": ["\ufffd"], "label": "😀"}


def test_columns_that_a_file_lacks_are_null() -> None:
    """Older runs stay readable when a nullable column is added."""
    old = scores_table([score(reason="fine")]).drop_columns(["details"])

    assert table_rows(conform(old, SCORES), ["reason", "details"]) == [{"reason": "fine", "details": None}]


def test_columns_that_the_schema_does_not_know_are_left_out() -> None:
    """Newer minor versions stay readable."""
    new = scores_table([score()]).append_column("mood", pa.array(["good"]))

    assert conform(new, SCORES).schema.equals(SCORES.arrow, check_metadata=True)


def test_narrower_types_are_widened() -> None:
    """Widening is the one change of a type that is allowed."""
    table = scores_table([score(tokens_in=7)])
    place = table.schema.get_field_index("tokens_in")
    narrow = table.set_column(place, "tokens_in", pa.array([7], pa.int32()))

    assert conform(narrow, SCORES).schema.equals(SCORES.arrow, check_metadata=True)


def test_a_type_that_cannot_be_widened_is_damage() -> None:
    """Text where numbers belong is no version of this table."""
    table = scores_table([score()])
    place = table.schema.get_field_index("trial")

    with pytest.raises(DamagedError, match=r"scores\.trial"):
        conform(table.set_column(place, "trial", pa.array(["zero"])), SCORES)


def test_a_missing_required_column_is_damage() -> None:
    """Without the case id a row says nothing."""
    with pytest.raises(DamagedError, match="case_id"):
        conform(scores_table([score()]).drop_columns(["case_id"]), SCORES)
