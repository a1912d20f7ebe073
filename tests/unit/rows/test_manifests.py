from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from nightgate.errors import DamagedError
from nightgate.rows.manifests import Manifest, PartRef

PARTS = tuple(
    PartRef(
        table=table,
        key=f"{table}/s/2026-11-29/r/part-{n:016}.parquet",
        rows=n,
        bytes=100 + n,
        sha256="ab" * 32,
    )
    for table, n in (("trials", 1), ("scores", 2), ("scores", 3))
)
MANIFEST = Manifest(
    run_id="r",
    suite="s",
    date=date(2026, 11, 29),
    run_kind="run",
    started_at=datetime(2026, 11, 29, 1, 30, tzinfo=UTC),
    schemas={"scores": "1.0", "trials": "1.0"},
    parts=tuple(sorted(PARTS, key=lambda part: part.key)),
    facts={"parent": None, "cells": 5, "takeovers": {"a/b": 2}},
)


def test_a_manifest_comes_back_exactly() -> None:
    """It is all that a reader knows of a run."""
    assert Manifest.from_json(MANIFEST.to_json()) == MANIFEST


def test_the_same_facts_give_the_same_bytes() -> None:
    """Two finishers of one run commit the same object, and the second is no conflict."""
    other = replace(MANIFEST, parts=MANIFEST.parts[::-1], facts=dict(reversed(MANIFEST.facts.items())))

    assert other.to_json() == MANIFEST.to_json()


def test_parts_are_found_by_table() -> None:
    """Readers take part names from here, never from a listing."""
    assert [part.rows for part in MANIFEST.of("scores")] == [2, 3]
    assert MANIFEST.rows("scores") == 5
    assert MANIFEST.rows("calls") == 0


def test_its_key_follows_from_its_facts() -> None:
    """There is one place for the commit of a run."""
    assert MANIFEST.key == "manifests/s/2026-11-29/r.json"


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\xff", MANIFEST.to_json()[:-40]])
def test_half_a_manifest_commits_nothing(data: bytes) -> None:
    """The run stays open."""
    with pytest.raises(DamagedError):
        Manifest.from_json(data)


def test_a_newer_manifest_is_refused_by_its_version() -> None:
    """An old gate must not decide on what it cannot read."""
    data = json.loads(MANIFEST.to_json())
    data["schema"] = 2

    with pytest.raises(DamagedError, match=r"manifest schema 2 was written by a newer nightgate"):
        Manifest.from_json(json.dumps(data).encode())
