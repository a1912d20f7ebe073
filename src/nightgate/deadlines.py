"""Working time: a deadline that does not count waiting for limits and back-off.

Owns the one clock by which trials and judgements end. Knows nothing of what it limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import TypeVar

from nightgate.calls import Scope

T = TypeVar("T")


class DeadlineError(Exception):
    """The working time is used up."""


class SelfCancelledError(Exception):
    """The work cancelled itself; nobody had asked it to."""


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Hold user code that asks the process to end: with ``sys.exit(0)`` a night would end green.

    Raises:
        RuntimeError: In place of the exit.
    """
    try:
        yield
    except (SystemExit, KeyboardInterrupt) as asked:
        msg = f"raised {type(asked).__name__}({asked}), and only nightgate ends its process"
        raise RuntimeError(msg) from asked


async def within(task: asyncio.Task[T], timeout_s: float, scope: Scope) -> T:
    """The task's result, if it comes within ``timeout_s`` seconds of working time.

    Args:
        task: Cancelled at the deadline, and when the caller is cancelled.
        timeout_s: Seconds; time that ``scope`` spends waiting is not counted.
        scope: Closed at the deadline: calls still in flight go on, and are booked as late.

    Raises:
        DeadlineError: At the deadline.
        SelfCancelledError: If a cancellation came out of the work that nobody outside had sent.
    """
    began, waited_before = time.monotonic(), scope.waited_s
    try:
        while True:
            now = time.monotonic()
            waited = scope.waited_s - waited_before + (now - scope.waiting_since if scope.waiting else 0.0)
            rest = timeout_s - (now - began - waited)
            if rest <= 0 and not scope.waiting:
                break
            done, _ = await asyncio.wait({task}, timeout=max(rest, 0.05))
            if done:
                # Raised on, it would look like a stop of the run, and the caller would end in silence.
                if task.cancelled():
                    raise SelfCancelledError("a CancelledError came from inside; nobody had cancelled it")
                return task.result()
    except asyncio.CancelledError:
        scope.closed = True
        await _cancel(task)
        raise
    scope.closed = True
    await _cancel(task)
    raise DeadlineError


async def _cancel(task: asyncio.Task[T]) -> None:
    """Cancel and wait, bounded: user code may catch the cancellation and linger."""
    task.cancel()
    with contextlib.suppress(Exception, asyncio.CancelledError):
        await asyncio.wait({task}, timeout=1.0)
    if task.done() and not task.cancelled():
        task.exception()
