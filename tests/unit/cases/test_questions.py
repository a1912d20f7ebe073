"""What an edit of a case changes: for its stored answer, and for each judge's finding on it."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.cases import Case, asked_hash, case_hash, question_hashes

JUDGES = ("Criterion:kind", "Criterion:short", "HelpfulnessEvaluator")
CRITERIA = [{"id": "kind", "criterion": "Is it kind?"}, {"id": "short", "criterion": "Is it short?"}]
BEFORE: dict[str, Any] = {"id": "a", "input": "Hi", "expect": {"cites": ["KB-1"], "judge": CRITERIA}}


def edited(**more: Any) -> tuple[bool, set[str]]:
    """Whether the agent is asked something else now, and which judges are."""
    old, new = Case(**BEFORE), Case(**BEFORE | more)
    assert (case_hash(old) != case_hash(new)) is (more != {})
    before, after = question_hashes(old, JUDGES), question_hashes(new, JUDGES)
    return asked_hash(old) != asked_hash(new), {name for name in JUDGES if before[name] != after[name]}


@pytest.mark.parametrize(
    ("more", "agent", "judges"),
    [
        ({}, False, set()),
        ({"input": "Hello"}, True, set(JUDGES)),
        ({"context": {"customer_id": "C-1"}}, True, set(JUDGES)),
        (
            {"expect": {"cites": ["KB-1"], "judge": [CRITERIA[0] | {"criterion": "Kind?"}, CRITERIA[1]]}},
            False,
            {"Criterion:kind"},
        ),
        ({"expect": {"cites": [], "judge": CRITERIA}}, False, {"HelpfulnessEvaluator"}),
    ],
    ids=["nothing", "input", "context", "criterion", "citations"],
)
def test_an_edit_touches_those_who_read_it(more: dict[str, Any], agent: bool, judges: set[str]) -> None:
    """A new criterion asks nothing new of the agent, and of no other judge."""
    assert edited(**more) == (agent, judges)
