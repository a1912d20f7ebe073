"""``nightgate run SUITE...``: the whole pipeline, in this process or through the Prefect flow."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nightgate.cli.output import (
    append_step_summary,
    check_writable,
    people,
    users_prints_aside,
    write_json,
    write_text,
)
from nightgate.errors import ExitCode, InputError
from nightgate.requests import DEFAULT_STORE, RunRequest

_FIELDS = (
    "store", "live", "model", "judge", "user", "trials", "case", "tag", "layer", "stage", "seed", "run_id",
    "resume", "reuse", "rerun", "only", "baseline", "concurrency", "judge_concurrency", "spool",
    "budget_usd", "prices", "allow_unpriced", "alerts", "curtail", "related_judges",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run one or several suites; with several, all are checked before the first starts."""
    check_writable(args.json, args.junit)
    requests = [request_of(args, suite) for suite in args.suites]
    if len(requests) > 1 and (args.run_id or args.resume):
        msg = "--run-id and --resume name one run: give one suite"
        raise InputError(msg)
    if args.prefect:
        return through_prefect(requests, args, name="run", several=len(requests) > 1)
    return asyncio.run(_run_all(requests, args))


def request_of(args: argparse.Namespace, suite: str) -> RunRequest:
    """The request behind the flags."""
    values = {name: getattr(args, name) for name in _FIELDS}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return RunRequest.make(suite, values)


def refuse_shared_ids(requests: Sequence[RunRequest]) -> None:
    """Check that the suites of one command can be told apart by their ids.

    Raises:
        InputError: If two share one, or if a suite cannot be read.
    """
    from nightgate.cases import load_suite

    first: dict[str, Path] = {}
    for request in requests if len(requests) > 1 else ():
        suite = load_suite(request.suite)
        other = first.setdefault(suite.suite, suite.path)
        if other is not suite.path:
            msg = f"{other} and {suite.path}: both are suite {suite.suite!r}; give each an id of its own"
            raise InputError(msg)


async def _run_all(requests: Sequence[RunRequest], args: argparse.Namespace) -> int:
    from nightgate import wiring
    from nightgate.cli.progress import Reporter

    if len(requests) > 1:
        refuse_shared_ids(requests)
        for request in requests:
            with users_prints_aside():
                await wiring.preflight(request)
    summaries: list[dict[str, Any]] = []
    with Reporter() as reporter:
        progress = wiring.Progress(
            on_plan=reporter.planned,
            on_warning=reporter.warned,
            on_trial=reporter.trial,
            on_cell=reporter.cell,
        )
        for request in requests:
            with users_prints_aside():
                finished = await wiring.run_request(request, progress)
                lines = await wiring.afterwards(request, finished.summary.run_id, progress)
            summaries.append(finished.summary.as_dict())
            reporter.__exit__(None, None, None)
            show(summaries[-1], request, args.json, lines)
            if summaries[-1]["exit_code"] == ExitCode.INTERRUPTED:
                break
    return conclude(summaries, requests[: len(summaries)], args, several=len(requests) > 1)


def show(
    summary: dict[str, Any], request: RunRequest, json_path: str | None, after: Sequence[str] = ()
) -> None:
    """Print the end of a run for people, and what followed its gate."""
    from nightgate.reports.terminal import render

    rendered = render(summary, suite=request.suite, store=_named_store(request))
    print("\n".join([rendered, *after]), file=people(json_path))


def _named_store(request: RunRequest) -> str | None:
    """The store as a command has to name it; None for the default one."""
    return request.store if request.store != DEFAULT_STORE else None


def conclude(
    summaries: Sequence[dict[str, Any]],
    requests: Sequence[RunRequest],
    args: argparse.Namespace,
    *,
    several: bool,
) -> int:
    """Write the outputs that others read and give the exit code.

    Args:
        summaries: One a request, in their order.
        requests: Those that were run.
        args: The command's flags.
        several: Whether the JSON holds a list of runs, also when it is of one.
    """
    from nightgate.reports.junit import junit
    from nightgate.reports.markdown import LIMIT_BYTES, markdown
    from nightgate.steps.reporting import combined

    def document(room: int) -> str:
        suites, store = [request.suite for request in requests], _named_store(requests[0])
        return markdown(summaries, suites=suites, store=store, limit=min(room, LIMIT_BYTES))

    append_step_summary(document)
    whole = combined(summaries)
    write_json(whole if several else summaries[0], args.json)
    if args.junit:
        write_text(junit(summaries), args.junit)
    return int(whole["exit_code"])


def through_prefect(
    requests: Sequence[RunRequest], args: argparse.Namespace, *, name: str, several: bool
) -> int:
    """Check everything, then drive the nightly flow; figures come from the store, not from Prefect."""
    from nightgate import wiring
    from nightgate.cli.prefect_env import quiet_prefect

    # Before a suite's modules are looked up in the working folder: many have a `flows` of their own.
    quiet_prefect()
    from flows.nightly import nightly

    refuse_shared_ids(requests)

    async def check_all() -> None:
        for request in requests:
            if request.resume is None:
                await wiring.preflight(request)
            for warning in await wiring.check_channels(request):
                print(warning, file=sys.stderr)

    with users_prints_aside():
        asyncio.run(check_all())
    named = [wiring.named(request.parameters()) for request in requests]

    async def drive() -> Any:
        return await nightly(name, named, return_state=True)

    with users_prints_aside():
        state = asyncio.run(drive())
    print(f"flow {state.name}: {state.message}", file=sys.stderr)
    summaries = asyncio.run(_stored(named))
    for summary, request in zip(summaries, requests, strict=True):
        if summary["cells"] is not None:
            after = asyncio.run(wiring.told_afterwards(request, summary["run_id"]))
            show(summary, request, args.json, after)
        else:
            print(f"{summary['suite']}: {summary['findings'][0]['text']}", file=people(args.json))
    return conclude(summaries, requests, args, several=several)


async def _stored(named: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    from nightgate import wiring

    return [await wiring.stored_summary(parameters) for parameters in named]
