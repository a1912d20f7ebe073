"""One event loop for all runs that Python code starts in this process.

Owns the loop that outlives a caller's ``asyncio.run``: an async client that a factory holds belongs to
the loop on which it was first used, and would find that loop closed in the next run.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_STOP_S = 30.0
"""What a cancelled run is given to stage what it has finished."""
_LOCK = threading.Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []


def home_loop() -> asyncio.AbstractEventLoop:
    """The loop, in a daemon thread; started by the first run."""
    with _LOCK:
        if not _LOOPS:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="home-of-runs", daemon=True).start()
            _LOOPS.append(loop)
        return _LOOPS[0]


async def at_home(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` on the home loop and wait for it here; a cancelled caller cancels it in order."""
    home = home_loop()
    if asyncio.get_running_loop() is home:
        return await work
    done = threading.Event()

    async def whole() -> T:
        try:
            return await work
        finally:
            done.set()

    future = asyncio.run_coroutine_threadsafe(whole(), home)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.to_thread(done.wait, _STOP_S)
        raise
