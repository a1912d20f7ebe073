"""A damaged value is said to stand where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.cases import SuiteError
from nightgate.importers.lines import Line, read_json


def written(folder: Path, text: str, name: str = "a.jsonl") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_have_their_numbers(tmp_path: Path) -> None:
    """Blank ones are counted and are no values."""
    assert read_json(written(tmp_path, '{"a": 1}\n\n[2]\n'), "values") == [Line({"a": 1}, 1), Line([2], 3)]


def test_another_file_is_one_value(tmp_path: Path) -> None:
    assert read_json(written(tmp_path, "[\n1,\n2]\n", "a.json"), "values") == [Line([1, 2], 1)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1}\n{"a": [\n{"a": 3}\n', ":2: ends in the middle of a value (column 8)"),
        ('{"a": "hel\n', ":1: ends in the middle of a value (column 7)"),
        ('{"a": 1} {"a": 2}\n', ":1: is no JSON: Extra data (column 10)"),
        ("hello\n", ":1: is no JSON: Expecting value (column 1)"),
        ("  \n", ":1: is empty; it should hold values"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:1\n", ":1: is a Git LFS pointer"),
        ("[" * 100_000, ":1: is nested too deeply"),
        ("9" * 10_000, ":1: is no JSON that can be read"),
    ],
)
def test_damage_is_said_with_its_line(text: str, wanted: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SuiteError) as caught:
        read_json(path, "values")
    assert f"{path}{wanted}" in str(caught.value)


def test_every_damaged_line_is_told_at_once(tmp_path: Path) -> None:
    """Nobody wants to learn of them one by one."""
    with pytest.raises(SuiteError) as caught:
        read_json(written(tmp_path, '{\n{"a": 1}\n}\n'), "values")
    assert [problem.line for problem in caught.value.problems] == [1, 3]


def test_damage_of_a_whole_file_has_the_line_in_it(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        read_json(written(tmp_path, "[1,\n2,\nx]", "a.json"), "values")
    assert caught.value.problems[0].line == 3


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be read"):
        read_json(tmp_path / "none.jsonl", "values")
