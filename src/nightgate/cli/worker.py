"""``nightgate worker``: a machine's part in a fleet."""

from __future__ import annotations

import argparse
import os
import sys

from nightgate.adapters.prefect_api import HEARTBEAT_S
from nightgate.cli.deploy import pool_of, server_named
from nightgate.cli.prefect_env import quiet_prefect
from nightgate.errors import InputError


def run(args: argparse.Namespace) -> int:
    """Become a Prefect process worker of a pool; it ends when it is told to."""
    server_named("worker")
    if args.limit is not None and args.limit < 1:
        msg = f"--limit {args.limit}: must be at least 1"
        raise InputError(msg)
    quiet_prefect()
    # By its silence the server notices a flow run that died.
    os.environ.setdefault("PREFECT_RUNNER_HEARTBEAT_FREQUENCY", str(HEARTBEAT_S))
    # Its health check would listen on all addresses.
    os.environ.setdefault("PREFECT_WORKER_WEBSERVER_HOST", "127.0.0.1")
    command = [sys.executable, "-m", "prefect", "worker", "start", "--type", "process"]
    command += ["--pool", pool_of(args.pool)]
    command += ["--name", args.name] if args.name else []
    command += ["--limit", str(args.limit)] if args.limit is not None else []
    os.execv(sys.executable, command)  # noqa: S606 - signals have to reach it, not us
    raise AssertionError  # it was replaced
