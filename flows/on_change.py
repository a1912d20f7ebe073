"""Runs that start by themselves: a reconcile of all suites, or one suite at once when an event names it.

Events can be lost, so the scheduled reconcile is what is trusted. What has changed, and that it is started
once, stands in the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import State, flow, get_run_logger
from prefect.states import Completed, Failed

from flows import names
from flows.starts import hand_over
from nightgate.cases import suites_under
from nightgate.steps import reporting
from nightgate.wiring import watching


@flow(name="on-change", flow_run_name=names.change, persist_result=False, validate_parameters=False)
async def on_change(
    folder: str = "cases",
    suite: str = "",
    kind: str = "",
    resource: str = "",
    reason: str = "",
    event_id: str = "",
    live: str = "true",
    quiet: str = "60s",
    store: str = "",
) -> State[Any]:
    """Look once and start what is due. All parameters are texts, as triggers fill them, and are checked here.

    Args:
        folder: Of the suites.
        suite: Only this one, by id; needed with ``kind``.
        kind: What an event says has changed, a trigger or the event's name; empty: nobody says so, look.
        resource: What changed, as the suite's ``fingerprint:`` has it where it is declared there.
        reason: In words.
        event_id: The same id twice starts one run.
        live: true or false.
        quiet: How long a change has to stay the same.
        store: Empty: ``NIGHTGATE_STORE``.
    """
    event = watching.event_of(kind, resource, reason, event_id) if kind else None
    asked = watching.requests_of(suites_under(Path(folder)), suite, live=live, store=store, event=event)
    log = get_run_logger()
    manner = watching.Manner(start=hand_over, told=log.info, quiet_s=watching.seconds(quiet, "quiet"))
    found = [await watching.look_at(request, manner, event) for request in asked]
    lines = [f"{looked.suite}: {line}" for looked in found for line in looked.said]
    log.info("\n".join(lines))
    worst = reporting.exit_code([looked.code for looked in found])
    return (Completed if worst == 0 else Failed)(message="; ".join(lines)[:1000])
