# ruff: noqa: INP001 - a script, not part of a package
"""Columns of the Athena tables in ``template.yaml``, from the declared Arrow schemas.

``python infra/glue_columns.py`` says whether the template has them (exit 0, else 1); ``--write`` puts them
between the marks ``# <table>: begin`` and ``# <table>: end``. Columns that the folders already say (suite,
date) are the tables' partitions, because Glue refuses a name that is both.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import pyarrow as pa

from nightgate.rows.schemas import TABLES, TableSchema

TEMPLATE = Path(__file__).with_name("template.yaml")
NAMES = ("scores", "trials", "calls", "summaries")
PARTITIONS = ("suite", "date")
_TYPES = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.float64(): "double",
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


def glue_type(kind: pa.DataType) -> str:
    """What Glue calls an Arrow type.

    Raises:
        KeyError: For one that no table had so far: say here what Athena reads it as.
    """
    if pa.types.is_list(kind):
        return f"array<{glue_type(kind.value_type)}>"
    return _TYPES[kind]


def columns(table: TableSchema) -> list[tuple[str, str]]:
    """Name and Glue type of every column that is no partition, in file order."""
    return [(c.name, glue_type(c.type)) for c in table.columns if c.name not in PARTITIONS]


def filled(template: str) -> str:
    """The template with the columns of all tables between their marks."""
    for name in NAMES:
        lines = "".join(f"            - {{ Name: {n}, Type: {t} }}\n" for n, t in columns(TABLES[name]))
        mark = re.compile(rf"(# {name}: begin\n).*?( *# {name}: end\n)", re.DOTALL)
        template, count = mark.subn(lambda found, new=lines: found[1] + new + found[2], template)
        if count != 1:
            msg = f"{TEMPLATE}: {count} pairs of the marks '# {name}: begin' and '# {name}: end', want one"
            raise ValueError(msg)
    return template


def main() -> int:
    """Check or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the columns into the template")
    write = parser.parse_args().write
    there = TEMPLATE.read_text(encoding="utf-8")
    wanted = filled(there)
    if write:
        TEMPLATE.write_text(wanted, encoding="utf-8")
    elif wanted != there:
        sys.stderr.write(f"{TEMPLATE}: columns differ from the schemas; run with --write\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
