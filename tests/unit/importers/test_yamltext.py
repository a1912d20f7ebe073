"""Data as YAML: the loader's own reading is the measure. Most is held by the drafts' round trip."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nightgate.importers.yamltext import data, unstorable, words, yaml_lines


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), nested(200)])
def test_what_a_case_file_cannot_hold_is_known_before(value: Any) -> None:
    """The loader would refuse it, and the person would not know why."""
    assert unstorable({"x": value})


def test_numbers_of_a_thousand_digits_are_refused() -> None:
    """As the loader does."""
    assert unstorable([10**1000]) == "holds a number of a thousand digits"
    assert unstorable([10**100, -1.5e300, None, True, "x", {}, nested(30)]) is None


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain words", "x: plain words"),
        ("no", 'x: "no"'),
        ("007", 'x: "007"'),
        ("a: b", 'x: "a: b"'),
        (None, "x: null"),
        (True, "x: true"),
        (1.0, "x: 1.0"),
        ({}, "x: {}"),
        ({"a": [1, None]}, "x: {a: [1, null]}"),
    ],
)
def test_short_data_stays_readable(value: Any, line: str) -> None:
    """A person edits it."""
    assert yaml_lines({"x": data(value)}) == [line]


def test_lines_are_a_block_and_never_look_like_a_comment() -> None:
    """Uncommenting works line by line."""
    assert yaml_lines({"x": words("a: b\n- c")}) == ["x: |-", "  a: b", "  - c"]
    assert yaml_lines({"x": words("a\n# b")}) == [f"x: {json.dumps('a' + chr(10) + '# b')}"]


def test_long_texts_are_not_folded() -> None:
    """A folded text behind comment signs would be another text."""
    assert len(yaml_lines({"x": words("word, " * 200)})) == 1
