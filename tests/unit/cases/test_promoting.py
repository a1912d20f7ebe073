"""A capability case becomes a regression case by one word of its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nightgate.cases import load_suite
from nightgate.cases.promoting import promoted
from nightgate.errors import InputError

Write = Callable[..., Path]

CASES = """\
# What the desk should learn next.
cases:
  # not yet
  - id: block
    stage: "capability"   # since spring
    input: "stage: capability"
    expect: {cites: []}

  - {id: flow, stage: capability, input: x, expect: {cites: []}}  # short
  - id: gates
    input: x
    expect: {cites: []}
"""


@pytest.mark.parametrize(
    ("case", "before", "after"),
    [
        ("block", 'stage: "capability"   # since', 'stage: "regression"   # since'),
        ("flow", "flow, stage: capability,", "flow, stage: regression,"),
    ],
)
def test_one_word_changes_and_comments_stay(write_suite: Write, case: str, before: str, after: str) -> None:
    """The file is people's: its layout is not ours to improve."""
    folder = write_suite({"cases.yaml": CASES})

    path = promoted(load_suite(folder), case)

    assert path == folder / "cases.yaml"
    assert path.read_text() == CASES.replace(before, after)
    assert next(c for c in load_suite(folder).cases if c.id == case).stage == "regression"


def test_line_ends_of_another_system_stay(write_suite: Write) -> None:
    """An edit that rewrites every line cannot be reviewed."""
    folder = write_suite({"cases.yaml": CASES.replace("\n", "\r\n").encode()})

    promoted(load_suite(folder), "block")

    assert (folder / "cases.yaml").read_bytes().count(b"\r\n") == CASES.count("\n")


def test_a_line_of_a_jsonl_file_is_edited_alone(write_suite: Write) -> None:
    """The others stay byte for byte."""
    lines = [f'{{"id": "{n}", "stage": "capability", "input": "x", "expect": {{"cites": []}}}}' for n in "ab"]
    folder = write_suite({"cases.yaml": None, "more.jsonl": "\n".join(lines) + "\n"})

    promoted(load_suite(folder), "b")

    text = (folder / "more.jsonl").read_text()
    assert text == "\n".join([lines[0], lines[1].replace("capability", "regression")]) + "\n"


def test_a_case_that_gates_is_left_alone(write_suite: Write) -> None:
    """Nothing to do is told as such."""
    folder = write_suite({"cases.yaml": CASES})

    assert promoted(load_suite(folder), "gates") is None
    assert (folder / "cases.yaml").read_text() == CASES


def test_an_unknown_case_is_answered_with_the_nearest(write_suite: Write) -> None:
    """As everywhere."""
    folder = write_suite({"cases.yaml": CASES})

    with pytest.raises(InputError, match="did you mean 'block'"):
        promoted(load_suite(folder), "blok")


def test_a_stage_behind_an_alias_is_left_to_people(write_suite: Write) -> None:
    """One edit would promote others too."""
    text = """\
cases:
  - &first {id: a, stage: &s capability, input: x, expect: {cites: []}}
  - {id: b, stage: *s, input: x, expect: {cites: []}}
"""
    folder = write_suite({"cases.yaml": text})
    try:
        suite = load_suite(folder)
    except InputError:
        return  # the loader refuses aliases: then none can be promoted

    with pytest.raises(InputError, match="edit it by hand"):
        promoted(suite, "b")
