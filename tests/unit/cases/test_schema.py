from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from nightgate.cases.schema import render, suite_schema

CASES = Path(__file__).parents[3] / "cases"


def _errors(document: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(suite_schema()).iter_errors(document)]


def test_the_committed_schema_is_fresh() -> None:
    """Editors read the file, not the models: `python -m nightgate.cases.schema` writes it."""
    assert (CASES / "schema.json").read_text(encoding="utf-8") == render()


def test_the_schema_is_itself_valid() -> None:
    """An editor drops a broken schema in silence."""
    jsonschema.Draft202012Validator.check_schema(suite_schema())


def test_the_sample_suites_fit_the_schema() -> None:
    """The loader is the judge; the schema must not underline what loads."""
    files = [*CASES.glob("*/*.yaml"), *CASES.glob("*/scripts/*.yaml")]

    for file in files:
        assert _errors(YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))) == [], file


@pytest.mark.parametrize(
    "document",
    [
        {"suite": "s", "agent": "a:b", "model": "scripted:x", "ownr": "me"},
        {"cases": [{"id": "a", "inptu": "x"}]},
        {"cases": [{"id": "a", "input": "x", "path": "y"}]},
        {"replies": {"a": [{"sya": "x"}]}},
        {"replies": {"a": {"say": "x"}}},
        {"judgements": {"J": {"a": {"first_match": []}}}},
        {"judgements": {"J": {"a": {"sees": "x", "raw": "y"}}}},
        {"judgements": {"J": {"a": {"first_match": [{"raw": "y"}], "delay_s": 1}}}},
        {"replies": {"a": {"first_match": [{"say": "y"}]}}},
    ],
)
def test_what_the_loader_refuses_by_shape_the_schema_underlines(document: dict[str, Any]) -> None:
    """Typos are seen while they are typed."""
    assert _errors(document)


@pytest.mark.parametrize(
    "document",
    [
        {"cases": [{"id": 7, "input": "x", "language": "no", "tags": [True, 1.5]}]},
        {"suite": "s", "agent": "a:b", "model": "scripted:x", "evaluators": {"CitesSource": None}},
        {"replies": {"a": [{"say": True}, {"call": [{"t": {}}, {"u": "text"}]}]}},
        {"judgements": {"J": {"*": {"fields": "best"}, "a": {"trials": [{"raw": "x"}, [{"raw": "y"}]]}}}},
        {"judgements": {"J": {"a": {"first_match": [{"sees": 1, "raw": True}, {"fields": "best"}]}}}},
        {"judgements": {"J": {"a": {"trials": [{"first_match": [{"raw": "x"}]}, {"raw": "y"}]}}}},
    ],
)
def test_text_that_looks_like_something_else_is_not_underlined(document: dict[str, Any]) -> None:
    """An editor reads 007 as a number where the loader keeps the text."""
    assert _errors(document) == []


def test_attributes_carry_their_docstrings() -> None:
    """That is what an editor shows on hover."""
    case = suite_schema()["$defs"]["Case"]["properties"]

    assert case["id"]["description"].startswith("Any text, unique in the suite")


def test_an_entry_of_first_match_carries_the_notes_of_a_step() -> None:
    """It is a step with one key more."""
    choice = suite_schema()["$defs"]["Choice"]["properties"]

    assert choice["delay_s"].keys() == suite_schema()["$defs"]["Step"]["properties"]["delay_s"].keys()
    assert choice["say"]["description"].startswith("Text of the answer")
    assert choice["sees"]["description"].startswith("Pattern looked for")
