"""The calls of a turn, each with what came back.

Owns which call a tool span belongs to: the same call is told by the model's message, by the history
of every later model call and by the span of the tool that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nightgate.importers.chains import Item, Reading
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
    free = list(executions)
    for item in before:
        if item.kind == "call":
            _take(free, item)
    found: list[_Found] = []
    results = [item for item in turn if item.kind == "result"]
    for item in (item for item in turn if item.kind == "call"):
        ran = _take(free, item)
        came = _take_result(results, item.call_id)
        found.append((item.start, item.message, _call(item, came, ran)))
    for ran in free:
        if not ran.name:
            reading.note(
                ran.where, f"a tool ran (call {ran.call_id or 'without an id'}), its name was not recorded"
            )
            continue
        alone = Item(kind="call", call_id=ran.call_id, name=ran.name, arguments=ran.arguments)
        at = next((i for i, (start, _, _) in enumerate(found) if start > ran.start), len(found))
        found.insert(at, (ran.start, (ran.where, 0), _call(alone, None, ran)))
    for _, _, call in found:
        if call.arguments is None:
            reading.note(
                f"call {call.call_id or call.name}", f"the arguments of {call.name} were not recorded"
            )
    return _in_steps(found, free)


def _take(free: list[Execution], item: Item) -> Execution | None:
    """The run of a call: by its id, else by name and arguments, else by name."""
    tests: list[Callable[[Execution], bool]] = [
        lambda ran: bool(item.call_id) and ran.call_id == item.call_id,
        lambda ran: _loose(ran, item) and ran.arguments == item.arguments,
        lambda ran: _loose(ran, item) and ran.arguments is None,
    ]
    for test in tests:
        for index, ran in enumerate(free):
            if test(ran):
                return free.pop(index)
    return None


def _loose(ran: Execution, item: Item) -> bool:
    return ran.name == item.name and not (ran.call_id and item.call_id)


def _take_result(results: list[Item], call_id: str) -> Item | None:
    for index, item in enumerate(results):
        if item.call_id == call_id:
            return results.pop(index)
    return None


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
