"""Asking a provider's queue until it answers.

Owns how long an outage is sat out. Knows no job.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.failures import classify

T = TypeVar("T")

GROWTH = 1.5
"""By what each pause is longer than the one before."""
_FIRST_RETRY_S = 0.5


async def patiently(ask: Callable[[], Awaitable[T]], settings: BatchSettings) -> T:
    """Ask the service; what may pass is tried again, an outage is sat out.

    Args:
        ask: The question; asked anew each time.
        settings: How long an outage may be, and the longest pause.

    Raises:
        Exception: What the service raised, where waiting does not help or took too long.
    """
    began, failed = time.monotonic(), 0
    while True:
        try:
            return await ask()
        except Exception as error:
            failure = classify(error)
            failed += 1
            if not failure.outcome.transient or time.monotonic() - began > settings.outage_s:
                raise
            pause = min(settings.poll_cap_s, _FIRST_RETRY_S * GROWTH ** (failed - 1))
            await asyncio.sleep(max(pause, failure.retry_after_s or 0.0))
