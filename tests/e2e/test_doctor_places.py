"""``nightgate doctor`` looks at the store and at the spool, a line a question, and calls no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_relay import Faults, s3_relay
from servers import S3Server
from shell import Ran, nightgate

JOURNAL = "000001-w.jsonl"


def lines(ran: Ran) -> dict[str, tuple[bool, bool, str]]:
    """Findings of ``--json -``: ok, warn and text, by what they are about."""
    return {row["what"]: (row["ok"], row["warn"], row["text"]) for row in ran.json["findings"]}


def left_behind(spool: Path, run_id: str, store: str | None = None) -> Path:
    """The journal of a process that is gone."""
    journal = spool / run_id / JOURNAL
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"x" * 1500 + b"\n")
    if store is not None:
        journal.with_name("store.txt").write_text(store)
    return journal


def test_a_folder_and_its_spool_are_looked_at_and_left_as_they_were(tmp_path: Path) -> None:
    """Neither is there yet, and a look makes neither."""
    ran = nightgate("doctor", "--store", tmp_path / "store", "--json", "-")

    found = lines(ran)
    assert ran.code == 0
    assert found["store"][2] == f"{tmp_path / 'store'}: written, read, listed, removed"
    assert found["store conditions"][0]
    assert found["spool"][0]
    assert "MB free" in found["spool"][2]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"]


def test_what_a_run_left_is_named_with_the_command_that_publishes_it(tmp_path: Path) -> None:
    """A spool serves many stores: the command names the run's own. It is a warning, nothing is broken."""
    left_behind(tmp_path / "spool", "night-1", "s3://bucket/evals")
    left_behind(tmp_path / "spool", "night-2")

    ran = nightgate("doctor", "--store", tmp_path / "store", "--spool", tmp_path / "spool")

    assert ran.code == 0
    flag = f"--spool {tmp_path / 'spool'}"
    assert "warn  spool night-1: 1 journals, 2 kB, left by a run" in ran.out
    assert f"nightgate publish night-1 --store s3://bucket/evals {flag}" in ran.out
    assert f"nightgate publish night-2 --store {tmp_path / 'store'} {flag}" in ran.out


@pytest.fixture
def behind_relay(s3_process: S3Server) -> Iterator[tuple[Faults, dict[str, str], str]]:
    """The relay's faults, the environment that finds it, and a store."""
    faults = Faults(client=s3_process.client())
    with s3_relay(s3_process.endpoint, faults=faults) as endpoint:
        uri = f"s3://{s3_process.bucket()}/evals"
        yield faults, {**s3_process.env, "AWS_ENDPOINT_URL": endpoint}, uri


@pytest.mark.server
def test_a_store_in_s3_is_looked_at_in_four_lines(
    behind_relay: tuple[Faults, dict[str, str], str], tmp_path: Path
) -> None:
    """Bucket and credentials, the object, the conditions, the clock; and nothing is left in the bucket."""
    _, env, uri = behind_relay

    ran = nightgate("doctor", "--store", uri, "--spool", tmp_path, "--json", "-", env=env)

    found = lines(ran)
    assert ran.code == 0
    assert all(
        found[f"store{line}"][:2] == (True, False) for line in (" access", "", " conditions", " clock")
    )


@pytest.mark.server
@pytest.mark.parametrize(
    ("ahead_s", "code", "ok", "warn"), [(60, 0, True, False), (420, 0, True, True), (1200, 1, False, True)]
)
def test_a_clock_that_drifts_is_told_before_requests_are_refused(
    behind_relay: tuple[Faults, dict[str, str], str],
    tmp_path: Path,
    ahead_s: int,
    code: int,
    *,
    ok: bool,
    warn: bool,
) -> None:
    """A third of the way is a warning; at 15 minutes nothing would be taken any more."""
    faults, env, uri = behind_relay
    faults.ahead_s = ahead_s

    ran = nightgate("doctor", "--store", uri, "--spool", tmp_path, "--json", "-", env=env)

    assert ran.code == code
    assert lines(ran)["store clock"][:2] == (ok, warn)
    assert "behind the server's" in lines(ran)["store clock"][2]


@pytest.mark.server
def test_the_look_leaves_nothing_in_the_bucket(
    behind_relay: tuple[Faults, dict[str, str], str], s3_process: S3Server, tmp_path: Path
) -> None:
    """It may be asked every five minutes."""
    _, env, uri = behind_relay

    nightgate("doctor", "--store", uri, "--spool", tmp_path, env=env)

    bucket = uri.removeprefix("s3://").partition("/")[0]
    assert s3_process.client().list_objects_v2(Bucket=bucket).get("Contents", []) == []
