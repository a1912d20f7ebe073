"""Rows of a run case by case, though they lie in parts: what a page about one case is made from.

Owns the index from a case to its rows. Parts are sorted by case, so a case is one stretch of each part. Rows
stay Arrow until their case is asked for: as mappings all at once they would take many times the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from nightgate.rows.tables import table_rows

CELL_COLUMNS = (
    "run_id", "case_id", "trial", "evaluator", "evaluator_version", "status", "reason", "score", "label",
    "blame", "details", "judge_model", "judge_fingerprint", "latency_ms", "attempt", "scored_at",
    "reused_from",
)  # fmt: skip
"""What ``facts.cell_from_row`` reads of a scores row."""


class CaseRows:
    """The rows of one table of a run, by case.

    Args:
        tables: Its parts, decoded, each sorted by ``case_id`` as all parts are.
        columns: Only these of each row; all unless given. Rows have many times as many as a page needs.
    """

    def __init__(self, tables: Iterable[pa.Table], columns: Sequence[str] | None = None) -> None:
        self._stretches: dict[str, list[tuple[pa.Table, int, int]]] = {}
        for whole in tables:
            table = whole if columns is None else whole.select(list(columns))
            start = 0
            for case_id, same in groupby(table.column("case_id").to_pylist()):
                count = sum(1 for _ in same)
                self._stretches.setdefault(case_id, []).append((table, start, count))
                start += count

    def of(self, case_id: str) -> list[dict[str, Any]]:
        """A case's rows, in the order of the parts; none where it has none."""
        found = self._stretches.get(case_id, ())
        return [row for table, start, count in found for row in table_rows(table.slice(start, count))]
