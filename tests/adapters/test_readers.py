"""Stored folders read by other people's tools, without nightgate: from a folder and from S3."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
import s3fs

from nightgate.adapters.store import open_store
from nightgate.rows.facts import CaseFacts, RunFacts, score_row, trial_row
from nightgate.rows.keys import part_key, summaries_key
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.rows.parts import encode_part
from nightgate.rows.schemas import SCORES, SUMMARIES, TRIALS, TableSchema
from nightgate.rows.tables import build_table
from nightgate.scores import Blame, Cell, Score, Status
from nightgate.trials import Ending, Trial, TrialKey
from servers import S3Server, environment

DAYS = (date(2026, 11, 28), date(2026, 11, 29))
HARD_ID = "../réfund 🧾"


def write(uri: str) -> None:
    """Two nights of one suite. The first has no figure at all, and was never committed."""
    store = open_store(uri)
    for day, status in zip(DAYS, (Status.ERROR, Status.PASS), strict=True):
        run = RunFacts(run_id=f"r-{day:%d}", suite="support", date=day, agent_model="scripted:baseline")
        case = CaseFacts(case_id=HARD_ID, case_hash="h", stage="regression", tags=("a", "b"))
        found = Score(
            evaluator="ToolPolicy",
            version=1,
            status=status,
            reason="fine" if status is Status.PASS else "judge broke",
            score=0.5 if status is Status.PASS else None,
            blame=None if status is Status.PASS else Blame.JUDGE,
        )
        cell = Cell(
            case_id=HARD_ID,
            trial=0,
            score=found,
            cost_nanousd=7 if status is Status.PASS else None,
            scored_at=datetime(2026, 11, day.day, 1, 2, 3, 456789, tzinfo=UTC),
        )
        trial = Trial(
            key=TrialKey(run_id=run.run_id, suite="support", case_id=HARD_ID, trial=0),
            ending=Ending.COMPLETED,
            output="Yes. [KB-101]",
        )
        scores = put(uri, SCORES, run, [score_row(cell, run, case, threshold="1.0")])
        put(uri, TRIALS, run, [trial_row(trial, run, case)])
        counts = dict.fromkeys(
            [
                *("planned", "passed", "failed", "measured", "not_applicable", "not_applicable_allowed"),
                *("error", "skipped", "curtailed", "score_count"),
            ],
            1,
        )
        row = {
            "run_id": run.run_id,
            "suite": "support",
            "date": day,
            "case_id": HARD_ID,
            "case_hash": "h",
            "evaluator": "ToolPolicy",
            "evaluator_version": 1,
            **counts,
        }
        part = encode_part(build_table(SUMMARIES, [row]), SUMMARIES)
        store.create(summaries_key("support", day, run.run_id), part.data)
    manifest = Manifest(
        run_id=run.run_id,
        suite=run.suite,
        date=run.date,
        run_kind="run",
        started_at=None,
        schemas={"scores": SCORES.version},
        parts=(scores,),
    )
    store.create(manifest.key, manifest.to_json())


def put(uri: str, schema: TableSchema, run: RunFacts, rows: list[dict[str, Any]]) -> PartRef:
    part = encode_part(build_table(schema, rows), schema)
    key = part_key(schema.name, run.suite, run.date, run.run_id, part.name)
    open_store(uri).create(key, part.data)
    return PartRef(table=schema.name, key=key, rows=part.rows, bytes=part.bytes, sha256=part.sha256)


@pytest.fixture(scope="module", params=["folder", pytest.param("s3", marks=pytest.mark.server)])
def nights(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, S3Server | None]:
    """Where two nights lie, and the server behind it; readers change nothing."""
    if request.param == "folder":
        uri = str(tmp_path_factory.mktemp("readers") / "store")
        write(uri)
        return uri, None
    server: S3Server = request.getfixturevalue("s3_process")
    uri = f"s3://{server.bucket()}/evals/nightly"
    with environment(**server.env):
        write(uri)
    return uri, server


@pytest.fixture
def stored(
    nights: tuple[str, S3Server | None], request: pytest.FixtureRequest
) -> tuple[str, S3Server | None]:
    """The same, with the server found through the usual variables."""
    if nights[1] is not None:
        request.getfixturevalue("s3")
    return nights


def check(rows: list[dict[str, Any]]) -> None:
    """What every reader must find in the scores, in the order of the days."""
    assert [row["run_id"] for row in rows] == ["r-28", "r-29"]
    assert [row["case_id"] for row in rows] == [HARD_ID, HARD_ID]
    assert [row["status"] for row in rows] == ["error", "pass"]
    assert [row["blame"] for row in rows] == ["judge", None]
    assert [row["score"] for row in rows] == [None, 0.5]
    assert [row["cost_nanousd"] for row in rows] == [None, 7]
    assert [list(row["tags"]) for row in rows] == [["a", "b"], ["a", "b"]]
    assert [row["date"] for row in rows] == list(DAYS)
    assert rows[1]["scored_at"] == datetime(2026, 11, 29, 1, 2, 3, 456789, tzinfo=UTC)


def test_duckdb_reads_the_scores(stored: tuple[str, S3Server | None]) -> None:
    """A glob over all nights; through s3fs for S3, as DuckDB's own extension is a download."""
    uri, server = stored
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if server:
        connection.register_filesystem(s3fs.S3FileSystem(**server.storage_options))

    query = connection.execute(f"SELECT * FROM read_parquet('{uri}/scores/**/*.parquet') ORDER BY date")

    names = [column[0] for column in query.description]
    assert names == list(SCORES.names)
    check([dict(zip(names, row, strict=True)) for row in query.fetchall()])


