"""All suites of a folder, one after the other; an invalid suite stops the night before it starts."""

from __future__ import annotations

from typing import Any

from prefect import State, flow, get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from flows import names
from flows.evaluate import evaluate
from nightgate import wiring
from nightgate.errors import ExitCode
from nightgate.steps import reporting
from nightgate.summaries import Summary


@flow(name="nightly", flow_run_name=names.night, persist_result=False, validate_parameters=False)
async def nightly(
    name: str,  # noqa: ARG001 - in the run's name
    requests: list[dict[str, Any]],
) -> State[Any]:
    """Run every suite and end in the state of the worst.

    Args:
        name: The folder's name.
        requests: One ``RunRequest`` a suite, as plain parameters, or one with ``folder`` for all suites
            under it; with ``once`` a suite runs at most once for each local date of this flow run's scheduled
            start.
    """
    headlines: list[dict[str, Any]] = []
    asked = wiring.every_suite(requests)
    async with wiring.nights_of(asked, scheduled=flow_run.scheduled_start_time) as nights:
        for due in nights:
            if due.line is not None:
                get_run_logger().warning(due.line)
            if due.summary is not None:
                headlines.append(reporting.headline(Summary(due.summary)))
                continue
            parameters = due.request.parameters()
            await evaluate(reporting.suite_name(parameters), parameters, return_state=True)
            headlines.append(await wiring.headline(parameters))
            if headlines[-1]["exit_code"] == ExitCode.INTERRUPTED:
                break  # whoever stops a night means all of it
    worst = reporting.exit_code([headline["exit_code"] for headline in headlines])
    line = reporting.night_line(headlines)
    if worst == 0:
        return Completed(message=line, data=headlines)
    return Failed(message=line, data=headlines)
