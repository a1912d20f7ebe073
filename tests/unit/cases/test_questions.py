"""What an edit of a case changes: for its stored answer, and for each judge's finding on it."""

from __future__ import annotations

from typing import Any

import pytest

from makers import a_suite
from nightgate.cases import (
    Case,
    asked_hash,
    case_hash,
    criterion_hashes,
    question_hashes,
    questions_of,
)

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


def test_an_expected_output_is_part_of_the_question_of_those_who_read_it() -> None:
    """It is in no case hash; code of the suite's users may read all of a case, under any name."""
    suite = a_suite(evaluators={"Mine": {"use": "checks:Mine"}, "Contains": {"use": "checks:Contains"}})
    names = ("OutputEvaluator", "HelpfulnessEvaluator", "Criterion:kind", "AnswerPolicy", "Mine", "Contains")
    first, second = (Case(**BEFORE, expected_output=text) for text in ("A yes.", "A no."))

    before, after = (questions_of(suite, case, names) for case in (first, second))

    assert case_hash(first) == case_hash(second)
    assert {n for n in names if before[n] != after[n]} == {"OutputEvaluator", "Mine", "Contains"}


def test_a_case_without_an_expected_output_keeps_its_questions() -> None:
    """Findings that are stored stay the same ones, whoever reads it."""
    case = Case(**BEFORE)

    assert question_hashes(case, JUDGES, JUDGES) == question_hashes(case, JUDGES)


def test_a_criterion_has_the_same_hash_in_every_case() -> None:
    """A judge is calibrated for its text, not for one input."""
    one, other = Case(**BEFORE), Case(**BEFORE | {"id": "b", "input": "Hello"})
    reworded = Case(**BEFORE | {"expect": {"judge": [CRITERIA[0] | {"criterion": "Kind?"}, CRITERIA[1]]}})

    assert criterion_hashes(one, JUDGES) == criterion_hashes(other, JUDGES)
    assert list(criterion_hashes(one, JUDGES)) == ["Criterion:kind", "Criterion:short"]
    assert (
        criterion_hashes(one, JUDGES)["Criterion:kind"]
        != criterion_hashes(reworded, JUDGES)["Criterion:kind"]
    )
