"""Which tool span and which result belong to which call.

Owns the order of evidence: id, name and arguments before id and name before the order alone. Some
servers give every call of an answer the same id, and tools that run in parallel finish in any order.
Takes time that grows with the number of calls, not with its square.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import Any

from nightgate.evaluators.values import parsed
from nightgate.importers.chains import Item
from nightgate.importers.tools import Execution

_Keys = Sequence[Hashable | None]
"""What is compared, of one side; None where there is nothing to compare."""


def runs_of(
    calls: Sequence[Item], executions: Sequence[Execution]
) -> tuple[list[Execution | None], list[Execution]]:
    """The tool span of each call, and the spans of no call.

    Args:
        calls: In the order in which they were asked for.
        executions: By start.
    """
    asked = [(call.call_id, call.name, _value(call.arguments)) for call in calls]
    ran = [(run.call_id, run.name, _value(run.arguments)) for run in executions]
    found = _pairs(
        ([key if key[0] else None for key in asked], [key if key[0] else None for key in ran]),
        ([key[:2] if key[0] else None for key in asked], [key[:2] if key[0] else None for key in ran]),
        ([key[0] or None for key in asked], [key[0] or None for key in ran]),
        # One side has no id.
        ([key[1:] for key in asked], [None if key[0] else key[1:] for key in ran]),
        ([None if key[0] else key[1:] for key in asked], [key[1:] for key in ran]),
        # One side has no arguments either.
        ([key[1] for key in asked], [None if key[0] or key[2] else key[1] for key in ran]),
        ([None if key[0] else key[1] for key in asked], [None if key[2] else key[1] for key in ran]),
        ([None if key[0] or key[2] else key[1] for key in asked], [key[1] for key in ran]),
        ([None if key[2] else key[1] for key in asked], [None if key[0] else key[1] for key in ran]),
    )
    taken = set(found.values())
    return (
        [executions[found[place]] if place in found else None for place in range(len(calls))],
        [run for number, run in enumerate(executions) if number not in taken],
    )


def results_of(
    calls: Sequence[Item], results: Sequence[Item], runs: Sequence[Execution | None]
) -> list[Item | None]:
    """The result of each call in the history.

    A history says no more than the id of the call. Where several calls share it, what the tool's own
    span returned decides, then the tool's name, then the order.

    Args:
        calls: In the order in which they were asked for.
        results: In the order in which they came.
        runs: The tool span of each call.
    """
    told = [None if run is None else run.result for run in runs]
    ids = [call.call_id for call in calls]
    found = _pairs(
        (
            [None if text is None else (call_id, text) for call_id, text in zip(ids, told, strict=True)],
            [(result.call_id, result.text) for result in results],
        ),
        (
            [(call.call_id, call.name) for call in calls],
            [(result.call_id, result.name) if result.name else None for result in results],
        ),
        (ids, [result.call_id for result in results]),
    )
    shared = Counter(ids)
    for place, text in enumerate(told):
        # In order is a guess where ids are shared; the tool's own span is none.
        if (
            place in found
            and text is not None
            and shared[ids[place]] > 1
            and results[found[place]].text != text
        ):
            del found[place]
    return [results[found[place]] if place in found else None for place in range(len(calls))]


def _pairs(*evidence: tuple[_Keys, _Keys]) -> dict[int, int]:
    """Pairs of equal keys, by the strongest evidence first, each side in its order."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    for own, theirs in evidence:
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for number, key in enumerate(theirs):
            if key is not None and number not in taken:
                waiting[key].append(number)
        for place, key in enumerate(own):
            if key is not None and place not in found and waiting.get(key):
                found[place] = waiting[key].popleft()
                taken.add(found[place])
    return found


def _value(arguments: Any) -> str | None:
    """Arguments as a key: equal values have one text; None where they were not recorded."""
    return None if arguments is None else json.dumps(_plain(parsed(arguments)), sort_keys=True)


def _plain(value: Any) -> Any:
    """``12.0`` as ``12``."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
