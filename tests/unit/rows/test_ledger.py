from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nightgate.calls import Call, Outcome, Role
from nightgate.rows.ledger import merge_calls
from nightgate.rows.records import CallStart
from nightgate.trials import Usage
from rowgen import CALLS, STARTS

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def start(call_id: str, **changes: Any) -> CallStart:
    return CallStart(
        **{
            "call_id": call_id,
            "run_id": "r",
            "suite": "s",
            "role": Role.AGENT,
            "case_id": "c",
            "trial": 0,
            "evaluator": None,
            "model": "scripted:x",
            "attempt": 1,
            "started_at": NOON,
            **changes,
        }
    )


def end(call_id: str, **changes: Any) -> Call:
    same = {name: getattr(start(call_id), name) for name in CallStart.__slots__}
    return Call(**{**same, "outcome": Outcome.OK, "usage": Usage(input=1), "cost_nanousd": 5, **changes})


def test_a_start_without_an_end_is_unknown_and_costs_nobody_knows_what() -> None:
    """The process was killed while the provider worked: paid, but never heard of."""
    (call,) = merge_calls([start("a")])

    assert call.outcome is Outcome.UNKNOWN
    assert call.usage is None
    assert call.cost_nanousd is None
    assert call.started_at == NOON


def test_a_start_and_its_end_are_one_attempt() -> None:
    """Both are journalled; the ledger has one row for them, whichever comes first."""
    assert merge_calls([start("a"), end("a")]) == [end("a")] == merge_calls([end("a"), start("a")])


def test_of_two_ends_the_one_with_known_tokens_counts() -> None:
    """A late answer brings the usage that the deadline's record lacks."""
    given_up = end("a", usage=None, cost_nanousd=None, outcome=Outcome.TIMEOUT, ended_at=NOON)
    late = end("a", late=True, ended_at=NOON + timedelta(seconds=9))

    assert merge_calls([late, given_up]) == merge_calls([given_up, late]) == [late]


@given(st.lists(CALLS | STARTS, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(records: list[Call | CallStart], chance: random.Random) -> None:
    """Two finishers read the groups in any order and must write the same part."""
    shuffled = records[:]
    chance.shuffle(shuffled)
    unique = {record.call_id for record in records}

    merged = merge_calls(records)

    assert [call.call_id for call in merged] == [call.call_id for call in merge_calls(shuffled)]
    assert {call.call_id for call in merged} == unique
