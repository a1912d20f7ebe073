"""``nightgate deploy``: flows, schedules and triggers on the Prefect server."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from nightgate.adapters.prefect_api import PrefectApi, PrefectApiError, put_up_heartbeat
from nightgate.cli.prefect_env import quiet_prefect
from nightgate.errors import ExitCode, InputError

DEFAULT_FILE = Path("infra/prefect.yaml")
POOL, DRAIN_POOL = "nightgate", "nightgate-drain"
"""Of the parents, and of the workers that share their runs."""


def run(args: argparse.Namespace) -> int:
    """Put up all deployments of a file: 0 done, 1 Prefect refused, 2 no server or no file."""
    file = Path(args.file) if args.file else DEFAULT_FILE
    if not file.is_file():
        msg = f"{file}: no such file; name the deployments with --file, as in infra/prefect.yaml"
        raise InputError(msg)
    api = server_named("deploy")
    quiet_prefect()
    home = str(Path(args.home).resolve())
    pool, drain_pool = pool_of(args.pool), drain_pool_of(args.drain_pool)
    environ = {
        **os.environ,
        "NIGHTGATE_HOME": home,
        "NIGHTGATE_POOL": pool,
        "NIGHTGATE_DRAIN_POOL": drain_pool,
    }

    def prefect(*words: str, quiet: bool = False) -> int:
        command = [sys.executable, "-m", "prefect", "--no-prompt", *words]
        out = subprocess.DEVNULL if quiet else None
        return subprocess.run(  # noqa: S603 - our own interpreter
            command, check=False, env=environ, stdout=out, stderr=out
        ).returncode

    for name in dict.fromkeys((pool, drain_pool)):
        # A pool that is there already is no error; what it holds stays as it is.
        prefect("work-pool", "create", name, "--type", "process", quiet=True)
    if prefect("deploy", "--all", "--prefect-file", str(file)):
        print(f"{file}: not all of it could be deployed to {api}: see above", file=sys.stderr)
        return ExitCode.FAILED
    try:
        put_up_heartbeat(PrefectApi(api))
    except PrefectApiError as error:
        print(f"the automation for flow runs that died could not be put up: {error}", file=sys.stderr)
        return ExitCode.FAILED
    commands = " and ".join(f"`nightgate worker --pool {name}`" for name in dict.fromkeys((pool, drain_pool)))
    print(f"deployed {file} to {api}; workers run in {home}: {commands}")
    return ExitCode.OK


def pool_of(given: str | None) -> str:
    """The parents' pool: as given, else as set, else by default."""
    return given or os.environ.get("NIGHTGATE_POOL") or POOL


def drain_pool_of(given: str | None) -> str:
    """The pool of workers that share a run, likewise."""
    return given or os.environ.get("NIGHTGATE_DRAIN_POOL") or DRAIN_POOL


def server_named(command: str) -> str:
    """The Prefect API that a command needs.

    Raises:
        InputError: If none is named: an embedded server ends with its process.
    """
    api = os.environ.get("PREFECT_API_URL", "")
    if not api:
        msg = (
            f"{command}: set PREFECT_API_URL to the Prefect server's address, as in "
            "http://127.0.0.1:4200/api; on one machine `nightgate serve` brings a server of its own"
        )
        raise InputError(msg)
    return api
