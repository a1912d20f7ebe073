"""The calls of a turn, each with what came back, in the order in which they were asked for.

Owns what is known of a call: the same call is told by the model's message, by the history of every
later model call and by the span of the tool that ran. Which of them belong together is found by
``matching``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nightgate.importers.chains import Item, Reading
from nightgate.importers.matching import results_of, runs_of
from nightgate.importers.records import RecordedCall
from nightgate.importers.tools import Execution

_Found = tuple[int, tuple[str, int], RecordedCall]
"""Start, message, call."""


def calls_of(
    turn: Sequence[Item], before: Sequence[Item], executions: Sequence[Execution], reading: Reading
) -> tuple[RecordedCall, ...]:
    """All calls of a turn in their order.

    Args:
        turn: Its items.
        before: The items of earlier turns, whose tools are not this one's.
        executions: All tool spans of the trace, by start.
        reading: Gets what could not be told.
    """
    earlier = [item for item in before if item.kind == "call"]
    asked = [item for item in turn if item.kind == "call"]
    ran, free = runs_of([*earlier, *asked], executions)
    ran = ran[len(earlier) :]
    came = results_of(asked, [item for item in turn if item.kind == "result"], ran)
    found: list[_Found] = [
        (item.start, item.message, _call(item, result, run))
        for item, result, run in zip(asked, came, ran, strict=True)
    ]
    for run in free:
        if not run.name:
            reading.note(
                run.where, f"a tool ran (call {run.call_id or 'without an id'}), its name was not recorded"
            )
            continue
        alone = Item(kind="call", call_id=run.call_id, name=run.name, arguments=run.arguments)
        at = next((i for i, (start, _, _) in enumerate(found) if start > run.start), len(found))
        found.insert(at, (run.start, (run.where, 0), _call(alone, None, run)))
    for _, _, call in found:
        if call.arguments is None:
            reading.note(
                f"call {call.call_id or call.name}", f"the arguments of {call.name} were not recorded"
            )
    return _in_steps(found, free)


def _call(item: Item, came: Item | None, ran: Execution | None) -> RecordedCall:
    result = came.text if came is not None else None
    status = came.status if came is not None else None
    if ran is not None:
        # The tool's own span knows whether it failed; a history only has text.
        result = ran.result if result is None else result
        status = ran.status if ran.status == "error" or status is None else status
    arguments = item.arguments if item.arguments is not None or ran is None else ran.arguments
    return RecordedCall(
        name=item.name,
        arguments=arguments,
        result=result,
        status=status,
        call_id=item.call_id,
        said=item.said,
    )


def _in_steps(found: Sequence[_Found], free: Sequence[Execution]) -> tuple[RecordedCall, ...]:
    """Number the steps: calls of one message, and lone tool spans that ran at the same time."""
    ends = {(ran.where, 0): ran.end for ran in free}
    calls: list[RecordedCall] = []
    step, last, until = -1, ("", -1), 0
    for start, message, call in found:
        overlaps = message in ends and last in ends and 0 < start < until
        if message != last and not overlaps:
            step, until = step + 1, 0
        last, until = message, max(until, ends.get(message, 0))
        calls.append(replace(call, step=step))
    return tuple(calls)
