"""``docs/rows.md`` is what users build on: it lists exactly what the schemas declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nightgate.rows.schemas import SCORES, TABLES, TableSchema

TEXT = (Path(__file__).parents[3] / "docs" / "rows.md").read_text(encoding="utf-8")
TYPES = {
    "date32[day]": "date32",
    "timestamp[us, tz=UTC]": "timestamp[us, UTC]",
    "list<element: string>": "list<string>",
}
ATHENA = {
    "string": "string",
    "int32": "int",
    "int64": "bigint",
    "double": "double",
    "bool": "boolean",
    "date32": "date",
    "timestamp[us, UTC]": "timestamp",
    "list<string>": "array<string>",
}


def shown_type(schema: TableSchema, name: str) -> str:
    text = str(schema.arrow.field(name).type)
    return TYPES.get(text, text)


def documented(schema: TableSchema) -> list[list[str]]:
    """The cells of a table's rows."""
    _, _, after = TEXT.partition(f"### {schema.name}, schema {schema.version}\n")
    section = after.partition("\n### ")[0]
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in re.findall(r"^\| `.*\|$", section, re.MULTILINE)
    ]


@pytest.mark.parametrize("schema", TABLES.values(), ids=TABLES)
def test_the_page_lists_exactly_the_columns_in_order(schema: TableSchema) -> None:
    """A column that is not written down is not promised to anyone."""
    assert [(row[0].strip("`"), row[1]) for row in documented(schema)] == [
        (name, shown_type(schema, name)) for name in schema.names
    ]


@pytest.mark.parametrize("schema", TABLES.values(), ids=TABLES)
def test_the_page_says_what_null_means_where_there_can_be_one(schema: TableSchema) -> None:
    """Unknown and none are not the same."""
    said = {row[0].strip("`"): row[4] for row in documented(schema)}

    assert {name for name, null in said.items() if null == "never null"} == {
        column.name for column in schema.columns if column.required
    }
    assert all(said.values())


def test_the_athena_table_has_the_columns_of_the_scores() -> None:
    """Athena takes what it is told; a missing column would never be seen."""
    statement = TEXT.partition("CREATE EXTERNAL TABLE nightgate_scores (\n")[2].partition("\n)")[0]

    assert re.findall(r"`(\w+)` ([\w<>]+)", statement) == [
        (name, ATHENA[shown_type(SCORES, name)]) for name in SCORES.names
    ]
