from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.rows.jsontext import json_text, json_value

# A surrogate pair in a Python text is the character it stands for once it was written, so the
# property asks for texts without surrogates; lone ones have a test of their own.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
KEYS = TEXT | st.sampled_from(["$bytes", "$$bytes", "$$$bytes", "$"])
VALUES = st.recursive(
    SCALARS | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def exactly(left: Any, right: Any) -> bool:
    """Equality that tells 1 from 1.0 and from True."""
    return repr(left) == repr(right)


@given(VALUES)
def test_values_come_back_exactly(value: Any) -> None:
    """A trial that was stored and read again is judged like the first one."""
    assert exactly(json_value(json_text(value)), value)


@given(VALUES)
def test_the_text_is_strict_json_in_utf8(value: Any) -> None:
    """Other tools read these columns; Python's NaN words are no JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(json_text(value).encode().decode(), parse_constant=refuse)


def test_a_value_that_looks_like_the_mark_for_bytes_stays_a_mapping() -> None:
    """A tool may really be called with such an argument."""
    value = {"$bytes": "aGk="}

    assert json_value(json_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, '"NaN"'), (math.inf, '"Infinity"'), (-math.inf, '"-Infinity"'), ([1, math.nan], '[1,"NaN"]')],
)
def test_nan_and_infinity_become_text(value: Any, text: str) -> None:
    """Strict readers choke on NaN; null would say that nothing was there."""
    assert json_text(value) == text


def test_a_lone_surrogate_survives_as_an_escape() -> None:
    """A model's broken output must not cost the trial that holds it."""
    text = json_text({"say": "a\ud800b"})

    assert text.encode()
    assert json_value(text) == {"say": "a\ud800b"}


def test_integers_of_any_size_are_written() -> None:
    """Python itself refuses to print over 4,300 digits."""
    assert json_value(json_text([10**300])) == [10**300]
    assert json_value(json_text(10**6000)) == hex(10**6000)


def test_nesting_without_end_is_cut() -> None:
    """A state that holds itself must not end the run."""
    loop: list[Any] = []
    loop.append(loop)

    assert "nested too deeply" in json_text({"state": loop})


@dataclass
class Order:
    number: int
    paid: Decimal


class Mute:
    def __str__(self) -> str:
        raise RuntimeError


def test_objects_become_what_they_say_of_themselves() -> None:
    """Factories return states with dates, decimals and objects of their own."""
    state = {
        "at": datetime(2026, 11, 29, tzinfo=UTC),
        "order": Order(7, Decimal("1.10")),
        "seen": {"b", "a"},
        "view": MappingProxyType({"x": (1, 2)}),
        "ordered": OrderedDict(k=1),
        1: "number as key",
        None: "nothing as key",
        "mute": Mute(),
    }

    assert json_value(json_text(state)) == {
        "at": "2026-11-29T00:00:00+00:00",
        "order": {"number": 7, "paid": "1.10"},
        "seen": ["a", "b"],
        "view": {"x": [1, 2]},
        "ordered": {"k": 1},
        "1": "number as key",
        "null": "nothing as key",
        "mute": "<Mute>",
    }
