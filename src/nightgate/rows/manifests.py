"""The commit of a run: which objects it consists of, with their sizes and digests.

Owns the manifest's format. Knows no store. A run without a manifest is open; readers take part
names from here, never from a listing. Imports no pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from nightgate.errors import DamagedError
from nightgate.rows.jsontext import json_text, json_value
from nightgate.rows.keys import manifest_key

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRef:
    """An object of a run.

    Attributes:
        table: Which table it belongs to.
        key: Where it lies.
        rows: How many it holds.
        bytes: Its length.
        sha256: Of the whole object, 64 hex digits.
    """

    table: str
    key: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A committed run.

    Attributes:
        date: UTC day of the scheduled start; part of every key.
        schemas: Table -> version that its parts were written in.
        started_at: In UTC; null only where a run never started.
        facts: What the finisher fixed, as JSON values: counts, parent run, the plan's digest,
            which of several records of a trial won.
        parts: Sorted by key.
    """

    run_id: str
    suite: str
    date: date
    run_kind: str
    started_at: datetime | None
    schemas: Mapping[str, str]
    parts: tuple[PartRef, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Where it is put, last and once."""
        return manifest_key(self.suite, self.date, self.run_id)

    def of(self, table: str) -> tuple[PartRef, ...]:
        """The parts of one table, in their order."""
        return tuple(part for part in self.parts if part.table == table)

    def rows(self, table: str) -> int:
        """How many rows a table has in this run."""
        return sum(part.rows for part in self.of(table))

    def to_json(self) -> bytes:
        """The object's bytes; the same manifest gives the same bytes."""
        data = {
            "schema": VERSION,
            "run_id": self.run_id,
            "suite": self.suite,
            "date": f"{self.date:%Y-%m-%d}",
            "run_kind": self.run_kind,
            "started_at": None if self.started_at is None else self.started_at.isoformat(),
            "schemas": dict(self.schemas),
            "facts": self.facts,
            "parts": [_part_json(part) for part in sorted(self.parts, key=lambda part: part.key)],
        }
        # Through json_text first, so that odd values in the facts cannot break the commit.
        plain = json.loads(json_text(data))
        return json.dumps(plain, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """The manifest behind an object's bytes.

        Raises:
            DamagedError: If they are no manifest, or one of a newer version.
        """
        try:
            found = json_value(data.decode())
            version = found["schema"]
            if not isinstance(version, int) or version > VERSION:
                msg = (
                    f"manifest schema {version} was written by a newer nightgate; this one reads"
                    f" up to {VERSION}. Upgrade nightgate to read this run."
                )
                raise DamagedError(msg)
            started = found["started_at"]
            return cls(
                run_id=found["run_id"],
                suite=found["suite"],
                date=date.fromisoformat(found["date"]),
                run_kind=found["run_kind"],
                started_at=None if started is None else datetime.fromisoformat(started),
                schemas=found["schemas"],
                parts=tuple(_part_ref(part) for part in found["parts"]),
                facts=found["facts"],
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            msg = f"no manifest: {len(data)} bytes: {type(error).__name__}: {error}"
            raise DamagedError(msg) from error


def _part_json(part: PartRef) -> dict[str, Any]:
    return {
        "table": part.table,
        "key": part.key,
        "rows": part.rows,
        "bytes": part.bytes,
        "sha256": part.sha256,
    }


def _part_ref(data: Mapping[str, Any]) -> PartRef:
    return PartRef(
        table=str(data["table"]),
        key=str(data["key"]),
        rows=int(data["rows"]),
        bytes=int(data["bytes"]),
        sha256=str(data["sha256"]),
    )