def test_polars_reads_the_scores(stored: tuple[str, S3Server | None]) -> None:
    """Lazily, so that a question about one column reads one column."""
    uri, server = stored
    options = None
    if server:
        options = {
            "aws_endpoint_url": server.endpoint,
            "aws_access_key_id": server.access_key,
            "aws_secret_access_key": server.secret_key,
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
        }

    frame = pl.scan_parquet(f"{uri}/scores/**/*.parquet", storage_options=options).sort("date").collect()

    assert frame.columns == list(SCORES.names)
    check(frame.to_dicts())


def test_pandas_reads_the_folder_of_scores(stored: tuple[str, S3Server | None]) -> None:
    """The whole folder as it is: no ``key=value`` folders that would turn into columns."""
    uri, server = stored
    options = server.storage_options if server else None

    frame = pd.read_parquet(f"{uri}/scores", storage_options=options).sort_values("date")

    assert list(frame.columns) == list(SCORES.names)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    check([{**row, "scored_at": row["scored_at"].to_pydatetime()} for row in rows])


@pytest.mark.parametrize("table", ["trials", "summaries"])
def test_the_other_folders_are_read_the_same_way(stored: tuple[str, S3Server | None], table: str) -> None:
    """Nothing else lies in a table's folder, so nothing breaks the reading of it."""
    uri, server = stored

    frame = pd.read_parquet(f"{uri}/{table}", storage_options=server.storage_options if server else None)

    assert list(frame["suite"]) == ["support", "support"]
    assert sorted(frame["run_id"]) == ["r-28", "r-29"]


SNIPPETS = re.findall(
    r"```python\n(.*?)```",
    (Path(__file__).parents[2] / "docs" / "rows.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


@pytest.mark.parametrize("number", range(4), ids=["duckdb", "polars", "pandas", "manifests"])
def test_the_documented_ways_of_reading_work(
    stored: tuple[str, S3Server | None], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a folder and against S3, with nothing but the usual variables set."""
    uri, _ = stored
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")  # the server on loopback has no certificate
    names: dict[str, Any] = {"store": uri}

    exec(SNIPPETS[number], names)  # what the page tells readers to run

    first, second = ("support", DAYS[0], "ToolPolicy"), ("support", DAYS[1], "ToolPolicy")
    if number < 3:
        assert names["result"] == [(*first, 0, 0, 1), (*second, 1, 1, 1)]
    else:
        assert names["result"] == [(*second, 1)]


def test_every_snippet_of_the_page_is_run() -> None:
    """One that is added later must not go untested."""
    assert len(SNIPPETS) == 4
