"""JSON values: what is the same value, what is part of another, where a path leads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.evaluators.values import equal, lookup, parsed, show, subset

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (12, 12.0, True),
        (0.0, -0.0, True),
        (True, 1, False),
        (False, 0, False),
        (0, None, False),
        ("5", 5, False),
        ("", None, False),
        ([], {}, False),
        ([1, 2], [1.0, 2], True),
        ([1, 2], [2, 1], False),
        ([1, [True]], [1, [1]], False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"a": True}, {"a": 1}, False),
        ("a", "A", False),
        (10**30, 1e30, False),
    ],
)
def test_values_are_equal_by_value_and_kind(left: Any, right: Any, same: bool) -> None:
    """12 is 12.0, but true is not 1, "5" is not 5 and missing is not null."""
    assert equal(left, right) is same
    assert equal(right, left) is same


@given(JSON)
def test_a_value_survives_the_wire(value: Any) -> None:
    """Arguments come as JSON text from one provider, as objects from another."""
    assert equal(value, parsed(json.dumps(value)))
    assert subset(value, value)


@pytest.mark.parametrize(
    ("want", "have", "part"),
    [
        ({}, {"a": 1}, True),
        ({"a": 1}, {"a": 1.0, "b": 2}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": {"d": 2}}}, True),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, False),
        ({"a": None}, {}, False),
        ({"a": None}, {"a": None}, True),
        ({"tags": ["x"]}, {"tags": ["x", "y"]}, False),
        ({"rows": [{"a": 1}]}, {"rows": [{"a": 1, "b": 2}]}, False),
        ({"a": {}}, {"a": []}, False),
        ({"a": {}}, {"a": {"b": 1}}, True),
        ({"a": 1}, "a", False),
        ({}, None, False),
    ],
)
def test_subset_goes_into_objects_and_stops_at_lists(want: Any, have: Any, part: bool) -> None:
    """Other keys are free at every depth; a list is one value."""
    assert subset(want, have) is part


def test_text_that_is_no_json_stays_text() -> None:
    """A model that writes half an object wrote no object."""
    assert parsed('{"a": ') == '{"a": '
    assert parsed('{"a": 1}') == {"a": 1}
    assert parsed({"a": 1}) == {"a": 1}


STATE = {
    "cases": {"CS-1": {"status": "open", "notes": [{"by": "ann"}, {"by": None}]}},
    "cases.CS-1.status": "flat",
    "a.b": {"c": 1, "d.e": 2},
    "a": {"b.x": 3, "b": {"y": 4}},
    "empty": {},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("cases.CS-1.notes.0.by", "ann"),
        ("cases.CS-1.notes.1.by", None),
        ("cases.CS-1.status", "flat"),
        ("a.b.c", 1),
        ("a.b.d.e", 2),
        ("a.b.x", 3),
        ("a.b.y", 4),
        ("empty", {}),
    ],
)
def test_a_path_leads_through_objects_lists_and_keys_with_dots(path: str, found: Any) -> None:
    """Order ids and file names hold dots; the longest key that leads on wins."""
    assert lookup(STATE, path) == (True, found)


@pytest.mark.parametrize(
    "path",
    [
        "cases.CS-2",
        "cases.CS-1.notes.2",
        "cases.CS-1.notes.-1",
        "cases.CS-1.notes.²",
        "empty.x",
        "a.b.c.d",
        "",
    ],
)
def test_what_is_not_there_is_missing_and_not_null(path: str) -> None:
    """A path into nothing must not equal a wanted null."""
    assert lookup(STATE, path) == (False, None)


def test_a_long_value_is_cut_where_it_is_shown() -> None:
    """A reason is one line, whatever the tool got."""
    assert show({"text": "x" * 500}).endswith("…")
    assert len(show({"text": "x" * 500})) == 160
