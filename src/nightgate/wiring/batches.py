"""A sweep's judges behind the providers' batch queues.

Owns how many judgements wait at a time, which is another number than the live calls in flight.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from nightgate.adapters.batch import BatchSettings
from nightgate.evaluators.registry import Registered
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.prices import FREE, PriceTable
from nightgate.requests import RunRequest

WINDOW = 10_000
"""Judgements that wait for a batch at a time: each holds its trial and its question."""
WINDOW_OF_THREADS = 500
"""The same for judges that are sync code: each of them holds a thread or two."""
READERS = 32
"""Stored trials that are read at a time."""


def queue_up(hub: Any, store: Store) -> None:
    """Put the queues in front of the judges that ``hub`` builds from here on.

    Raises:
        InputError: If the settings cannot be.
    """
    from nightgate.adapters.batch.queues import BatchQueues

    hub.queues = BatchQueues(store, BatchSettings.from_environ())


def widened(request: RunRequest, evaluators: Iterable[Registered]) -> RunRequest:
    """The request with room for all judgements that are to wait together."""
    threads = any(registered.facts.kind == "judge" and _is_sync(registered) for registered in evaluators)
    return replace(request, concurrency=READERS, judge_concurrency=WINDOW_OF_THREADS if threads else WINDOW)


def with_batch_prices(forecast: dict[str, Any], plan: Plan, prices: PriceTable) -> dict[str, Any]:
    """A sweep's forecast with what it would cost through the batch queues.

    Args:
        forecast: As ``sweeping.forecast`` gives it.
        plan: The sweep's.
        prices: The table.

    Returns:
        The same with ``usd_batch``, for the whole and for each evaluator: null where a price is unknown
        or a judge has no queue.
    """
    rows = [
        {**row, "usd_batch": _batch_usd(row["usd"], plan.evaluator(row["name"]), prices)}
        for row in forecast["evaluators"]
    ]
    dollars = [row["usd_batch"] for row in rows]
    return {**forecast, "evaluators": rows, "usd_batch": None if None in dollars else sum(dollars)}


def _batch_usd(usd: float | None, planned: PlannedEvaluator, prices: PriceTable) -> float | None:
    if planned.kind != "judge":
        return usd
    spec = planned.judge_model or ""
    price = None if spec.startswith("scripted:") else prices.price(spec)
    if usd is None or price is None:
        return None
    if price is FREE:
        return 0.0
    return None if price.batch_factor is None else usd * float(price.batch_factor)


def _is_sync(registered: Registered) -> bool:
    """Whether it waits in a thread: a Strands evaluator does unless it brings an async way of its own."""
    evaluator: Any = registered.evaluator
    inner = getattr(evaluator, "_inner", None)
    if inner is not None:
        return bool(type(inner).evaluate_async.__module__ == "strands_evals.evaluators.evaluator")
    return not inspect.iscoroutinefunction(evaluator.evaluate)
