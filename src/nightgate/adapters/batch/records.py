"""What waits for a batch: one request a record, and what became of it.

Owns a record's id, which is a digest of what is asked and for which cell: the same judgement rendered
again after a kill is the same record, so that its answer is found instead of paid for twice. Knows no
provider and no job.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nightgate.calls import Call, Outcome, Scope
from nightgate.prices.budget import Reservation

_CALL = "batch-"

Events = list[Any]
"""A whole answer as the SDK's stream events."""


@dataclass(slots=True, kw_only=True, eq=False)
class Record:
    """One request that waits for its answer."""

    id: str
    body: Mapping[str, Any]
    """The provider's request, as it will stand in the job's file."""
    scope: Scope
    input_tokens: int
    """A guess."""
    asked: str | None
    """Name of the tool by which a typed answer was asked for, where the request asks by schema."""
    answered: asyncio.Future[Events | None]
    """The answer; None: send it live."""
    since: float
    """Monotonic seconds."""
    reservation: Reservation | None = None
    started_at: datetime | None = None
    capped: bool = False
    """It once did not fit the cap, so that those that it was to be queued with went ahead."""

    @property
    def call_id(self) -> str:
        """Of its ledger row: the same in every process, so that one record is one row."""
        return f"{_CALL}{self.id}"

    def settle(self, events: Events | None) -> None:
        """Hand over the answer; None: it has to go live."""
        if not self.answered.done():
            self.answered.set_result(events)

    def fail(self, error: BaseException) -> None:
        """Hand over why there is none."""
        self.scope.fatal = error
        if not self.answered.done():
            self.answered.set_exception(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Why a record has no answer."""

    why: str
    outcome: Outcome = Outcome.ERROR
    billed: bool | None = False
    """None: nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One line of a job's results."""

    record_id: str
    body: Mapping[str, Any] | None = None
    lost: Lost | None = None


def record_id(scope: Scope, spec: str, body: Mapping[str, Any], nth: int) -> str:
    """The id of a request for a cell.

    Args:
        scope: Whose judgement it is.
        spec: Of the judge's model.
        body: The request.
        nth: How often this judgement has asked exactly this before.

    Returns:
        32 hex digits.
    """
    who = [scope.run_id, scope.case_id, scope.trial, scope.evaluator, scope.repeat, scope.play, spec, nth]
    text = json.dumps([who, body], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def awaits_batch(call: Call) -> bool:
    """Whether a ledger row is of a record whose answer will come under the same id.

    After a kill such a call is not lost: it counts when its answer is read.
    """
    return call.call_id.startswith(_CALL) and call.outcome is Outcome.UNKNOWN and call.ended_at is None
