"""Prefect's notification blocks as alert channels: Slack, Teams, mail, PagerDuty and more, by Apprise.

Blocks hold their secrets in Prefect's database. A block is loaded each time it is used: from the server
behind ``PREFECT_API_URL``, else from Prefect's embedded one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from typing import Any

from nightgate.cli.prefect_env import quiet_prefect
from nightgate.errors import AlertError


class PrefectChannel:
    """Notifies through a saved block.

    Args:
        name: What suites call it.
        block: ``BLOCK-TYPE/NAME``, as ``slack-webhook/team``.
    """

    patience_s = 150.0
    """Prefect's embedded server may have to start first."""

    def __init__(self, name: str, block: str) -> None:
        self.name, self.target, self._block = name, f"Prefect block {block}", block

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:  # noqa: ARG002 - people read these
        """Notify; what the service answered is in the error."""
        _awaited(self._notify(title, body))

    def check(self) -> str:
        """Load the block; nothing is sent."""
        _awaited(self._load())
        return "the block is there; nothing was sent"

    async def _notify(self, title: str, body: str) -> None:
        block = await self._load()
        # Without it the blocks swallow a refusal.
        raising = block.raise_on_failure() if hasattr(block, "raise_on_failure") else nullcontext()
        try:
            with raising:
                notify = getattr(block, "anotify", block.notify)
                await notify(body=body, subject=title)
        except Exception as error:
            # Only the kind: Apprise's log may quote the address, which is a secret.
            msg = f"the block could not deliver: {type(error).__name__}"
            raise AlertError(msg) from error

    async def _load(self) -> Any:
        quiet_prefect()
        from prefect.blocks import notifications  # noqa: F401 - registers the types that load() looks up
        from prefect.blocks.core import Block

        try:
            block = await Block.aload(self._block)
        except ValueError as error:
            msg = "there is no block of that name on this Prefect server"
            raise AlertError(msg, again=False) from error
        except Exception as error:
            msg = f"the block cannot be loaded: {type(error).__name__}"
            raise AlertError(msg) from error
        if not hasattr(block, "notify"):
            msg = "it is no notification block"
            raise AlertError(msg, again=False)
        return block


def _awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """Wait for ``work``; delivery calls from a thread of its own, which has no loop."""
    return asyncio.run(work)
