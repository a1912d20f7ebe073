"""``nightgate notify-change KIND --suite SUITE``: an event that starts a suite's run at once."""

from __future__ import annotations

import argparse
import asyncio
import os

from nightgate.cli.stores import suite_id
from nightgate.errors import ExitCode, InputError


def run(args: argparse.Namespace) -> int:
    """Post the event: 0 the server has it, 2 wrong input, 3 it was not taken."""
    from nightgate.rows.keys import checked_id
    from nightgate.wiring.watching import event_of

    suite = checked_id(suite_id(args.suite), "suite")
    event = event_of(args.kind, args.resource or "", args.reason or "", args.id or "")
    if not os.environ.get("PREFECT_API_URL"):
        msg = (
            "notify-change posts to a Prefect server: set PREFECT_API_URL, as in http://127.0.0.1:4200/api. "
            "Without a server `nightgate watch DIR --once` looks for the change itself"
        )
        raise InputError(msg)
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    from flows.events import post

    payload = {
        "suite": suite,
        "kind": event.trigger,
        "resource": event.resource,
        "reason": event.reason,
        "id": event.id,
    }
    event_id = asyncio.run(post(event.trigger, suite, payload))
    print(f"posted nightgate.{event.trigger}.changed for {suite} ({event_id})")
    return ExitCode.OK
