"""The money and the ledger of batched records.

Owns a record's ledger row, which is opened before its job is submitted and closed when its line is read,
at the batch price; and what is held of the cap meanwhile. Knows no provider and no job.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from nightgate.adapters.batch.records import Events, Lost, Record
from nightgate.adapters.meter import Meter, Wire
from nightgate.adapters.replies import Reply
from nightgate.calls import CallStart, Outcome
from nightgate.errors import BudgetError, ModelCallError
from nightgate.prices import (
    FREE,
    Price,
    cost_nanousd,
    estimate_call_nanousd,
    list_and_batch_nanousd,
)
from nightgate.trials import Usage

_OUTPUT_TOKENS = 1024
"""Guess of an answer's length until one was seen."""


def batch_price(price: Price | None) -> Price | None:
    """What a record costs, of the list price: None stays unknown, and nothing stays nothing."""
    return price if price is None or price.batch is None else price.batch


class Accounts:
    """Of one judge's model.

    Args:
        meter: The run's: budget, journal.
        wire: Of the live model; its price is the list price.
    """

    def __init__(self, meter: Meter, wire: Wire) -> None:
        self._meter, self._wire = meter, wire
        self._price = batch_price(wire.price)
        self._longest = 0
        """Output tokens of the longest answer so far."""
        self._underrated = 1.0
        """By what factor an input was larger than its guess, at the most."""

    def hold(self, record: Record) -> None:
        """Hold the record's money.

        Raises:
            BudgetError: If it could pass the cap.
        """
        held = 0
        if self._price is not None and self._price is not FREE:
            output = self._longest or int(record.scope.limits.get("output_tokens", 0)) or _OUTPUT_TOKENS
            held = estimate_call_nanousd(self._price, int(record.input_tokens * self._underrated) + 1, output)
        record.reservation = self._meter.budget.reserve(held)

    def release(self, record: Record) -> None:
        """Give back what was held: it was not submitted."""
        if record.reservation is not None:
            self._meter.budget.cancel(record.reservation)
            record.reservation = None

    def sent(self, record: Record) -> None:
        """Open the record's ledger row."""
        record.started_at = datetime.now(UTC)
        self._meter.journal(self._start(record))

    def _start(self, record: Record) -> CallStart:
        at = record.started_at or datetime.now(UTC)
        return record.scope.start(record.call_id, self._wire.spec, attempt=1, at=at)

    def answered(self, record: Record, events: Events) -> None:
        """Close the row of a record that was answered, and say so to its judgement."""
        reply = Reply(self._wire.normalise)
        for event in events:
            reply.take(event, 0.0)
        usage = reply.usage
        if usage is not None:
            read = usage.input + usage.cache_read + usage.cache_write
            self._longest = max(self._longest, usage.output)
            self._underrated = max(self._underrated, read / max(1, record.input_tokens))
        self._close(record, Outcome.OK, None, usage, self._cost(usage), reply)
        scope = record.scope
        fatal = scope.fatal
        stands = isinstance(fatal, BudgetError) or (
            isinstance(fatal, ModelCallError) and fatal.kind == "call_cap"
        )
        scope.fatal = fatal if stands else None
        scope.last_reply = reply.text
        scope.raw_arguments.update(reply.odd_arguments)

    def lost(self, record: Record, lost: Lost) -> None:
        """Close the row of a record that has no answer."""
        nothing = lost.billed is False or self._price is FREE
        usage = Usage() if lost.billed is False else None
        self._close(record, lost.outcome, lost.why, usage, 0 if nothing else None, None)

    def _cost(self, usage: Usage | None) -> int | None:
        if self._price is FREE:
            return 0
        return None if usage is None or self._price is None else cost_nanousd(usage, self._price)

    def _close(
        self,
        record: Record,
        outcome: Outcome,
        error: str | None,
        usage: Usage | None,
        cost: int | None,
        reply: Reply | None,
    ) -> None:
        scope = record.scope
        call = self._start(record).ended(
            outcome,
            error=error,
            stop_reason=None if reply is None else reply.stop_reason,
            system_fingerprint=None if reply is None else reply.system_fingerprint,
            usage=usage,
            cost_nanousd=cost,
            list_nanousd=list_and_batch_nanousd(usage, self._wire.price)[0],
            batch_nanousd=cost,
            wait_ms=round((time.monotonic() - record.since) * 1000, 3),
            late=scope.closed,
            ended_at=datetime.now(UTC),
        )
        if record.reservation is None:
            self._meter.budget.add_spent(cost or 0)  # an earlier process submitted it
        else:
            self._meter.budget.settle(record.reservation, cost)
        scope.calls.append(call)
        self._meter.journal(call)
