"""Nothing in a stored document is believed before it has its type, and the message says what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nightgate.errors import DamagedError, ExitCode
from nightgate.rows.jsondocs import (
    COUNT,
    DAY,
    FLAG,
    ID,
    NUMBER,
    TEXT,
    DocumentKind,
    Each,
    NewerDocumentError,
    OrMissing,
    OrNull,
    one_of,
    problem_of,
)

BOOK = DocumentKind(
    name="book",
    schema=2,
    shape={"title": TEXT, "pages": [{"number": COUNT}], "note": OrMissing(OrNull(TEXT))},
    way_out="`make book` makes it again",
)
WHOLE = {"schema": 2, "title": "t", "pages": [{"number": 1, "more": "is fine"}]}


def read(data: Any) -> dict[str, Any]:
    """A document of these bytes, or of this value."""
    return BOOK.read(data if isinstance(data, bytes) else json.dumps(data).encode(), "books/one.json")


@pytest.mark.parametrize("document", [WHOLE, {**WHOLE, "schema": 1}, {**WHOLE, "note": None}])
def test_a_whole_document_is_handed_out_as_it_is(document: dict[str, Any]) -> None:
    """Keys that nobody asked for and older schemas are no damage."""
    assert read(document) == document


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"schema": 2, "ti', "no JSON: Unterminated string"),
        (b"", "no JSON: Expecting value"),
        (b"\xff\xfe\xfd", "no JSON: "),
        (b'{"schema": NaN}', "no JSON: NaN is no JSON"),
        (b"[" * 100_000, "no JSON: nested too deeply"),
        (rb'{"schema": 2, "title": "\ud83d", "pages": []}', "no JSON: "),
        (b"[]", "it is a list, not an object"),
        (b"null", "it is null, not an object"),
        (b"7", "it is 7, not an object"),
        ({"title": "t"}, "schema is missing"),
        ({**WHOLE, "schema": "2"}, 'schema is "2", not a schema number'),
        ({**WHOLE, "schema": 1.5}, "schema is 1.5, not a schema number"),
        ({**WHOLE, "schema": True}, "schema is true, not a schema number"),
        ({**WHOLE, "schema": 0}, "schema is 0, not a schema number"),
        ({**WHOLE, "title": None}, "title is null, not a text"),
        ({**WHOLE, "pages": {}}, "pages is an object, not a list"),
        ({**WHOLE, "pages": [{"number": 1}, None]}, "pages[1] is null, not an object"),
        ({**WHOLE, "pages": [{}]}, "pages[0].number is missing"),
        ({**WHOLE, "pages": [{"number": -1}]}, "pages[0].number is -1, not a count"),
        ({**WHOLE, "pages": [{"number": 10**400}]}, "pages[0].number is 1000"),
        ({**WHOLE, "note": 5}, "note is 5, not a text"),
    ],
)
def test_what_is_damaged_is_named_with_its_key_and_the_way_out(data: Any, problem: str) -> None:
    """A type name alone sends nobody to the right file."""
    with pytest.raises(DamagedError) as refused:
        read(data)

    text = str(refused.value)
    assert text.startswith(f"books/one.json: no book ({problem}")
    assert text.endswith("; `make book` makes it again")
    assert refused.value.exit_code is ExitCode.INCONCLUSIVE
    assert len(text) < 250


@pytest.mark.parametrize("more", [{}, {"title": None, "pages": "of another kind"}])
def test_a_newer_document_is_refused_by_name_whatever_is_in_it(more: dict[str, Any]) -> None:
    """What this program takes for damage may be the newer one's way."""
    with pytest.raises(
        NewerDocumentError,
        match=r"^books/one\.json: written by a newer nightgate, schema 3; this one knows 2: upgrade$",
    ):
        read({**WHOLE, "schema": 3, **more})


@pytest.mark.parametrize(
    ("shape", "good", "bad"),
    [
        (FLAG, [True, False], [0, 1, "true", None]),
        (COUNT, [0, 2**62], [True, 1.0, "1", 2**63]),
        (NUMBER, [0, -1.5], [True, float("nan"), float("inf"), "1"]),
        (DAY, ["2026-11-29", "2026-11-29T22:30:00.000Z"], ["", "2026-13-01", 20261129, None, ["2026-11-29"]]),
        (ID, ["support-2"], ["", "Support", "../x", "a" * 65, 7]),
        (one_of(["a", "b"]), ["a"], ["c", None, ["a"]]),
        (Each(COUNT), [{}, {"x": 1}], [[], {"x": None}]),
    ],
)
def test_each_shape_knows_its_own(shape: Any, good: list[Any], bad: list[Any]) -> None:
    """No value is turned into another one on the way, and none raises."""
    assert [value for value in good if problem_of(value, shape) is not None] == []
    assert [value for value in bad if problem_of(value, shape) is None] == []


def test_a_key_that_is_a_text_of_people_is_quoted_and_cut() -> None:
    """Case ids are any text of any length."""
    found = problem_of({"a\nb" + "x" * 300: 1}, Each(TEXT))

    assert found == f'["a\\nb{"x" * 35}] is 1, not a text'
