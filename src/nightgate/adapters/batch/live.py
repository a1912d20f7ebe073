"""How many judgements are under way live at a time, beside the thousands that wait for a batch.

Owns the places: one is held from a judgement's first live call until its finding is made, so that a kill
repeats no more of them than a live sweep's would. Lives on the home loop.
"""

from __future__ import annotations

import asyncio

from nightgate.adapters.metering import waiting
from nightgate.calls import Scope


class LivePlaces:
    """Places for judgements whose calls go live.

    Args:
        most: How many may be under way.
    """

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(max(1, most))
        self._turns: dict[int, asyncio.Task[bool]] = {}

    async def enter(self, scope: Scope) -> None:
        """Wait for a place, which all calls of the scope share until it is closed."""
        if scope.closed:
            return
        turn = self._turns.get(id(scope))
        if turn is None:
            turn = self._turns[id(scope)] = asyncio.create_task(self._free.acquire())
            scope.held.callback(self._leave, id(scope))
        if not turn.done():
            with waiting(scope):
                await asyncio.wait({turn})

    def _leave(self, key: int) -> None:
        turn = self._turns.pop(key)
        if turn.done():
            self._free.release()
        else:
            turn.cancel()
