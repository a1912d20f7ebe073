"""Canary cases that nothing can be said of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nightgate.cases import load_suite
from nightgate.cases.lint import lint

Write = Callable[..., Path]
SUITE = "suite: small\nagent: a:b\nmodel: scripted:good\njudge: scripted:good\n"
WARNING = "is a canary and no judge evaluator looks at it"


def _lint(folder: Path) -> str:
    return "\n".join(lint(load_suite(folder)))


def test_a_canary_without_a_judge_is_reported(write_suite: Write) -> None:
    """Code does not drift: there would be nothing to judge again."""
    case = "cases: [{id: a, input: x, canary: true, expect: {tools: {must_call: [search]}}}]"

    assert f"case 'a' {WARNING}" in _lint(write_suite({"suite.yaml": SUITE, "cases.yaml": case}))


@pytest.mark.parametrize(
    "asked",
    [
        "judge: [{id: c, criterion: Is it?}]",
        "tools: {must_call: [search]}, judge: [{id: c, criterion: Is it?}]",
    ],
)
def test_a_canary_with_a_judge_is_not(write_suite: Write, asked: str) -> None:
    """One is enough, and the key has its effect."""
    case = f"cases: [{{id: a, input: x, canary: true, expect: {{{asked}}}}}]"
    found = _lint(write_suite({"suite.yaml": SUITE, "cases.yaml": case}))

    assert WARNING not in found
    assert "canary is read and has no effect" not in found


def test_an_evaluator_of_the_users_own_may_ask_a_judge(write_suite: Write) -> None:
    """Only its class knows; a warning would be a guess."""
    suite = f'{SUITE}evaluators: {{Mine: {{use: "m:Mine"}}}}\n'
    case = "cases: [{id: a, input: x, canary: true}]"

    assert WARNING not in _lint(write_suite({"suite.yaml": suite, "cases.yaml": case}))
