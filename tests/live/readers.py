"""What a run left in its store, read with pyarrow alone: part names from the manifest, as users do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]


def rows(store: Path, table: str) -> list[Row]:
    """All rows of one table of the only committed run in ``store``, in stored order."""
    (manifest,) = [json.loads(path.read_text()) for path in (store / "manifests").rglob("*.json")]
    keys = [part["key"] for part in manifest["parts"] if part["table"] == table]
    return [row for key in keys for row in pq.ParquetFile(store / key).read().to_pylist()]


def outcomes(calls: list[Row]) -> list[str]:
    """How the attempts ended, in order."""
    return [call["outcome"] for call in calls]
