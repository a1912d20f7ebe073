"""One machine that serves all flows: schedules, runs on demand and sweeps, without a pool."""

from __future__ import annotations

from typing import Any

from prefect import aserve
from prefect.schedules import Cron

from flows.evaluate import evaluate
from flows.judge_sweep import judge_sweep
from flows.nightly import nightly
from flows.on_change import on_change


async def serve_all(request: dict[str, Any], *, cron: str | None, timezone: str, watch: str | None) -> None:
    """Serve until told to stop; a night that overruns is not started a second time beside itself.

    Args:
        request: What each night runs: ``folder`` and what ``RunRequest`` takes, plain JSON.
        cron: When nights start; None: only by hand.
        timezone: IANA name of the zone that it means.
        watch: When suites are looked at for changes, in UTC; None: only when an event or a person asks.
    """
    await aserve(
        await nightly.ato_deployment(
            name="nightly",
            parameters={"name": "nightly", "requests": [request]},
            schedules=[Cron(cron, timezone=timezone)] if cron else None,
            concurrency_limit=1,
        ),
        await evaluate.ato_deployment(name="evaluate", parameters={"name": "on-demand", "request": {}}),
        await judge_sweep.ato_deployment(name="judge-sweep", parameters={"name": "sweep", "request": {}}),
        await on_change.ato_deployment(
            name="on-change",
            parameters={"folder": request["folder"], "live": str(request["live"]).lower()},
            schedules=[Cron(watch, timezone="UTC")] if watch else None,
        ),
        pause_on_shutdown=False,
    )
