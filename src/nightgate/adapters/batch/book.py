"""The jobs of a sweep in its store, so that any process can go on where another one died.

Owns two create-only objects a job: what is in it, written before it is submitted, and the provider's id,
written after. Knows no provider.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nightgate.adapters.batch.records import Record
from nightgate.ports import Store
from nightgate.rows.keys import run_key

_FOLDER = "batches/"
_SUBMITTED = ".submitted.json"


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """Records that were, or are about to be, submitted together."""

    name: str
    record_ids: tuple[str, ...]
    created_at: datetime
    job_id: str | None = None
    """The provider's; None until it is known to be submitted."""
    stored: bool = False
    """Whether somebody may have submitted it: it is looked for first."""
    waiting: dict[str, Record] = field(default_factory=dict)
    """Those of its records that somebody here asks for."""


class JobBook:
    """Jobs of one run for one judge.

    Args:
        store: The run's.
        run_id: The sweep.
        spec: The judge's model.
    """

    def __init__(self, store: Store, run_id: str, spec: str) -> None:
        self._store, self._run_id, self._spec = store, run_id, spec

    def load(self) -> list[Job]:
        """All jobs that any process of this run has begun."""
        prefix = run_key(self._run_id, "batches")
        keys = set(self._store.find(f"{prefix}/"))
        jobs: list[Job] = []
        for key in sorted(key for key in keys if not key.endswith(_SUBMITTED)):
            told = json.loads(self._store.read(key))
            if told["model"] != self._spec:
                continue
            submitted = self._key(f"{told['job']}{_SUBMITTED}")
            jobs.append(
                Job(
                    name=told["job"],
                    record_ids=tuple(told["records"]),
                    created_at=datetime.fromisoformat(told["created_at"]),
                    job_id=json.loads(self._store.read(submitted))["job_id"] if submitted in keys else None,
                    stored=True,
                )
            )
        return jobs

    def new(self, records: Sequence[Record]) -> Job:
        """A job of these records; nothing is stored yet."""
        ids = tuple(sorted(record.id for record in records))
        digest = hashlib.sha256("\n".join((self._run_id, self._spec, *ids)).encode()).hexdigest()[:40]
        return Job(
            name=f"nightgate-{digest}",
            record_ids=ids,
            created_at=datetime.now(UTC),
            waiting={record.id: record for record in records},
        )

    def submitting(self, job: Job) -> None:
        """Write down that it is about to be submitted."""
        told = {
            "schema": 1,
            "job": job.name,
            "state": "submitting",
            "model": self._spec,
            "created_at": job.created_at.isoformat(),
            "records": list(job.record_ids),
        }
        self._store.create(self._key(f"{job.name}.json"), _json(told))

    def submitted(self, job: Job, job_id: str) -> None:
        """Write down under which id the provider has it."""
        told = {"schema": 1, "job": job.name, "state": "submitted", "job_id": job_id}
        self._store.create(self._key(f"{job.name}{_SUBMITTED}"), _json(told))
        job.job_id = job_id

    def drop(self, job: Job) -> None:
        """Forget a job of which the provider knows nothing."""
        self._store.delete([self._key(f"{job.name}.json")])

    def _key(self, name: str) -> str:
        return run_key(self._run_id, f"{_FOLDER}{name}")


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
