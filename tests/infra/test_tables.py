"""Athena sees the columns that the files have, where the files lie."""

from __future__ import annotations

import importlib.util
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from infra.templates import NEEDED, TEMPLATE, Template
from nightgate.rows import keys
from nightgate.rows.schemas import TABLES
from shell import ROOT, SUPPORT, nightgate

NAMES = ("scores", "trials", "calls", "summaries")
FOUND = Template(NEEDED).of_type("AWS::Glue::Table")
BY_NAME = {table["TableInput"]["Name"]: table["TableInput"] for table in FOUND.values()}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """``infra/glue_columns.py``, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("glue_columns", ROOT / "infra" / "glue_columns.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared(table: Any) -> list[tuple[str, str]]:
    """Columns and then partitions, as Glue has them."""
    columns = [*table["StorageDescriptor"]["Columns"], *table["PartitionKeys"]]
    return [(column["Name"], column["Type"]) for column in columns]


@pytest.mark.parametrize("name", NAMES)
def test_columns_and_partitions_are_the_declared_schema(name: str, script: ModuleType) -> None:
    """Every column once, with its type; a new column in the schema fails here until it is written."""
    wanted = {(column.name, script.glue_type(column.type)) for column in TABLES[name].columns}

    assert sorted(declared(BY_NAME[name])) == sorted(wanted)


def test_the_script_has_nothing_to_write(script: ModuleType) -> None:
    """Order and form too."""
    there = TEMPLATE.read_text(encoding="utf-8")

    assert script.filled(there) == there


def test_the_script_writes_what_is_missing_and_asks_for_its_marks(script: ModuleType) -> None:
    """A column that was taken out by hand comes back; a mark that is gone is said."""
    there = TEMPLATE.read_text(encoding="utf-8")
    line = "            - { Name: evaluator_version, Type: int }\n"
    assert line in there

    assert script.filled(there.replace(line, "")) == there
    with pytest.raises(ValueError, match="0 pairs of the marks '# calls: begin'"):
        script.filled(there.replace("# calls: begin", "# calls"))


def test_a_type_that_no_table_had_is_not_guessed(script: ModuleType) -> None:
    """Athena reads some types as others, and some not at all."""
    assert script.glue_type(pa.list_(pa.string())) == "array<string>"
    with pytest.raises(KeyError):
        script.glue_type(pa.float16())


@pytest.mark.parametrize("name", NAMES)
def test_partitions_are_computed_from_suite_and_date(name: str) -> None:
    """Nothing crawls; the location is the layout of the store."""
    parameters = BY_NAME[name]["Parameters"]

    assert parameters["projection.enabled"] == "true"
    assert parameters["projection.suite.values"].split(",") == [
        *("support", "announcements", "skills", "appointments")
    ]
    assert (parameters["projection.date.type"], parameters["projection.date.format"]) == (
        *("date", "yyyy-MM-dd"),
    )
    place = parameters["storage.location.template"]
    filled = place.replace("${suite}", "support").replace("${date}", "2026-11-29")
    key = (
        keys.summaries_key("support", date(2026, 11, 29), "r-1")
        if name == "summaries"
        else keys.part_key(name, "support", date(2026, 11, 29), "r-1", "part-1.parquet")
    )
    assert f"s3://store/evals/{key}".startswith(filled)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With one run in it."""
    folder = tmp_path_factory.mktemp("store")
    ran = nightgate("run", SUPPORT, "--store", folder)
    assert ran.code == 0, ran.err
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_files_below_a_location_have_these_columns(name: str, store: Path) -> None:
    """Read back from a run, as whoever knows nothing of us would."""
    (day,) = (store / name / "support").iterdir()

    found = ds.dataset(day, format="parquet").schema.names

    assert sorted(found) == sorted(column for column, _ in declared(BY_NAME[name]))
