"""A file of records -> the JSON values in it, each with its line.

Owns what counts as readable: one JSON value, JSON lines, or values one after the other as span
exporters print them. Knows nothing of spans.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nightgate.cases.encoding import decoded
from nightgate.errors import InputError

MAX_BYTES = 256 * 1024 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value of a file."""

    data: Any
    line: int
    """Where it begins, from 1."""


def read_values(path: Path) -> list[Value]:
    """All JSON values of a file, in their order.

    Raises:
        InputError: If the file cannot be read, is empty, is a Git LFS pointer or holds no JSON; with
            the line.
    """
    text = _text(path)
    values = list(_values(text, path))
    if not values:
        _refuse(path, 1, "is empty; it should hold spans or log records as JSON")
    return values


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        _refuse(path, 0, f"cannot be read: {getattr(error, 'strerror', None) or error}")
    if len(data) > MAX_BYTES:
        _refuse(path, 0, f"is larger than {MAX_BYTES} bytes; export one trace only")
    return decoded(data, functools.partial(_refuse, path))


def _values(text: str, path: Path) -> Iterator[Value]:
    decoder = json.JSONDecoder()
    position, line, counted = 0, 1, 0
    while True:
        position = _past_space(text, position)
        line += text.count("\n", counted, position)
        counted = position
        if position >= len(text):
            return
        try:
            data, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(text.rstrip())
            message = "ends in the middle of a value" if cut else f"is no JSON: {error.msg}"
            _refuse(path, error.lineno, f"{message} (column {error.colno})")
        except RecursionError:
            _refuse(path, line, "is nested too deeply to be a recording")
        except ValueError as error:  # an integer of thousands of digits
            _refuse(path, line, f"is no JSON that can be read: {error}")
        yield Value(data, line)


def _past_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None, "the pattern matches the empty text"
    return found.end()


def _refuse(path: Path, line: int, message: str) -> NoReturn:
    raise InputError(f"{path}:{line}: {message}")
