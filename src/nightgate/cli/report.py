"""``nightgate report RUN --out DIR``: the pages of a run, to open from a folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightgate.cli.output import check_folder, people, write_json
from nightgate.cli.stores import run_of, store_of
from nightgate.errors import ExitCode, NightgateError
from nightgate.requests import RunRequest


def run(args: argparse.Namespace) -> int:
    """Write the pages: 0 written, 2 wrong input, 3 what is stored cannot be shown."""
    from nightgate.reports.pages.writing import write_pages
    from nightgate.steps.runpages import pages_of_run

    store = store_of(args)
    run_id = run_of(store, args.run)
    check_folder(args.out)
    written = write_pages(pages_of_run(store, run_id, store_flag=args.store), args.out)
    print(f"report: {written.index}", file=people(args.json))
    document = {
        "schema": 1,
        "run_id": run_id,
        "index": str(written.index),
        "files": written.files,
        "bytes": written.bytes,
    }
    write_json(document, args.json)
    return ExitCode.OK


def write_html(
    summaries: Sequence[Mapping[str, Any]], requests: Sequence[RunRequest], folder: str, *, several: bool
) -> None:
    """Write the pages of what a command has run: of one suite in the folder, of several in one each.

    Trouble is a warning on stderr: it must not hide a verdict that was paid for.

    Args:
        summaries: One a request, in their order.
        requests: What was run.
        folder: Where to.
        several: Whether there is a page of the night above the suites' own.
    """
    from nightgate.reports.pages.nightpage import night_page
    from nightgate.reports.pages.writing import write_pages

    shown: list[tuple[Mapping[str, Any], str | None]] = []
    for summary, request in zip(summaries, requests, strict=True):
        below = Path(folder) / str(summary["suite"]) if several else Path(folder)
        written = _written(summary, request, below)
        shown.append((summary, f"{below.name}/index.html" if written else None))
    if several:
        written = write_pages([("index.html", night_page(shown))], folder).index
    if written:
        print(f"report: {written}", file=sys.stderr)


def _written(summary: Mapping[str, Any], request: RunRequest, folder: Path) -> Path | None:
    from nightgate.adapters.store import open_store
    from nightgate.reports.pages.writing import write_pages
    from nightgate.steps.runpages import pages_of_run
    from nightgate.wiring.pages import store_flag

    run_id = summary["run_id"]
    if run_id is None or summary["cells"] is None:
        return None  # it left no summary: there is nothing to show
    try:
        files = pages_of_run(open_store(request.store), run_id, store_flag=store_flag(request))
        return write_pages(files, folder).index
    except NightgateError as error:
        print(f"warning: --html: run {run_id}: {error}", file=sys.stderr)
        return None
