"""JSON documents of a store that are read again: nothing in them is believed before it has its type.

Owns the check between bytes and a document (JSON, schema number, shape), and the words for what is wrong.
Knows no store and no document: each owner brings its shape and its way out. Imports the standard library
and ``errors`` only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NoReturn, TypeAlias

from nightgate.errors import DamagedError

_QUOTED_CHARS = 40
_MOST = 2**63
"""Larger counts than any column holds would break the arithmetic, not only the answer."""
_ID = re.compile(r"[0-9a-z-]{1,64}")
_PLAIN_KEY = re.compile(r"\w{1,40}")


class NewerDocumentError(DamagedError):
    """A document of a schema that this program does not know: neither read nor written over."""

    def __init__(self, key: str, schema: int, known: int) -> None:
        self.key, self.schema = key, schema
        super().__init__(
            f"{key}: written by a newer nightgate, schema {schema}; this one knows {known}: upgrade"
        )


@dataclass(frozen=True, slots=True)
class Fits:
    """A value of which a test says whether it will do; the test never raises."""

    what: str
    test: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class OrNull:
    """Null, or what is inside."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class OrMissing:
    """A key that may be left out."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Each:
    """An object with any keys, whose values all look alike."""

    shape: Shape


Shape: TypeAlias = "Fits | OrNull | OrMissing | Each | list[Shape] | Mapping[str, Shape]"
"""What a value has to look like. A list of one shape is a list of such; an object may have further keys."""


def _is_day(value: Any) -> bool:
    try:
        date.fromisoformat(value[:10])
    except (TypeError, ValueError):
        return False
    return isinstance(value, str)


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0 that fits into 64 bits."""
    return type(value) is int and 0 <= value < _MOST


ANYTHING = Fits("anything", lambda _: True)
TEXT = Fits("a text", lambda value: isinstance(value, str))
FLAG = Fits("true or false", lambda value: isinstance(value, bool))
INTEGER = Fits("a whole number", lambda value: type(value) is int and abs(value) < _MOST)
COUNT = Fits("a count", is_count)
NUMBER = Fits("a number", lambda value: type(value) in (int, float) and abs(value) < _MOST)
DAY = Fits("a day or a time that begins with one (YYYY-MM-DD)", _is_day)
ID = Fits("an id", lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None)


def one_of(words: Iterable[str]) -> Fits:
    """One of these texts."""
    known = frozenset(words)
    named = ", ".join(sorted(known))
    return Fits(f"one of {named}", lambda value: isinstance(value, str) and value in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentKind:
    """What documents of one kind have in common."""

    name: str
    schema: int
    """The highest schema number that this program knows."""
    shape: Mapping[str, Shape]
    way_out: str
    """What to do about a damaged one: what makes it again, what is lost by removing it."""

    def read(self, data: bytes, key: str) -> dict[str, Any]:
        """The document behind an object's bytes, each value of the type that its shape says.

        Args:
            data: The object.
            key: Where it lies, for the message.

        Raises:
            NewerDocumentError: If its schema number is higher than this program knows.
            DamagedError: If it is none of this kind; the message ends with the way out.
        """
        found = self._parsed(data, key)
        version = found.get("schema")
        if isinstance(version, int) and version > self.schema and _SCHEMA.test(version):
            raise NewerDocumentError(key, version, self.schema)
        problem = problem_of(found, {"schema": _SCHEMA, **self.shape})
        if problem is not None:
            raise self.damaged(key, problem)
        return found

    def damaged(self, key: str, problem: str) -> DamagedError:
        """The error that says so, for what a shape cannot tell."""
        return DamagedError(f"{key}: no {self.name} ({problem}); {self.way_out}")

    def _parsed(self, data: bytes, key: str) -> dict[str, Any]:
        try:
            found = json.loads(data, parse_constant=_refused)
            if b"\\u" in data:  # half a character can be read, and breaks whatever writes it again
                json.dumps(found, ensure_ascii=False).encode()
        except RecursionError as error:
            raise self.damaged(key, "no JSON: nested too deeply") from error
        except ValueError as error:
            raise self.damaged(key, f"no JSON: {error}") from error
        if not isinstance(found, dict):
            raise self.damaged(key, f"it is {_said(found)}, not an object")
        return found


_SCHEMA = Fits("a schema number", lambda value: is_count(value) and value > 0)


def problem_of(value: Any, shape: Shape, at: str = "") -> str | None:
    """The first thing in which a value differs from its shape; None where it does not.

    >>> problem_of({"runs": [{"id": 7}]}, {"runs": [{"id": TEXT}]})
    'runs[0].id is 7, not a text'
    """
    if isinstance(shape, OrMissing):
        return problem_of(value, shape.shape, at)
    if isinstance(shape, OrNull):
        return None if value is None else problem_of(value, shape.shape, at)
    if isinstance(shape, Each):
        if not isinstance(value, dict):
            return _differs(value, at, "an object")
        return _first((item, shape.shape, _below(at, key)) for key, item in value.items())
    if isinstance(shape, Fits):
        return None if shape.test(value) else _differs(value, at, shape.what)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _differs(value, at, "a list")
        return _first((item, shape[0], f"{at}[{place}]") for place, item in enumerate(value))
    return _problem_of_object(value, shape, at)


def _problem_of_object(value: Any, shape: Mapping[str, Shape], at: str) -> str | None:
    if not isinstance(value, dict):
        return _differs(value, at, "an object")
    for key, wanted in shape.items():
        if key not in value and not isinstance(wanted, OrMissing):
            return f"{_below(at, key)} is missing"
    return _first((value[key], wanted, _below(at, key)) for key, wanted in shape.items() if key in value)


def _first(items: Iterable[tuple[Any, Shape, str]]) -> str | None:
    found = (problem_of(value, shape, at) for value, shape, at in items)
    return next((problem for problem in found if problem is not None), None)


def _below(at: str, key: str) -> str:
    if not _PLAIN_KEY.fullmatch(key):
        return f"{at}[{json.dumps(key)[:_QUOTED_CHARS]}]"
    return f"{at}.{key}" if at else key


def _differs(value: Any, at: str, what: str) -> str:
    return f"{at or 'it'} is {_said(value)}, not {what}"


def _said(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number without bounds"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _QUOTED_CHARS else f"{text[: _QUOTED_CHARS - 1]}…"


def _refused(constant: str) -> NoReturn:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)
