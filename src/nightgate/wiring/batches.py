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
from nightgate.ports import Store
from nightgate.requests import RunRequest

WINDOW = 10_000
"""Judgements that wait for a batch at a time: each holds its trial and its question."""
WINDOW_OF_THREADS = 500
"""The same for judges that are sync code: each of them holds a thread or two."""
READERS = 32
"""Stored trials that are read at a time."""


def queue_up(hub: Any, store: Store, *, live: int, owner: str | None = None) -> None:
    """Put the queues in front of the judges that ``hub`` builds from here on.

    Args:
        hub: Of the judges.
        store: Where the state of jobs lies.
        live: Judgements whose calls may go live at a time.
        owner: The sweep whose parts share the queues; None: each run has its own.

    Raises:
        InputError: If the settings cannot be.
    """
    from nightgate.adapters.batch.queues import BatchQueues

    hub.queues = BatchQueues(store, BatchSettings.from_environ(), live=live, owner=owner)


def widened(request: RunRequest, evaluators: Iterable[Registered]) -> RunRequest:
    """The request with room for all judgements that are to wait together."""
    threads = any(registered.facts.kind == "judge" and _is_sync(registered) for registered in evaluators)
    return replace(request, concurrency=READERS, judge_concurrency=WINDOW_OF_THREADS if threads else WINDOW)


def _is_sync(registered: Registered) -> bool:
    """Whether it waits in a thread: a Strands evaluator does unless it brings an async way of its own."""
    evaluator: Any = registered.evaluator
    inner = getattr(evaluator, "_inner", None)
    if inner is not None:
        return bool(type(inner).evaluate_async.__module__ == "strands_evals.evaluators.evaluator")
    return not inspect.iscoroutinefunction(evaluator.evaluate)
