"""``nightgate serve DIR``: one machine with a Prefect server, schedules and flows in one service."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightgate.cases import suites_under
from nightgate.cli.prefect_env import quiet_prefect
from nightgate.cli.run import request_of
from nightgate.errors import ExitCode, InputError
from nightgate.localdates import DEFAULT_ZONE
from nightgate.requests import NIGHTLY

_CRON_FIELDS = 5
_START_S = 120.0
_STOP_S = 15.0


def run(args: argparse.Namespace) -> int:
    """Serve the suites of a folder until told to stop."""
    request = served(args)
    quiet_prefect()
    with contextlib.ExitStack() as stack:
        if not os.environ.get("PREFECT_API_URL"):
            stack.enter_context(_server(args.port))
        from flows.serving import serve_all

        zone = request["timezone"] or DEFAULT_ZONE

        print(f"serving {args.folder} on {os.environ['PREFECT_API_URL']}; Ctrl-C ends it", file=sys.stderr)
        asyncio.run(serve_all(request, cron=args.cron or None, timezone=zone, watch=args.watch or None))
    return ExitCode.OK


def served(args: argparse.Namespace) -> dict[str, Any]:
    """What each night runs, as plain parameters.

    Raises:
        InputError: If there is no suite, or a flag or the schedule cannot be.
    """
    suites = suites_under(Path(args.folder))
    args.once = True
    for flag, cron in (("--cron", args.cron), ("--watch", args.watch)):
        count = len(cron.split())
        if count not in (0, _CRON_FIELDS):
            msg = f"{flag} {cron!r}: write minute, hour, day, month and weekday; here are {count} fields"
            raise InputError(msg)
    asked = request_of(args, str(suites[0])).parameters() | {"trigger": NIGHTLY, "night": True}
    del asked["suite"]
    return {"folder": str(Path(args.folder).resolve()), **asked}


@contextlib.contextmanager
def _server(port: int) -> Iterator[None]:
    """A Prefect server on this machine alone, for as long as the block runs."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            msg = f"--port {port}: something listens there already; set PREFECT_API_URL to use it"
            raise InputError(msg)
    api = f"http://127.0.0.1:{port}/api"
    command = [*(sys.executable, "-m", "prefect", "server", "start"), "--host", "127.0.0.1"]
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        _wait(process, api)
        os.environ["PREFECT_API_URL"] = api
        yield
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], api: str) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(f"{api}/health", timeout=2).close()  # noqa: S310 - on this machine
            return
        time.sleep(0.5)
    msg = f"the Prefect server on {api} did not start; `prefect server start` says why"
    raise InputError(msg)
