"""The ledger of a run: what was sent and what is known of how it ended.

Owns the merge of call starts and ends into one row an attempt. Knows no file and no price.
Imports the standard library and the call types only.
"""

from __future__ import annotations

from collections.abc import Iterable

from nightgate.calls import Call, CallStart, Outcome

_UNHEARD = "sent, and nothing heard since: the process ended first"


def merge_calls(records: Iterable[Call | CallStart]) -> list[Call]:
    """One ``Call`` for each call id.

    A start without an end becomes an ``unknown`` call with null tokens and cost. The order of the
    records does not matter. Of several ends of one id (an answer that came late is written again)
    the one with known usage wins, then the later end, then the one that compares greater.

    Returns:
        Sorted by case, trial, play, start and call id.
    """
    calls: dict[str, Call] = {}
    starts: dict[str, CallStart] = {}
    for record in records:
        if isinstance(record, CallStart):
            begun = starts.get(record.call_id)
            if record.call_id not in calls and (begun is None or repr(record) > repr(begun)):
                starts[record.call_id] = record
            continue
        starts.pop(record.call_id, None)  # thousands of calls: only what has no end is held on to
        known = calls.get(record.call_id)
        if known is None or _weight(record) > _weight(known):
            calls[record.call_id] = record
    for call_id, start in starts.items():
        calls[call_id] = start.ended(Outcome.UNKNOWN, error=_UNHEARD)
    return sorted(calls.values(), key=_order)


def _weight(call: Call) -> tuple[bool, str, str]:
    return call.usage is not None, call.ended_at.isoformat() if call.ended_at else "", repr(call)


def _order(call: Call) -> tuple[str, int, int, str, str]:
    started = call.started_at.isoformat() if call.started_at else ""
    return call.case_id, call.trial, call.play, started, call.call_id
