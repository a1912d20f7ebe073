"""A run that something else than a person starts: handed to its deployment, or played here."""

from __future__ import annotations

import os
import sys

from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL

from flows.evaluate import evaluate
from nightgate import wiring
from nightgate.requests import RunRequest
from nightgate.steps import reporting

DEPLOYMENT = os.environ.get("NIGHTGATE_EVALUATE_DEPLOYMENT", "evaluate/evaluate")
_POLL_S = 15.0


async def hand_over(request: RunRequest, *, wait: bool = False) -> int | None:
    """Start a run, the same run id once.

    Without a server, or where it does not know the deployment, the flow runs in this process.

    Args:
        request: With its run id.
        wait: Whether to wait for the end of what was handed over.

    Returns:
        The run's exit code; None where nobody waited for it.
    """
    parameters = request.parameters()
    name = reporting.suite_name(parameters)
    if PREFECT_API_URL.value():
        try:
            await arun_deployment(
                DEPLOYMENT,
                parameters={"name": name, "request": parameters},
                timeout=None if wait else 0,
                poll_interval=_POLL_S,
                as_subflow=False,
                idempotency_key=request.run_id,
            )
        except ObjectNotFound:
            print(f"no deployment {DEPLOYMENT}: run {request.run_id} is played here", file=sys.stderr)  # noqa: T201
        else:
            return int((await wiring.headline(parameters))["exit_code"]) if wait else None
    await evaluate(name, parameters, return_state=True)
    return int((await wiring.headline(parameters))["exit_code"])
