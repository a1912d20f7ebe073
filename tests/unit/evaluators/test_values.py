"""JSON values: what is the same value, what is part of another, where a path leads."""

import json
import unicodedata
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import assume, given
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
        (10**30, 1e30, True),
        (1000, 1e3, True),
        (2**53 + 1, float(2**53), False),
        (12345678901234567890, 12345678901234567891, False),
        (float("nan"), float("nan"), False),
        (float("inf"), float("inf"), True),
        (float("inf"), 1e308, False),
        ("NaN", float("nan"), False),
        ("12", 12, False),
        ("1.0", "1", False),
        (Decimal("0.10"), 0.1, True),
        (Decimal("12.50"), 12.5, True),
        (Decimal("0.1"), 0.3, False),
        ("M\u00e1laga", "Ma\u0301laga", True),
        ("Málaga", "Malaga", False),
        ("Málaga", "málaga", False),
        ({"a\u00f1o": 1}, {"an\u0303o": 1.0}, True),
        ({"año": 1}, {"ano": 1}, False),
        ({"\u00f1": 1, "n\u0303": 1}, {"\u00f1": 1, "x": 1}, False),
        ({"\u00f1": 1, "n\u0303": 2}, {"n\u0303": 2, "\u00f1": 1}, True),
    ],
)
def test_values_are_equal_by_value_and_kind(left: Any, right: Any, same: bool) -> None:
    """12 is 12.0, but true is not 1, "5" is not 5 and missing is not null."""
    assert equal(left, right) is same
    assert equal(right, left) is same


@given(JSON, JSON)
def test_equality_has_no_direction(left: Any, right: Any) -> None:
    """Which of the two the case wrote makes no difference."""
    assert equal(left, right) is equal(right, left)
    assert equal(left, left)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.data())
def test_key_order_and_spacing_make_no_difference(value: dict[str, Any], data: st.DataObject) -> None:
    """A model writes its object as it likes: JSON text equals its object."""
    shuffled = dict(data.draw(st.permutations(list(value.items()))))
    spaced = json.dumps(shuffled, indent=data.draw(st.integers(0, 4)), ensure_ascii=data.draw(st.booleans()))
    assert equal(value, parsed(f" {spaced}\n"))
    assert equal(value, parsed(json.dumps(spaced)))


@given(st.dictionaries(st.text(), JSON, max_size=3), st.text(), JSON)
def test_an_extra_key_passes_as_subset_and_fails_as_exact(
    value: dict[str, Any], key: str, extra: Any
) -> None:
    """At the top and inside of objects alike."""
    assume(not any(equal(key, known) for known in value))
    more = value | {key: extra}
    assert subset(value, more)
    assert not equal(value, more)
    assert subset({"in": value}, {"in": more, "beside": 1})
    assert not equal({"in": value}, {"in": more})
    assert not subset(more, value)


@given(JSON)
def test_the_unicode_form_of_texts_and_keys_makes_no_difference(value: Any) -> None:
    """A model writes NFC, a file from a Mac NFD; both are the same text."""

    def spelt(form: Literal["NFC", "NFD"]) -> Any:
        return json.loads(unicodedata.normalize(form, json.dumps(value, ensure_ascii=False)))

    composed, decomposed = spelt("NFC"), spelt("NFD")
    assert equal(composed, decomposed)
    assert subset(decomposed, composed)


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
    assert parsed('"{\\"a\\": 1}"') == {"a": 1}
    deep = "[" * 100_000
    assert parsed(deep) == deep
    assert parsed("1" * 5000) == "1" * 5000


STATE = {
    "cases": {"CS-1": {"status": "open", "notes": [{"by": "ann"}, {"by": None}]}},
    "cases.CS-1.status": "flat",
    "a.b": {"c": 1, "d.e": 2},
    "a": {"b.x": 3, "b": {"y": 4}},
    "empty": {},
    "an\u0303os": {"2004": "x"},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a\u00f1os.2004", "x"),
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
