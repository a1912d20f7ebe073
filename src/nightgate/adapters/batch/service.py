"""What the engine needs of a provider's batch queue.

Owns the seam. Knows no provider.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from nightgate.adapters.batch.records import Events, Found, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes of a job."""

    minimum: int
    maximum: int
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a job is."""

    over: bool
    word: str
    """The provider's own word for it."""
    detail: str = ""
    ran: bool = True
    """Once it is over: whether it may have answered anything at all."""
    whole: bool = True
    """Once it is over: whether it looked at every record."""
    refs: Mapping[str, str] = field(default_factory=dict)
    """What it takes to read its results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A request as the provider's batch queue takes it."""

    body: Mapping[str, Any]
    asked: str | None = None
    """Name of the tool whose schema the request carries instead of the tool."""


class BatchService(Protocol):
    """One provider's queue for one model. All awaitables run on the home loop."""

    @property
    def limits(self) -> Limits:
        """Sizes that the provider accepts."""

    def render(
        self,
        messages: Any,
        tool_specs: Sequence[Mapping[str, Any]] | None,
        system_prompt: str | None,
        extra: Mapping[str, Any],
    ) -> Rendered | None:
        """The request of one call; None for one that the queue does not take."""

    def line(self, record: Record) -> bytes:
        """The record's line in the job's file, without the line feed."""

    async def find(self, job: str, since: datetime) -> str | None:
        """The provider's id of a job of this name, if it was ever submitted."""

    async def submit(self, job: str, lines: bytes) -> str:
        """Submit under a name and idempotency token; returns the provider's id."""

    async def standing(self, job_id: str) -> Standing:
        """Look at a job."""

    def results(self, job_id: str, standing: Standing) -> AsyncGenerator[bytes, None]:
        """The lines of its results, in whatever order."""

    def read(self, line: bytes) -> Found | None:
        """A line of the results; None for one that cannot even be told whose it is."""

    def events(self, record: Record, body: Mapping[str, Any]) -> Events:
        """An answer as the stream that the SDK expects.

        Raises:
            ValueError: If it has not the shape of an answer.
        """

    async def close(self) -> None:
        """Close its clients."""
