"""Failing cases as a table that acts on nobody."""

from __future__ import annotations

import json

import pytest

from hostile import put_hostile_run
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.reports.casetable import failing
from nightgate.rows.keys import summary_key
from rundocs import a_failure, a_row, a_summary, an_evaluator


def test_a_row_says_how_often_why_and_whether_it_gates() -> None:
    """What decides comes first."""
    evaluators = [an_evaluator(verdict="fail", failed_cases=["late"])]
    rows = [a_row("dream", failed=1), a_row("late", failed=1)]

    assert failing(a_summary(*rows, evaluators=evaluators, failures=[a_failure()])) == [
        {
            "case": "late",
            "evaluator": "ToolPolicy",
            "passed": "0 of 1",
            "gate": "fails",
            "reason": "missing search_kb (called: no tool)",
        },
        {
            "case": "dream",
            "evaluator": "ToolPolicy",
            "passed": "0 of 1",
            "gate": "does not gate",
            "reason": "",
        },
    ]


def test_a_run_without_failures_has_no_rows() -> None:
    """Nothing to look at."""
    assert failing(a_summary(a_row())) == []


@pytest.mark.parametrize(
    "sign", ["<", ">", "`", "*", "|", "](", "javascript:", "://", "\x1b", "\u202e", "\n"]
)
def test_no_text_of_a_case_or_judge_is_markup(sign: str) -> None:
    """A table's reader may take its cells for Markdown, HTML or links."""
    store = InMemoryStore()

    rows = failing(json.loads(store.read(summary_key(put_hostile_run(store)))))

    assert len(rows) == 20
    assert not any(sign in text for row in rows for text in row.values())
