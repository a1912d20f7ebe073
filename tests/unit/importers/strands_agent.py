"""Writes the spans of a small Strands agent, a file for each convention; run as a program.

A process of its own: OpenTelemetry has one tracer provider a process, and tests must not leave one.
Arguments: a folder, then a JSON mapping of file names to OTEL_SEMCONV_STABILITY_OPT_IN values.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from strands import Agent, tool
from strands.telemetry import tracer

from makers import _stream, called, in_turn, said

ARGUMENTS = {"place": "Paris", "days": 2, "hours": 2.0, "exact": True, "unit": None}


@tool
def weather(
    place: str, days: int = 1, hours: float = 1.0, exact: bool = False, unit: str | None = None
) -> str:
    """Tell the weather."""
    if place == "London":
        raise RuntimeError("no service")
    return f"rain in {place}"


def _use(number: int, arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    start = {"toolUse": {"name": "weather", "toolUseId": f"t{number}"}}
    return start, {"toolUse": {"input": json.dumps(arguments)}}


def _play() -> None:
    text = ({}, {"text": "I look."})
    both = _stream([text, _use(1, ARGUMENTS), _use(2, {"place": "London"})], "tool_use", None)
    again = called("weather", {"place": "Rome"}, use="t3")
    model = in_turn(both, again, said("Rain.\nNo word from London."))
    agent = Agent(model=model, tools=[weather], system_prompt="Be good.", callback_handler=None)
    agent("Paris & London?")


if __name__ == "__main__":
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    for name, opt_in in json.loads(sys.argv[2]).items():
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = opt_in
        tracer._tracer_instance = None
        _play()
        text = "".join(f"{span.to_json()}\n" for span in exporter.get_finished_spans())
        Path(sys.argv[1], name).write_text(text)
        exporter.clear()
