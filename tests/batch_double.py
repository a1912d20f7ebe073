"""A batch queue in memory, that loses, doubles and shuffles lines as it is told.

Owns the double of ``BatchService`` for tests of what lies above it. The real services are held against
``batch_standin``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from makers import Journal, a_meter, a_scope
from nightgate.adapters.batch.accounts import Accounts
from nightgate.adapters.batch.engine import Engine
from nightgate.adapters.batch.records import Events, Found, Lost, Record, record_id
from nightgate.adapters.batch.service import Limits, Rendered, Standing
from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.meter import RetryPolicy, Wire
from nightgate.adapters.models import normalise_usage
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.calls import Role
from nightgate.ports import Store
from nightgate.prices import Budget, Price

SPEC = "tiny:judge"
QUICK = BatchSettings(poll_s=0.001, poll_cap_s=0.001, quiet_s=0.005, minimum=3, maximum=10)


class AwayError(ConnectionError):
    """The service is out of reach."""


@dataclass
class QueueDouble:
    """A provider's queue.

    Attributes:
        fates: What becomes of a record, by the ``n`` of its body: ok, missing, error, broken, nobody, twice.
        ends: How jobs end in turn: completed, partial, failed.
        troubles: What each submit meets in turn: None, ``before`` or ``after`` it arrived.
    """

    fates: Mapping[int, str] = field(default_factory=dict)
    ends: Sequence[str] = ()
    troubles: list[str | None] = field(default_factory=list)
    limits: Limits = field(default_factory=lambda: Limits(minimum=1, maximum=1000, most_bytes=1_000_000))
    jobs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    hold: asyncio.Event | None = None
    """While it is not set, no job is over."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a job was submitted."""

    def render(
        self, messages: Any, tool_specs: Any, system_prompt: str | None, extra: Mapping[str, Any]
    ) -> Rendered | None:
        """Text as it is; None for a request with tools."""
        del system_prompt, extra
        return None if tool_specs else Rendered(body={"text": messages[0]["content"][0]["text"]})

    def line(self, record: Record) -> bytes:
        """Id and body."""
        return json.dumps({"id": record.id, "body": record.body}).encode()

    async def find(self, job: str, since: datetime) -> str | None:
        """The job's own name is its id."""
        del since
        return job if job in self.jobs else None

    async def submit(self, job: str, lines: bytes) -> str:
        """Take a job, unless trouble comes first."""
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble == "refused":
            raise PermissionError("no batch rights")
        if trouble == "before":
            raise AwayError("away")
        self.jobs[job] = [json.loads(line) for line in lines.splitlines()]
        self.seen.update(told["id"] for told in self.jobs[job])
        self.arrived.set()
        if trouble == "after":
            raise AwayError("the answer was lost")
        return job

    async def standing(self, job_id: str) -> Standing:
        """Over, unless it is held."""
        if self.hold is not None and not self.hold.is_set():
            return Standing(over=False, word="in_progress")
        number = list(self.jobs).index(job_id)
        end = self.ends[number] if number < len(self.ends) else "completed"
        return Standing(over=True, word=end, ran=end != "failed", whole=end == "completed")

    async def results(self, job_id: str, standing: Standing) -> AsyncGenerator[bytes, None]:
        """Backwards; of a partial job the first half alone."""
        told = self.jobs[job_id]
        for one in reversed(told[: len(told) // 2] if standing.word == "partial" else told):
            fate = self.fates.get(one["body"].get("n", -1), "ok")
            for _ in range({"missing": 0, "twice": 2}.get(fate, 1)):
                yield b"{" if fate == "nobody" else json.dumps({**one, "fate": fate}).encode()

    def read(self, line: bytes) -> Found | None:
        """The fate of a line."""
        if line == b"{":
            return None
        told = json.loads(line)
        if told["fate"] == "error":
            return Found(record_id=told["id"], lost=Lost(why="the model failed"))
        return Found(record_id=told["id"], body={} if told["fate"] == "broken" else told["body"])

    def events(self, record: Record, body: Mapping[str, Any]) -> Events:
        """The body as text, ten tokens in and two out."""
        del record
        if not body:
            raise ValueError("no answer")
        return [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"delta": {"text": json.dumps(dict(body))}}},
            {"messageStop": {"stopReason": "end_turn"}},
            {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}}},
        ]

    async def close(self) -> None:
        """Nothing is open."""


def a_wire(price: Price | None) -> Wire:
    """Of the live model."""
    return Wire(
        spec=SPEC, price=price, normalise=lambda raw: normalise_usage(raw, "beside"), policy=RetryPolicy()
    )


def an_engine(
    queue: QueueDouble,
    *,
    store: Store | None = None,
    settings: BatchSettings = QUICK,
    journal: Journal | None = None,
    budget: Budget | None = None,
    price: Price | None = None,
) -> Engine:
    """An engine over a double."""
    meter = a_meter(journal=Journal() if journal is None else journal, budget=budget or Budget(None))
    return Engine(queue, Accounts(meter, a_wire(price)), store or InMemoryStore(), SPEC, settings)


def a_record(number: int, *, run_id: str = "r") -> Record:
    """The nth question of a run; the same number is the same record."""
    scope = a_scope(Role.JUDGE, run_id=run_id, case_id=f"c{number}", evaluator="E")
    body = {"n": number}
    return Record(
        id=record_id(scope, SPEC, body, 0),
        body=body,
        scope=scope,
        input_tokens=10,
        asked=None,
        answered=asyncio.get_running_loop().create_future(),
        since=0.0,
    )
