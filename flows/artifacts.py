"""What Prefect's own UI shows of a run: how far it is, then the verdict, the failing cases and the page.

It is made of what the store has and nothing hangs on it: it cannot fail a run, and a server that is away is
told of once.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from prefect import artifacts, get_run_logger

from nightgate import wiring
from nightgate.reports.casetable import MOST_ROWS
from nightgate.requests import RunRequest

_EVERY_S = 5.0
_ANSWER_S = 15.0
"""Its client repeats for longer by itself."""


class Board:
    """The artifacts of one run. Their keys name the suite, so that Prefect lines up its runs."""

    def __init__(self, planned: dict[str, Any]) -> None:
        self._run_id, self._about = planned["run_id"], f"Run `{planned['run_id']}`"
        self._key = re.sub(r"[^a-z0-9]+", "-", str(planned["suite"]).lower()).strip("-") or "suite"
        self._told = False

    @contextlib.asynccontextmanager
    async def progress(self, done: Callable[[], tuple[int, int]], noun: str) -> AsyncIterator[None]:
        """Show how much is done of how much, while the block runs and once at its end."""
        over = asyncio.Event()
        follower = asyncio.create_task(self._follow(done, noun, over))
        try:
            yield
        except BaseException:
            follower.cancel()
            raise
        over.set()
        await follower

    async def verdict(self, request: dict[str, Any]) -> None:
        """Show how the run ended."""
        key, about, told = self._key, self._about, artifacts.acreate_markdown_artifact
        end = await self._put(wiring.shown(RunRequest.of_parameters(request), self._run_id))
        if end is None or not await self._put(told(end.markdown, f"{key}-verdict", about)):
            return
        if rows := end.failing[:MOST_ROWS]:
            line = f"{about}: {len(rows)} of {len(end.failing)} pairs of case and evaluator that failed"
            await self._put(artifacts.acreate_table_artifact(rows, f"{key}-failing", line))
        if end.link is not None:
            await self._put(artifacts.acreate_link_artifact(end.link, "Pages", f"{key}-pages", about))

    async def _follow(self, done: Callable[[], tuple[int, int]], noun: str, over: asyncio.Event) -> None:
        bar, seen, last = None, (0, 0), False
        while not last:
            last, found = over.is_set(), done()
            if found != seen and found[1]:
                seen, share = found, 100 * found[0] / found[1]
                line = f"{self._about}: {found[0]} of {found[1]} {noun}"
                if bar is None:
                    key = f"{self._key}-progress"
                    bar = await self._put(artifacts.acreate_progress_artifact(share, key, line))
                else:
                    await self._put(artifacts.aupdate_progress_artifact(bar, share, line))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), _EVERY_S)

    async def _put(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await asyncio.wait_for(work, _ANSWER_S)
        except Exception as error:  # its client has many words for a server that is not there
            if not self._told:
                get_run_logger().warning("not all is shown here: %s: %s", type(error).__name__, error)
            self._told = True
