"""The pages of a run, written to its store once all that they show is known.

Owns when they are written, and that a run never fails for its pages' sake: whatever is wrong with them is
told in a line. They are derived from stored rows, so nothing is lost without them: ``nightgate report`` makes
them again on any day.
"""

from __future__ import annotations

import asyncio
import json

from nightgate.adapters.store import open_store
from nightgate.errors import NightgateError
from nightgate.ports import Store
from nightgate.requests import DEFAULT_STORE, RunRequest
from nightgate.rows.keys import summary_key
from nightgate.steps.runpages import keep_pages


async def keep_report(request: RunRequest, run_id: str, *, store: Store | None = None) -> str | None:
    """Write a run's pages under ``runs/<run_id>/report/``. Never raises.

    Call it before the alerts, which link there. A run that a person stopped gets none: whoever pressed Ctrl-C
    does not wait for pages, and the resumed run has its own.

    Args:
        request: Says where the store is, and whether pages are wanted.
        run_id: The run, complete or not.
        store: Used instead of the request's.

    Returns:
        Why there are none, in a line for people; None where they are there or nobody wants them.
    """
    if not request.report:
        return None
    try:
        opened = store if store is not None else await asyncio.to_thread(open_store, request.store)
        await asyncio.to_thread(_keep, opened, run_id, store_flag(request))
    except Exception as error:  # the verdict stands, whatever became of its page
        why = str(error) if isinstance(error, NightgateError) else f"{type(error).__name__}: {error}"
        return f"report: NOT written: {why}; `nightgate report {run_id} --out DIR` makes it again"
    return None


def store_flag(request: RunRequest) -> str | None:
    """The store as commands on a page have to name it; None for the default one."""
    return request.store if request.store != DEFAULT_STORE else None


def _keep(store: Store, run_id: str, flag: str | None) -> None:
    if json.loads(store.read(summary_key(run_id))).get("stopped") != "cancelled":
        keep_pages(store, run_id, store_flag=flag)
