"""Trials, cells and calls of any content, for the properties of stored forms."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from nightgate.calls import Call, Outcome, Role
from nightgate.rows.records import CallStart
from nightgate.scores import Blame, Cell, Score, Status
from nightgate.talks import EndReason, SimulatorNotes, Talk, TurnNote
from nightgate.trials import Ending, ToolCall, Trial, TrialKey, Usage

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
IDS = st.text("abcdefghij0123456789-", min_size=1, max_size=12)
OPTIONAL_TEXT = st.none() | TEXT
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT


def whole(kind: type, /, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Like ``st.builds``, but refuses to leave a field at its default.

    A field that is added to a record and forgotten in its stored form would pass every round trip.
    """
    missing = {field.name for field in fields(kind)} - set(parts)
    assert not missing, f"{kind.__name__}: draw {missing} here, and store it"
    return st.builds(kind, **parts)


JSON = st.recursive(
    SCALARS | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
SMALL = st.integers(0, 2**31 - 1)
WIDE = st.integers(0, 2**63 - 1)
FIGURES = st.floats(0, 1e12)
MOMENTS = st.none() | st.datetimes(
    datetime(1990, 1, 1),  # noqa: DTZ001 - hypothesis wants bounds without a zone
    datetime(2100, 1, 1),  # noqa: DTZ001 - same
    timezones=st.just(UTC),
).map(lambda moment: moment.replace(fold=0))
USAGES = whole(Usage, input=WIDE, output=WIDE, cache_read=WIDE, cache_write=WIDE, cache_write_1h=WIDE)
TOOL_CALLS = whole(
    ToolCall, name=TEXT, arguments=JSON, result=OPTIONAL_TEXT, status=OPTIONAL_TEXT, call_id=TEXT
)
NAMES = st.lists(TEXT, max_size=2)
TURNS = whole(
    TurnNote,
    turn=SMALL,
    user=TEXT,
    agent=TEXT,
    tool_calls=SMALL,
    given=NAMES,
    asked=NAMES,
    re_asked=NAMES,
    success=st.booleans(),
    forbidden=st.booleans(),
)
SIMULATORS = whole(
    SimulatorNotes,
    leaks=SMALL,
    regenerations=SMALL,
    repeats=SMALL,
    cuts=SMALL,
    faults=NAMES,
    tokens=st.dictionaries(st.sampled_from(["input", "output"]), WIDE),
    cost_nanousd=st.none() | WIDE,
    calls=SMALL,
)
TALKS = whole(
    Talk,
    end_reason=st.none() | st.sampled_from(EndReason),
    turns=st.lists(TURNS, max_size=3),
    withheld=NAMES,
    attempts=SMALL,
    simulator=SIMULATORS,
    transport=st.booleans(),
)
KEYS = whole(TrialKey, run_id=IDS, suite=IDS, case_id=TEXT, trial=SMALL)
TRIALS = whole(
    Trial,
    key=KEYS,
    ending=st.sampled_from(Ending),
    case_hash=IDS,
    agent_fingerprint=TEXT,
    input=TEXT,
    output=TEXT,
    error=OPTIONAL_TEXT,
    stop_reason=OPTIONAL_TEXT,
    messages=st.lists(OBJECTS, max_size=3).map(tuple),
    tool_calls=st.lists(TOOL_CALLS, max_size=3).map(tuple),
    tools_offered=st.none() | st.lists(OBJECTS, max_size=2).map(tuple),
    system_prompt=OPTIONAL_TEXT,
    final_state=st.none() | OBJECTS,
    usage=USAGES,
    cost_nanousd=st.none() | WIDE,
    calls=SMALL,
    turns=SMALL,
    latency_ms=st.none() | FIGURES,
    wait_ms=FIGURES,
    attempt=SMALL,
    reused_from=st.none() | IDS,
    end_reason=OPTIONAL_TEXT,
    end_turn=st.none() | SMALL,
    user_turns=st.none() | SMALL,
    conversation=st.none() | TALKS,
    started_at=MOMENTS,
    ended_at=MOMENTS,
)


@st.composite
def scores(draw: st.DrawFn) -> Score:
    """A score that its own rules allow."""
    status = draw(st.sampled_from(Status))
    if status.judged:
        figure = draw(st.none() | st.floats(0, 1))
    else:
        figure = draw(st.none() | FIGURES) if status is Status.MEASURED else None
    return Score(
        evaluator=draw(TEXT),
        version=draw(SMALL),
        status=status,
        reason=draw(TEXT),
        score=figure,
        label=draw(OPTIONAL_TEXT),
        blame=draw(st.none() | st.sampled_from(Blame)),
        details=draw(OBJECTS),
    )


CELLS = whole(
    Cell,
    case_id=TEXT,
    trial=SMALL,
    score=scores(),
    judge_model=OPTIONAL_TEXT,
    judge_fingerprint=OPTIONAL_TEXT,
    usage=USAGES,
    cost_nanousd=st.none() | WIDE,
    latency_ms=st.none() | FIGURES,
    attempt=SMALL,
    scored_at=MOMENTS,
    reused_from=OPTIONAL_TEXT,
)
_START = {
    "call_id": IDS,
    "run_id": IDS,
    "suite": IDS,
    "role": st.sampled_from(Role),
    "case_id": TEXT,
    "trial": SMALL,
    "evaluator": OPTIONAL_TEXT,
    "model": TEXT,
    "attempt": SMALL,
    "play": SMALL,
    "started_at": MOMENTS,
}
STARTS = whole(CallStart, **_START)
CALLS = whole(
    Call,
    **_START,
    outcome=st.sampled_from(Outcome),
    error=OPTIONAL_TEXT,
    stop_reason=OPTIONAL_TEXT,
    system_fingerprint=OPTIONAL_TEXT,
    usage=st.none() | USAGES,
    cost_nanousd=st.none() | WIDE,
    list_nanousd=st.none() | WIDE,
    batch_nanousd=st.none() | WIDE,
    latency_ms=st.none() | FIGURES,
    first_token_ms=st.none() | FIGURES,
    wait_ms=FIGURES,
    late=st.booleans(),
    ended_at=MOMENTS,
)
RECORDS = TRIALS | CELLS | CALLS | STARTS
