"""The declared tables: every column with its type, unit and what a null in it means.

Owns the versions. A change adds nullable columns or widens a type and raises the minor number;
anything else raises the major one, and a reader refuses a newer major by name. Knows no values.
``docs/rows.md`` lists the same columns, held to it by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import pyarrow as pa

from nightgate.errors import DamagedError
from nightgate.rows import keys

TABLE_FIELD, VERSION_FIELD = b"nightgate.table", b"nightgate.schema"
"""Names of the entries in a file's metadata."""

TEXT, BOOL, FLOAT = pa.string(), pa.bool_(), pa.float64()
INT, COUNT = pa.int64(), pa.int32()
DATE, MOMENT = pa.date32(), pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(pa.field("element", pa.string()))


class Free(StrEnum):
    """What stands in a column that somebody else worded; secrets are masked in it."""

    PLAIN = "plain"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        type: Of the values.
        required: Never null.
        free: Set where the text is not ours; ids and names of ours stay verbatim.
    """

    name: str
    type: pa.DataType
    required: bool = False
    free: Free | None = None


@dataclass(frozen=True)
class TableSchema:
    """A declared table.

    Attributes:
        name: Also the first part of its keys.
        version: ``major.minor``.
        columns: In file order.
        order: Columns that parts are sorted by.
    """

    name: str
    version: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, with name and version in its metadata."""
        fields = [pa.field(c.name, c.type, nullable=not c.required) for c in self.columns]
        return pa.schema(fields, metadata=self.metadata)

    @cached_property
    def metadata(self) -> dict[bytes, bytes]:
        """What a file of this table says of itself."""
        return {TABLE_FIELD: self.name.encode(), VERSION_FIELD: self.version.encode()}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, in file order."""
        return tuple(column.name for column in self.columns)

    def check_metadata(self, metadata: Mapping[bytes, bytes] | None) -> None:
        """Refuse a file of another table or of a newer major version.

        Raises:
            DamagedError: Naming both versions or both tables.
        """
        found = dict(metadata or {})
        table = found.get(TABLE_FIELD, b"?").decode("utf-8", "replace")
        if table != self.name:
            msg = f"expected a part of the table {self.name!r}, this is one of {table!r}"
            raise DamagedError(msg)
        version = found.get(VERSION_FIELD, b"?").decode("utf-8", "replace")
        major, own = version.partition(".")[0], self.version.partition(".")[0]
        if not (major.isascii() and major.isdigit()) or int(major) > int(own):
            msg = (
                f"{self.name} schema {version} was written by a newer nightgate; this one reads"
                f" up to {own}.x. Upgrade nightgate to read this run."
            )
            raise DamagedError(msg)


def _need(name: str, kind: pa.DataType = TEXT) -> Column:
    return Column(name, kind, required=True)


def _free(name: str, kind: Free = Free.PLAIN) -> Column:
    return Column(name, TEXT, free=kind)


_RUN = (_need("run_id"), _need("suite"), _need("date", DATE))
_CASE = (_need("case_id"), _need("case_hash"))
_FACTS = (Column("family", TEXT), Column("layer", TEXT), Column("stage", TEXT), Column("language", TEXT))
_TOKENS = (
    Column("tokens_in", INT),
    Column("tokens_out", INT),
    Column("tokens_cache_read", INT),
    Column("tokens_cache_write", INT),
    Column("tokens_cache_write_1h", INT),
)
_ORIGIN = (
    Column("sweep_id", TEXT),
    Column("run_kind", TEXT),
    Column("trigger", TEXT),
    Column("git_sha", TEXT),
    Column("price_table", TEXT),
)

SCORES = TableSchema(
    keys.SCORES,
    "1.4",
    (
        *_RUN, *_CASE, *_FACTS,
        Column("tags", TEXTS),
        Column("blocking", BOOL),
        _need("trial", COUNT),
        _need("evaluator"),
        _need("evaluator_version", COUNT),
        Column("threshold", TEXT),
        _need("status"),
        Column("blame", TEXT),
        Column("score", FLOAT),
        Column("passed", BOOL),
        _free("label"),
        _free("reason"),
        _free("details", Free.JSON),
        _free("judge_model"),
        Column("judge_fingerprint", TEXT),
        Column("cost_nanousd", INT),
        *_TOKENS,
        Column("latency_ms", FLOAT),
        _free("agent_model"),
        Column("agent_fingerprint", TEXT),
        Column("attempt", COUNT),
        *_ORIGIN,
        Column("source_run", TEXT),
        Column("repeat", COUNT),
        Column("panel", TEXT),
        Column("reused_from", TEXT),
        Column("scored_at", MOMENT),
    ),
    ("case_id", "trial", "evaluator", "evaluator_version", "judge_fingerprint", "attempt"),
)  # fmt: skip
"""One row a planned cell."""

TRIALS = TableSchema(
    keys.TRIALS,
    "1.2",
    (
        *_RUN, *_CASE, *_FACTS,
        Column("tags", TEXTS),
        _need("trial", COUNT),
        _need("ending"),
        _free("error"),
        _free("input"),
        _free("output"),
        Column("stop_reason", TEXT),
        Column("calls", COUNT),
        Column("turns", COUNT),
        _free("tool_calls", Free.JSON),
        _free("final_state", Free.JSON),
        Column("transcript", TEXT),
        *_TOKENS,
        Column("cost_nanousd", INT),
        Column("latency_ms", FLOAT),
        Column("wait_ms", FLOAT),
        Column("end_reason", TEXT),
        Column("end_turn", COUNT),
        Column("user_turns", COUNT),
        _free("conversation", Free.JSON),
        _free("agent_model"),
        Column("agent_fingerprint", TEXT),
        Column("attempt", COUNT),
        Column("reused_from", TEXT),
        *_ORIGIN,
        Column("started_at", MOMENT),
        Column("ended_at", MOMENT),
    ),
    ("case_id", "trial", "attempt"),
)  # fmt: skip
"""One row a trial."""

CALLS = TableSchema(
    keys.CALLS,
    "1.2",
    (
        *_RUN,
        _need("call_id"),
        _need("role"),
        _need("case_id"),
        _need("trial", COUNT),
        Column("play", COUNT),
        Column("evaluator", TEXT),
        _free("model"),
        Column("attempt", COUNT),
        _need("outcome"),
        _free("error"),
        Column("stop_reason", TEXT),
        _free("system_fingerprint"),
        *_TOKENS,
        Column("cost_nanousd", INT),
        Column("list_nanousd", INT),
        Column("batch_nanousd", INT),
        Column("latency_ms", FLOAT),
        Column("first_token_ms", FLOAT),
        Column("wait_ms", FLOAT),
        Column("late", BOOL),
        Column("price_table", TEXT),
        Column("started_at", MOMENT),
        Column("ended_at", MOMENT),
    ),
    ("case_id", "trial", "play", "started_at", "call_id"),
)
"""The ledger: one row a model call and attempt, whoever made it and however it ended."""

TRANSCRIPTS = TableSchema(
    keys.TRANSCRIPTS,
    "1.0",
    (
        *_RUN,
        _need("case_id"),
        _need("trial", COUNT),
        Column("attempt", COUNT),
        _free("system_prompt"),
        _free("tools", Free.JSON),
        _free("messages", Free.JSON),
    ),
    ("case_id", "trial", "attempt"),
)
"""What was said in a trial; ``trials.transcript`` points here."""

SUMMARIES = TableSchema(
    keys.SUMMARIES,
    "1.1",
    (
        *_RUN, *_CASE, *_FACTS,
        Column("blocking", BOOL),
        _need("evaluator"),
        _need("evaluator_version", COUNT),
        Column("threshold", TEXT),
        Column("judge_fingerprint", TEXT),
        _free("agent_model"),
        Column("agent_fingerprint", TEXT),
        _need("planned", COUNT),
        _need("passed", COUNT),
        _need("failed", COUNT),
        _need("measured", COUNT),
        _need("not_applicable", COUNT),
        _need("not_applicable_allowed", COUNT),
        Column("not_applicable_required", COUNT),
        _need("error", COUNT),
        _need("skipped", COUNT),
        _need("curtailed", COUNT),
        Column("score_sum", FLOAT),
        _need("score_count", COUNT),
        _free("holes", Free.JSON),
        Column("run_kind", TEXT),
        Column("trigger", TEXT),
        Column("started_at", MOMENT),
    ),
    ("case_id", "evaluator", "evaluator_version", "judge_fingerprint"),
)  # fmt: skip
"""Case x evaluator counts of a run: what gates, flakiness and trends read."""

TABLES: Mapping[str, TableSchema] = {t.name: t for t in (SCORES, TRIALS, CALLS, TRANSCRIPTS, SUMMARIES)}
