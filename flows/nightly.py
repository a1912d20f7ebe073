"""All suites of a folder, one after the other; an invalid suite stops the night before it starts."""

from __future__ import annotations

from typing import Any

from prefect import State, flow
from prefect.states import Completed, Failed

from flows.evaluate import evaluate
from nightgate import wiring
from nightgate.errors import ExitCode
from nightgate.steps import reporting


@flow(name="nightly", flow_run_name="nightly-{name}", persist_result=False, validate_parameters=False)
async def nightly(
    name: str,  # noqa: ARG001 - in the run's name
    requests: list[dict[str, Any]],
) -> State[Any]:
    """Run every suite and end in the state of the worst.

    Args:
        name: The folder's name.
        requests: One ``RunRequest`` a suite, as plain parameters, checked before the flow starts.
    """
    headlines: list[dict[str, Any]] = []
    for request in requests:
        named = wiring.named(request)
        await evaluate(reporting.suite_name(named), named, return_state=True)
        headlines.append(await wiring.headline(named))
        if headlines[-1]["exit_code"] == ExitCode.INTERRUPTED:
            break  # whoever stops a night means all of it
    worst = reporting.exit_code([headline["exit_code"] for headline in headlines])
    line = reporting.night_line(headlines)
    if worst == 0:
        return Completed(message=line, data=headlines)
    return Failed(message=line, data=headlines)
