"""From any event loop to the one on which a run's model clients live.

Owns the way home: a sync judge opens a loop of its own for each call, and an async client that was
used there would die with it. Knows nothing of models and calls.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]

_LOOK_S = 0.05
_LOOKS = 4
_BLOCKING = frozenset({threading.Condition.wait.__code__, threading.Thread.join.__code__})
"""Where a thread is that waits for another one."""


class Crossing:
    """The way to the loop on which it was made."""

    def __init__(self) -> None:
        self.home = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    async def run(self, at_home: Work[T], here: Work[T]) -> T:
        """The result of ``at_home``, made on the home loop.

        Sync code on the home loop may itself be what waits for this call: a summarizing conversation
        manager asks its model so, in the middle of the agent's turn. The home loop then never gets
        to it, and the whole run would stand still; after 0.2 s of that ``here`` runs instead, on the
        caller's loop.
        """
        if asyncio.get_running_loop() is self.home:
            return await at_home()
        claim = threading.Lock()

        async def claimed() -> T:
            if not claim.acquire(blocking=False):
                raise asyncio.CancelledError
            return await at_home()

        result = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(claimed(), self.home))
        blocked = 0
        while not claim.locked():
            await asyncio.wait({result}, timeout=_LOOK_S)
            blocked = blocked + 1 if self._blocked() else 0
            if blocked >= _LOOKS and claim.acquire(blocking=False):
                return await here()
        return await result

    def _blocked(self) -> bool:
        """Whether the home loop's thread waits for another thread instead of turning its loop."""
        frame = sys._current_frames().get(self._thread)  # noqa: SLF001 - the one way to see it
        while frame is not None:
            if frame.f_code in _BLOCKING:
                return True
            frame = frame.f_back
        return False
