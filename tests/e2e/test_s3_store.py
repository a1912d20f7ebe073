"""The same commands against a real S3 server: same figures, rows that other tools read, same verdict."""

from __future__ import annotations

from typing import Any

import pytest

from servers import S3Server
from shell import SUPPORT, nightgate

SAME = (
    "verdict",
    "exit_code",
    "cells",
    "trials",
    "layers",
    "families",
    "flaky",
    "findings",
    "tokens",
    "cost_usd",
)


@pytest.fixture(scope="module")
def stored(s3_process: S3Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Any]:
    """One run in S3 and one in a folder."""
    uri = f"s3://{s3_process.bucket()}/evals"
    folder = tmp_path_factory.mktemp("folder")
    flags = ("--model", "scripted:upgraded", "--trials", "2", "--json", "-")
    cloud = nightgate("run", SUPPORT, "--store", uri, "--spool", folder / "spool", *flags, env=s3_process.env)
    local = nightgate("run", SUPPORT, "--store", folder / "store", *flags)
    assert (cloud.code, local.code) == (1, 1), cloud.err
    return uri, cloud.json, local.json


def test_summary_is_the_same_in_s3_and_in_a_folder(stored: tuple[str, Any, Any]) -> None:
    """One code path for both."""
    _, cloud, local = stored

    assert {name: cloud[name] for name in SAME} == {name: local[name] for name in SAME}


def test_gate_reads_the_rows_back_from_s3(stored: tuple[str, Any, Any], s3_process: S3Server) -> None:
    """The verdict stands on the stored rows."""
    ran = nightgate("gate", "latest", "--store", stored[0], env=s3_process.env)

    assert ran.code == 1
    assert "ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]" in ran.out


def test_duckdb_polars_and_pandas_count_the_same_rows(
    stored: tuple[str, Any, Any], s3_process: S3Server
) -> None:
    """Rows are the user's: no tool of ours is needed to read them."""
    import duckdb
    import pandas as pd
    import polars as pl
    import s3fs

    folder = f"{stored[0].removeprefix('s3://')}/scores"
    files = s3fs.S3FileSystem(**s3_process.storage_options)
    connection = duckdb.connect()
    connection.register_filesystem(files)

    by_duckdb = connection.sql(f"select count(*) from read_parquet('s3://{folder}/**/*.parquet')").fetchall()
    by_pandas = len(pd.read_parquet(folder, filesystem=files))
    by_polars = sum(len(pl.read_parquet(files.open(path))) for path in files.glob(f"{folder}/**/*.parquet"))

    assert by_duckdb == [(28,)]
    assert (by_pandas, by_polars) == (28, 28)


def test_nothing_is_left_in_staging(stored: tuple[str, Any, Any], s3_process: S3Server) -> None:
    """A committed run is whole; what led to it is cleared away."""
    bucket, _, prefix = stored[0].removeprefix("s3://").partition("/")

    listed = s3_process.client().list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/staging/")

    assert listed.get("Contents", []) == []


def test_a_missing_bucket_is_told_before_anything_is_spent(s3_process: S3Server) -> None:
    """Not after the night."""
    ran = nightgate("run", SUPPORT, "--store", "s3://no-such-bucket-here/x", env=s3_process.env)

    assert ran.code in (2, 3)
    assert "no-such-bucket-here" in ran.err
    assert "Traceback" not in ran.err
