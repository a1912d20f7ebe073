"""``nightgate watch DIR``: looks for changes and starts what they ask for.

Owns the loop. Each look is a process of its own: agent code is imported once a process, so one that stays
would go on looking at, and running, the code of its start.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nightgate.cases import suites_under
from nightgate.cli.output import users_prints_aside
from nightgate.cli.run import show
from nightgate.errors import ExitCode, InputError
from nightgate.requests import RunRequest

_MOST_QUIETS = 10
"""With ``--once``: quiet times after which something that keeps changing is left to the next call."""
_LOOKS_S = 60.0
"""And for the looks themselves."""
_LEAST_PAUSE_S = 1.0


def run(args: argparse.Namespace) -> int:
    """Look until told to stop, or with ``--once`` until nothing is left to wait for."""
    from nightgate.wiring.watching import seconds

    every_s, quiet_s = seconds(args.every, "--every"), seconds(args.quiet, "--quiet")
    if not every_s:
        msg = f"--every {args.every!r}: must be more than 0"
        raise InputError(msg)
    suites = suites_under(Path(args.folder))
    if args.look:
        return asyncio.run(_look(suites, args, quiet_s))
    return _Watch(args).once(quiet_s) if args.once else _Watch(args).loop(every_s)


async def _look(suites: Sequence[Path], args: argparse.Namespace, quiet_s: float) -> int:
    """One look at each suite, told as JSON on stdout to the process that waits for it."""
    from nightgate.wiring import watching

    manner = watching.Manner(start=_starter(wait=args.once), told=_say, quiet_s=quiet_s)
    rows = []
    for suite in suites:
        request = RunRequest.make(suite, {"store": args.store, "live": args.live})
        with users_prints_aside():
            looked = await watching.look_at(request, manner)
        rows.append(watching.as_dict(looked))
        if looked.code == ExitCode.INTERRUPTED:
            break
    print(json.dumps(rows), flush=True)
    return ExitCode.OK


def _starter(*, wait: bool) -> Any:
    """Through Prefect where there is a server, else here."""
    if not os.environ.get("PREFECT_API_URL"):
        return _here
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    from flows.starts import hand_over

    return functools.partial(hand_over, wait=wait)


async def _here(request: RunRequest) -> int:
    from nightgate import wiring

    finished = await wiring.run_request(request)
    assert request.run_id is not None
    lines = await wiring.afterwards(request, request.run_id)
    summary = finished.summary.as_dict()
    show(summary, request, "-", lines)
    return int(summary["exit_code"])


class _Watch:
    """Processes that look, one after the other, until somebody says stop."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._told: dict[str, list[str]] = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def once(self, quiet_s: float) -> int:
        """Look; where a change has to stay the same for a while, wait and look again."""
        deadline = time.monotonic() + _MOST_QUIETS * quiet_s + _LOOKS_S
        worst: list[int] = []
        while not self._stop.is_set():
            rows = self._looked()
            worst += [row["code"] for row in rows if row["run_id"] is not None]
            waits_s = _waits_s(rows)
            if waits_s is None:
                return _worst([*worst, *(row["code"] for row in rows)])
            if time.monotonic() > deadline:
                _say("it keeps changing: left to the next call")
                return _worst([*worst, ExitCode.INCONCLUSIVE])
            self._stop.wait(max(waits_s, _LEAST_PAUSE_S))
        return ExitCode.INTERRUPTED

    def loop(self, every_s: float) -> int:
        """Look every so often; a run that was stopped on the way is 130, an end between two looks 0."""
        rows: list[dict[str, Any]] = []
        while not self._stop.is_set():
            began = time.monotonic()
            rows = self._looked()
            waits_s = _waits_s(rows)
            pause_s = every_s if waits_s is None else min(every_s, waits_s)
            self._stop.wait(max(pause_s - (time.monotonic() - began), _LEAST_PAUSE_S))
        _say("ended")
        cut = any(row["code"] == ExitCode.INTERRUPTED for row in rows)
        return ExitCode.INTERRUPTED if cut else ExitCode.OK

    def _looked(self) -> list[dict[str, Any]]:
        """One look in a process of its own; what is new in it is told."""
        words = [sys.executable, "-m", "nightgate.cli", "watch", self._args.folder, "--look"]
        words += ["--quiet", self._args.quiet]
        words += ["--store", self._args.store] if self._args.store else []
        words += ["--live"] if self._args.live else []
        words += ["--once"] if self._args.once else []
        # A session of its own: Ctrl-C reaches it once, through us.
        self._child = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own words
        out, _ = self._child.communicate()
        try:
            rows: list[dict[str, Any]] = json.loads(out)
        except ValueError:
            return [{"suite": "", "code": self._broken(), "said": [], "waits_s": None, "run_id": None}]
        for row in rows:
            if self._told.get(row["suite"]) != row["said"]:
                self._told[row["suite"]] = row["said"]
                for line in row["said"]:
                    _say(f"{row['suite']}: {line}")
        return rows

    def _broken(self) -> int:
        """The code of a look that told nothing: ended before a run began, or by an error that it told."""
        assert self._child is not None
        if self._stop.is_set():
            return ExitCode.OK
        _say(f"the look itself broke (exit code {self._child.returncode}); see above")
        wrong = self._child.returncode == ExitCode.INPUT
        return ExitCode.INPUT if wrong else ExitCode.INCONCLUSIVE

    def _end(self, *_: object) -> None:
        self._stop.set()
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)


def _waits_s(rows: Sequence[dict[str, Any]]) -> float | None:
    found = [row["waits_s"] for row in rows if row["waits_s"] is not None]
    return min(found, default=None)


def _worst(codes: Sequence[int]) -> int:
    from nightgate.steps.reporting import exit_code

    return int(exit_code(list(codes)))


def _say(line: str) -> None:
    print(f"watch: {line}", file=sys.stderr, flush=True)
