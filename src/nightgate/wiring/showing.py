"""What a run's end looks like to people in somebody else's web page: Markdown, a table, a link.

Owns which documents that takes. Text of agents, judges and case files is harmless in it, and it is searched
for credentials once more, because it is copied to where the store's readers are not.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from typing import Any

from nightgate.adapters.store import open_store
from nightgate.reports.casetable import failing
from nightgate.reports.markdown import markdown
from nightgate.requests import RunRequest
from nightgate.rows.keys import summary_key
from nightgate.rows.redaction import redact_text, redact_texts
from nightgate.steps.addresses import link_to
from nightgate.steps.reading import load_plan
from nightgate.steps.runpages import has_pages
from nightgate.wiring.alerts import REPORT_URL
from nightgate.wiring.pages import store_flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A run that is over."""

    markdown: str
    failing: list[dict[str, str]]
    """A row a case and evaluator, all of them."""
    link: str | None
    """To its pages, where they are there and others can open them."""


async def shown(request: RunRequest, run_id: str) -> Shown:
    """A run's end as its store has it.

    Args:
        request: Says where the store is, and how commands name the suite.
        run_id: The run, complete or not.

    Raises:
        StoreError: If the store is away, or has no summary of the run.
    """
    return await asyncio.to_thread(_shown, request, run_id)


def _shown(request: RunRequest, run_id: str) -> Shown:
    store = open_store(request.store)
    summary = json.loads(store.read(summary_key(run_id)))
    link = None
    if has_pages(store, run_id):
        base = os.environ.get(REPORT_URL) or None
        link = link_to(store.uri, run_id, load_plan(store, run_id).suite, base)
    return Shown(
        markdown=redact_text(markdown([summary], suites=[request.suite], store=store_flag(request))),
        failing=[_redacted(row) for row in failing(summary)],
        link=link if link is None or redact_text(link) == link else None,
    )


def _redacted(row: dict[str, str]) -> dict[str, Any]:
    return dict(zip(row, redact_texts(list(row.values())), strict=True))
