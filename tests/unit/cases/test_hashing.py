from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.cases import Case, canonical_json, case_hash
from nightgate.cases.binding import bind
from nightgate.cases.documents import parse_yaml

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
OBJECT = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), JSON, max_size=5)


def _case(**parts: Any) -> Case:
    return Case(**{"id": "a", "input": "x", **parts})


def _shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(value[key]) for key in reversed(list(value))}
    return [_shuffled(item) for item in value] if isinstance(value, list) else value


@given(OBJECT)
def test_the_order_of_keys_changes_no_hash(context: dict[str, Any]) -> None:
    """Moving a line in a file makes no other case."""
    assert case_hash(_case(context=context)) == case_hash(_case(context=_shuffled(context)))


@given(
    st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip),
    st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip),
)
def test_another_input_is_another_hash(first: str, second: str) -> None:
    """Text is taken as it is, without normalisation: the model reads it so."""
    assert (case_hash(_case(input=first)) == case_hash(_case(input=second))) is (first == second)


@pytest.mark.parametrize(
    "parts",
    [
        {"id": "b"},
        {"why": "because"},
        {"tags": ("t",)},
        {"family": "f"},
        {"language": "es"},
        {"layer": "quality"},
        {"stage": "capability"},
        {"blocking": True},
        {"trials": 7},
        {"canary": True},
        {"line": 9},
        {"path": Path("elsewhere.yaml")},
        {"quarantine": {"owner": "o", "reason": "r", "until": "2026-12-01"}},
    ],
)
def test_what_does_not_change_the_meaning_changes_no_hash(parts: dict[str, Any]) -> None:
    """A note in `why` must not make last night's baseline incomparable."""
    assert case_hash(_case(**parts)) == case_hash(_case())


@pytest.mark.parametrize(
    "parts",
    [
        {"context": {"customer": 1}},
        {"expect": {"cites": []}},
        {"expect": {"blocked": False}},
        {"require": ("ToolPolicy",)},
        {"may_skip": ("ToolPolicy",)},
        {"persona": {"goal": "g", "success": {"state": {"a": 1}}}},
    ],
)
def test_what_changes_the_meaning_changes_the_hash(parts: dict[str, Any]) -> None:
    """Edited text under the same id counts as changed; `cites: []` is not the same as no cites."""
    assert case_hash(_case(**parts)) != case_hash(_case())


def test_a_default_that_is_written_out_is_the_same_case() -> None:
    """So that a new key of a later version changes no hash."""
    short = _case(expect={"arguments": [{"tool": "t", "where": {}}]})
    long = _case(
        expect={"arguments": [{"tool": "t", "where": {}, "match": "subset"}], "state": {}}, context={}
    )

    assert case_hash(short) == case_hash(long)


def test_the_hash_is_pinned() -> None:
    """Stored rows carry it; a change of the algorithm would cut every history."""
    case, _ = bind(
        Case,
        parse_yaml(
            "{id: x, input: h\u00e9, context: {b: 1, a: [true, ~]}, expect: {cites: [KB-1]}}", Path("x")
        ),
        Path("x"),
    )

    assert case_hash(case) == "4e74ba5ba40c10d8"


@given(JSON)
def test_canonical_json_is_the_same_bytes_for_the_same_value(value: Any) -> None:
    """Digests of it decide whether something is paid for again."""
    assert canonical_json(value) == canonical_json(_shuffled(value))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_canonical_json_refuses_what_json_cannot_say(value: float) -> None:
    """NaN would make a file that strict readers refuse."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": value})


def test_canonical_json_refuses_keys_that_are_no_text() -> None:
    """1 and "1" would become the same key."""
    with pytest.raises(TypeError, match="keys must be text"):
        canonical_json({1: "a"})
