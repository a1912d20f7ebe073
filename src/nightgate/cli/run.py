"""``nightgate run SUITE...``: the whole pipeline, in this process or through the Prefect flow."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightgate.cli.output import (
    append_step_summary,
    check_folder,
    check_writable,
    people,
    users_prints_aside,
    write_json,
    write_text,
)
from nightgate.cli.report import write_html
from nightgate.errors import ExitCode, InputError
from nightgate.plaintext import plain
from nightgate.requests import DEFAULT_STORE, RunRequest

if TYPE_CHECKING:  # wiring is heavy, and `--help` needs none of it
    from nightgate.wiring import Due, TakenUp

_FIELDS = (
    "store", "live", "model", "judge", "user", "trials", "case", "tag", "layer", "stage", "seed", "run_id",
    "resume", "reuse", "rerun", "only", "baseline", "concurrency", "judge_concurrency", "spool",
    "budget_usd", "prices", "allow_unpriced", "alerts", "report", "curtail", "related_judges",
    "once", "timezone", "scheduled", "drainers",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run one or several suites; with several, all are checked before the first starts."""
    check_writable(args.json, args.junit)
    check_folder(args.html)
    requests = [request_of(args, suite) for suite in args.suites]
    if len(requests) > 1 and (args.run_id or args.resume):
        msg = "--run-id and --resume name one run: give one suite"
        raise InputError(msg)
    if not args.prefect and any(request.drainers for request in requests):
        msg = "--drainers goes with --prefect: workers are started by the flow"
        raise InputError(msg)
    if args.prefect and not _nothing_to_play(requests):
        return through_prefect(requests, args, name="run", several=len(requests) > 1)
    return asyncio.run(_run_all(requests, args))


def _nothing_to_play(requests: Sequence[RunRequest]) -> bool:
    """Whether it is about a committed run: what follows a gate needs no flow."""
    if len(requests) != 1 or requests[0].resume is None:
        return False
    from nightgate import wiring

    return asyncio.run(wiring.committed(requests[0])) is not None


def request_of(args: argparse.Namespace, suite: str) -> RunRequest:
    """The request behind the flags."""
    values = {name: getattr(args, name, None) for name in _FIELDS}
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
            on_there=reporter.there,
            on_cell=reporter.cell,
        )
        for request in requests:
            with users_prints_aside():
                taken = await wiring.take_up(request, progress)
                if taken is None:
                    finished = await wiring.run_request(request, progress)
                    lines = await wiring.afterwards(request, finished.summary.run_id, progress)
            reporter.__exit__(None, None, None)
            if taken is not None:
                summaries.append(taken.summary)
                show_taken_up(taken, request, args.json)
            else:
                summaries.append(finished.summary.as_dict())
                show(summaries[-1], request, args.json, lines)
            if summaries[-1]["exit_code"] == ExitCode.INTERRUPTED:
                break
    return conclude(summaries, requests[: len(summaries)], args, several=len(requests) > 1)


def show(
    summary: dict[str, Any], request: RunRequest, json_path: str | None, after: Sequence[str] = ()
) -> None:
    """Print the end of a run for people, and what followed its gate."""
    from nightgate.reports.terminal import render

    print(
        render(summary, suite=request.suite, store=_named_store(request), after=after), file=people(json_path)
    )


def show_taken_up(taken: TakenUp, request: RunRequest, json_path: str | None) -> None:
    """Print what was left to do of a committed run, in one line where that was nothing."""
    run_id, verdict = taken.summary["run_id"], taken.summary["verdict"]
    if taken.left:
        done = f"run {run_id} was committed before; left to do after its gate: {', '.join(taken.left)}"
        show(taken.summary, request, json_path, [done, *taken.lines])
    else:
        text = f"run {run_id} is complete, and so is all that follows its gate: nothing to resume ({verdict})"
        print(text, file=people(json_path))


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
    if args.html:
        write_html(summaries, requests, args.html, several=several)
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
            # What is resumed is looked through when it is opened, by the flow.
            await (wiring.preflight(request) if request.resume is None else wiring.ready(request))
            for warning in await wiring.check_channels(request):
                print(plain(warning), file=sys.stderr)

    with users_prints_aside():
        asyncio.run(check_all())

    async def drive() -> tuple[Any, list[Due]]:
        async with wiring.nights_of(requests) as nights:
            for due in nights:
                if due.line is not None and due.summary is None:
                    print(due.line, file=sys.stderr)
            to_play = [due.request.parameters() for due in nights if due.summary is None]
            return await nightly(name, to_play, return_state=True) if to_play else None, nights

    with users_prints_aside():
        state, nights = asyncio.run(drive())
    if state is not None:
        print(f"flow {state.name}: {plain(state.message or '')}", file=sys.stderr)
    summaries = asyncio.run(_stored(nights))
    for due, summary, request in zip(nights, summaries, requests, strict=True):
        _show_night(due, summary, request, args.json)
    return conclude(summaries, requests, args, several=several)


def _show_night(due: Due, summary: dict[str, Any], request: RunRequest, json_path: str | None) -> None:
    """Print how it ended with one suite of a flow."""
    from nightgate import wiring

    if due.summary is not None:
        print("\n".join(plain(line) for line in [str(due.line), *due.after]), file=people(json_path))
    elif summary["cells"] is not None:
        after = asyncio.run(wiring.told_afterwards(request, summary["run_id"]))
        show(summary, request, json_path, after)
    else:
        print(f"{summary['suite']}: {plain(summary['findings'][0]['text'])}", file=people(json_path))


async def _stored(nights: Sequence[Due]) -> list[dict[str, Any]]:
    """What the runs came to; of a suite that was not played, what stands in its place."""
    from nightgate import wiring

    return [
        due.summary if due.summary is not None else await wiring.stored_summary(due.request.parameters())
        for due in nights
    ]
