from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.cases.nodes import Entry, Listing, Plain, Scalar, Table, position, resolve


@pytest.mark.parametrize(
    "source", ["no", "yes", "on", "Off", "y", "1:30", "2026-11-29", "1_000", "0b1", "tRue", "+"]
)
def test_words_that_yaml_1_1_would_turn_into_something_else_stay_text(source: str) -> None:
    """`language: no` is Norwegian."""
    assert resolve(source) == source


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("007", 7),
        ("-1", -1),
        ("0o17", 15),
        ("0xFf", 255),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
    ],
)
def test_numbers_of_the_core_schema_resolve(source: str, value: float) -> None:
    """The 1.2 core schema, not JSON's: 0o is octal, a leading 0 is not."""
    assert resolve(source) == value


def test_a_number_too_long_for_python_is_refused_with_a_reason() -> None:
    """Python stops converting at 4,300 digits with an exception that names no file."""
    with pytest.raises(ValueError, match="5000 characters"):
        resolve("1" * 5000)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_plain_scalar_keeps_its_source_whatever_it_resolves_to(source: str) -> None:
    """A field of text takes the source; only others ask for the value."""
    assert Plain(source).source == source


def test_a_missing_key_is_located_at_the_mapping_that_lacks_it() -> None:
    """The nearest place that exists is where the reader must type."""
    tree = Table({"a": Entry(Listing((Table({}, 3, 5),), 2, 3), 2, 1)}, 1, 1)

    assert position(tree, ("a", 0, "missing")) == (3, 5)


def test_a_value_is_located_at_its_key() -> None:
    """A block text starts lines below the key that has to change."""
    tree = Table({"a": Entry(Scalar("x", plain=True, line=9, column=9), 4, 2)}, 1, 1)

    assert position(tree, ("a",)) == (4, 2)
