"""``nightgate report RUN|SUITE --out DIR``: pages of a run or of a suite's nights, to open from a folder."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightgate.cli.output import check_folder, people, write_json
from nightgate.cli.stores import run_of, store_of, suite_id
from nightgate.errors import ExitCode, InputError, NightgateError
from nightgate.plaintext import plain
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.rows.keys import case_slug


def run(args: argparse.Namespace) -> int:
    """Write the pages: 0 written, 2 wrong input, 3 what is stored cannot be shown."""
    from nightgate.reports.pages.writing import write_pages

    store = store_of(args)
    suite = _suite_meant(store, args.run)
    check_folder(args.out)
    if suite is not None:
        subject, files = {"suite": suite}, _of_suite(store, suite, args)
    else:
        run_id = run_of(store, args.run)
        subject, files = {"run_id": run_id}, _of_run(store, run_id, args)
    written = write_pages(files, args.out)
    print(f"report: {written.index}", file=people(args.json))
    document = {
        "schema": 1,
        **subject,
        "index": str(written.index),
        "files": written.files,
        "bytes": written.bytes,
    }
    write_json(document, args.json)
    return ExitCode.OK


def _suite_meant(store: Store, text: str) -> str | None:
    """The suite whose history is meant; None where a run is. A run of that very id comes first."""
    from nightgate.steps.listing import runs_of

    if _RUN_ID.fullmatch(text) and store.find(f"runs/{text}/plan.json"):
        return None
    suite = suite_id(text)
    if suite != text:
        return suite
    return (
        suite if _RUN_ID.fullmatch(text) and text not in _WORDS and runs_of(store, text, newest=1) else None
    )


_RUN_ID = re.compile(r"[0-9a-z-]{1,64}")
_WORDS = ("latest", "baseline")


def _of_suite(store: Store, suite: str, args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    from nightgate.steps.histories import NIGHTS
    from nightgate.steps.suitepages import pages_of_suite

    nights = args.nights if args.nights is not None else NIGHTS
    if nights < 1:
        msg = f"--nights {nights}: must be at least 1"
        raise InputError(msg)
    return pages_of_suite(store, suite, nights=nights, series=args.series, store_flag=args.store)


def _of_run(store: Store, run_id: str, args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    from nightgate.steps.runpages import pages_of_run

    asked = [f"--{name}" for name in ("nights", "series") if getattr(args, name) is not None]
    if asked:
        msg = f"{' '.join(asked)}: only with a suite; {run_id} is a run"
        raise InputError(msg)
    return pages_of_run(store, run_id, store_flag=args.store)


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

    shown: list[tuple[Mapping[str, Any], str | None]] = []
    for summary, request in zip(summaries, requests, strict=True):
        below = Path(folder) / _below(summary) if several else Path(folder)
        written = _written(summary, request, below)
        shown.append((summary, f"{below.name}/index.html" if written else None))
    if several:
        written = _kept(lambda: [("index.html", night_page(shown))], Path(folder), "the page of all suites")
    if written:
        print(f"report: {written}", file=sys.stderr)


def _below(summary: Mapping[str, Any]) -> str:
    """A suite's folder: its id; of a document that says something else, a name that leads nowhere else."""
    suite = str(summary["suite"])
    return suite if _RUN_ID.fullmatch(suite) else f"suite-{case_slug(suite)}"


def _written(summary: Mapping[str, Any], request: RunRequest, folder: Path) -> Path | None:
    from nightgate.adapters.store import open_store
    from nightgate.steps.runpages import pages_of_run
    from nightgate.wiring.pages import store_flag

    run_id = summary["run_id"]
    if run_id is None or summary["cells"] is None:
        return None  # it left no summary: there is nothing to show
    flag = store_flag(request)
    again = f"; `nightgate report {run_id} --out DIR` makes it again"
    return _kept(
        lambda: pages_of_run(open_store(request.store), run_id, store_flag=flag),
        folder,
        f"the pages of run {run_id}",
        again,
    )


def _kept(
    files: Callable[[], Iterable[tuple[str, bytes]]], folder: Path, what: str, again: str = ""
) -> Path | None:
    """Where the first page is; None, with a warning, where the set could not be made or written."""
    from nightgate.reports.pages.writing import write_pages

    try:
        return write_pages(files(), folder).index
    except Exception as error:  # the verdict stands, whatever became of its page
        why = str(error) if isinstance(error, NightgateError) else f"{type(error).__name__}: {error}"
        print(plain(f"warning: --html: {what}: NOT written: {why}{again}"), file=sys.stderr)
        return None
