"""Failing cases as rows of plain text, for whatever shows a table.

Owns the columns. Every text that is not ours is made harmless, because nobody knows what the table's reader
takes for markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightgate.messages import neutral
from nightgate.reports.markdown import failed_rows

MOST_ROWS = 200
_MOST_ID = 100
_MOST_REASON = 300


def failing(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """A row a case and evaluator with a failed trial; those that the gate counts first.

    Args:
        summary: The run's summary document.
    """
    rows = []
    for row, note, found in failed_rows(summary):
        rows.append(
            {
                "case": neutral(str(row["case"]), _MOST_ID),
                "evaluator": neutral(str(row["evaluator"]), _MOST_ID),
                "passed": f"{row['passed']} of {row['planned']}",
                "gate": note.strip(" ()") or "fails",
                "reason": "" if found is None else neutral(str(found["reason"]), _MOST_REASON),
            }
        )
    return rows
