from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from nightgate.cases import Problem, SuiteError
from nightgate.cases.problems import did_you_mean, nearest


def _problem(path: str, line: int, message: str = "is wrong") -> Problem:
    return Problem(path=Path(path), line=line, message=message)


def test_problems_are_printed_one_a_line_by_file_and_line() -> None:
    """Editors and CI jump to `path:line`."""
    error = SuiteError([_problem("b", 1), _problem("a", 10), _problem("a", 9)])

    assert str(error) == "a:9: is wrong\na:10: is wrong\nb:1: is wrong"


def test_a_problem_without_a_line_is_printed_without_one() -> None:
    """A file that is not there has no line 1."""
    assert str(_problem("a", 0)) == "a: is wrong"


def test_a_suite_error_crosses_a_process_border_whole() -> None:
    """Worker processes are spawned, and exceptions are pickled on the way back."""
    error = SuiteError([_problem("a", 1)])

    assert pickle.loads(pickle.dumps(error)).problems == error.problems


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("must_cal", ["must_call", "max_calls"], "must_call"),
        ("TOOLPOLICY", ["ToolPolicy"], "ToolPolicy"),
        ("zzz", ["ToolPolicy"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_name_is_found_whatever_its_case(name: str, known: list[str], meant: str | None) -> None:
    """A far-fetched guess would be worse than none."""
    assert nearest(name, known) == meant


def test_without_a_near_name_all_are_listed_where_they_are_few() -> None:
    """A list of forty names helps nobody."""
    assert did_you_mean("zzz", ["layer", "stage"]) == "; known are layer, stage"
    assert did_you_mean("zzz", [f"name{i}" for i in range(40)]) == ""
