"""Traces that the Strands SDK itself writes, in each of its conventions: a real agent, real spans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightgate.importers.records import NoContentError
from nightgate.importers.traces import read_trace

TESTS = Path(__file__).parents[2]
CONVENTIONS = {
    "events": "",
    "details": "gen_ai_latest_experimental,gen_ai_tool_definitions",
    "attributes": "gen_ai_latest_experimental,gen_ai_span_attributes_only",
    "redacted": "gen_ai_unredacted_attributes=",
}
ARGUMENTS = {"place": "Paris", "days": 2, "hours": 2.0, "exact": True, "unit": None}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of spans a convention; in a process of its own, because a tracer is for the whole process."""
    folder = tmp_path_factory.mktemp("strands")
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    agent = Path(__file__).with_name("strands_agent.py")
    ran = [sys.executable, str(agent), str(folder), json.dumps(CONVENTIONS)]
    subprocess.run(ran, check=True, env=env, timeout=120, capture_output=True)
    return folder


@pytest.mark.parametrize("convention", ["events", "details", "attributes"])
def test_strands_own_spans_tell_the_turn(traces: Path, convention: str) -> None:
    """The SDK's words change between its conventions; what the agent did does not."""
    recorded = read_trace(traces / convention)

    assert recorded.input == "Paris & London?"
    assert recorded.output == "Rain.\nNo word from London."
    assert json.dumps([call.arguments for call in recorded.calls]) == json.dumps(
        [ARGUMENTS, {"place": "London"}, {"place": "Rome"}]
    )
    assert [(call.call_id, call.step, call.status) for call in recorded.calls] == [
        ("t1", 0, "success"),
        ("t2", 0, "error"),
        ("t3", 1, "success"),
    ]
    assert [call.result for call in recorded.calls] == [
        "rain in Paris",
        "Error: RuntimeError - no service",
        "rain in Rome",
    ]
    assert recorded.calls[0].said == "I look."
    assert recorded.offered == ("weather",)
    assert recorded.unread == ()


def test_strands_redacted_spans_are_refused_with_their_setting(traces: Path) -> None:
    """Tool names alone would make a case that asks nothing."""
    with pytest.raises(NoContentError, match="gen_ai_unredacted_attributes"):
        read_trace(traces / "redacted")
