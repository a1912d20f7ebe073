"""A file of JSON -> its values, each with its line: one a line, or one for the whole file.

Owns where a damaged value is said to stand: in JSON lines it is the damaged line, never the next one.
Knows nothing of what the values mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightgate.cases.documents import read_text
from nightgate.cases.problems import Problem, SuiteError


@dataclass(frozen=True, slots=True)
class Line:
    """A JSON value of a file."""

    data: Any
    line: int
    """Where it begins, from 1."""


def read_json(path: Path, wanted: str) -> list[Line]:
    """The values of a ``.jsonl`` file, or the one value of another.

    Args:
        path: The file.
        wanted: What it should hold, in words.

    Raises:
        SuiteError: If the file cannot be read, is empty or is a Git LFS pointer; or with every value
            that is no JSON.
    """
    text = read_text(path)
    if not text.strip():
        raise SuiteError([Problem(path=path, line=1, message=f"is empty; it should hold {wanted}")])
    values: list[Line] = []
    problems: list[Problem] = []
    for part, line in _parts(path, text):
        try:
            values.append(Line(json.loads(part), line))
        except json.JSONDecodeError as error:
            cut = error.pos >= len(part.rstrip()) or error.msg.startswith("Unterminated string")
            what = "ends in the middle of a value" if cut else f"is no JSON: {error.msg}"
            message = f"{what} (column {error.colno})"
            problems.append(Problem(path=path, line=line + error.lineno - 1, message=message))
        except RecursionError:
            problems.append(Problem(path=path, line=line, message="is nested too deeply"))
        except ValueError as error:  # an integer of thousands of digits
            message = f"is no JSON that can be read: {error}"
            problems.append(Problem(path=path, line=line, message=message))
    if problems:
        raise SuiteError(problems)
    return values


def _parts(path: Path, text: str) -> Iterator[tuple[str, int]]:
    if path.suffix != ".jsonl":
        yield text, 1
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield line, number
