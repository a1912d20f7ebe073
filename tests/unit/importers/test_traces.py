"""Files of recorded spans: the same turn out of every format, and a clear word where there is none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nightgate.errors import ExitCode, InputError
from nightgate.importers.records import NoContentError, Recorded
from nightgate.importers.traces import read_trace

TRACES = Path(__file__).parents[2] / "data" / "traces"
TURN = json.loads((TRACES / "library_turn.json").read_text())
SETTING = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def calls(recorded: Recorded) -> list[dict[str, Any]]:
    return recorded.document("")["tool_calls"]


def write(folder: Path, *records: Any) -> Path:
    path = folder / "spans.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def a_span(span_id: str, operation: str = "chat", *, trace: str = "t1", **attributes: Any) -> dict[str, Any]:
    names = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "trace_id": trace,
        "span_id": span_id,
        "name": operation,
        "start_time": int(span_id, 16) * 1000,
        "end_time": int(span_id, 16) * 1000 + 500,
        "attributes": {"gen_ai.operation.name": operation, **names},
    }


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
    }


def asked(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def came(call_id: str, response: Any) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": response}


def chat(span_id: str, inputs: Iterable[Any], *outputs: Any, trace: str = "t1") -> dict[str, Any]:
    return a_span(
        span_id, trace=trace, gen_ai__input__messages=list(inputs), gen_ai__output__messages=list(outputs)
    )


@pytest.mark.parametrize(
    ("file", "about"),
    [
        ("adot_spans_and_events.jsonl", "AgentCore/ADOT records: spans and their log events"),
        ("adot_events_only.json", "AgentCore/ADOT records: log events without their spans"),
        (
            "logs_insights.json",
            "AgentCore/ADOT records: spans and their log events, in CloudWatch Logs rows",
        ),
        ("otlp_export.json", "OTel GenAI spans, in OTLP/JSON"),
    ],
)
def test_every_format_tells_the_same_turn(file: str, about: str) -> None:
    """One turn was written down in each of them; types and order are part of it."""
    recorded = read_trace(TRACES / file)

    assert recorded.source["about"] == about
    assert (recorded.input, recorded.output) == (TURN["input"], TURN["output"])
    assert json.dumps(calls(recorded)) == json.dumps(TURN["calls"])
    assert [call.step for call in recorded.calls] == [0, 0, 1]
    assert recorded.calls[0].said == "I look it up."


def test_calls_of_the_sample_spans_equal_the_traces() -> None:
    """Each call is told by a model's answer, by the next call's history and by the tool's own span."""
    recorded = read_trace(TRACES / "otel_genai_spans.json")

    assert recorded.input == "What's the weather in Paris and London?"
    assert calls(recorded) == [
        {
            "name": "get_weather",
            "arguments": {"location": "Paris"},
            "result": "rainy, 57°F",
            "status": "success",
            "call_id": "call_paris_001",
        },
        {
            "name": "get_weather",
            "arguments": {"location": "London"},
            "result": "Error: TimeoutError",
            "status": "error",
            "call_id": "call_london_001",
        },
    ]
    assert recorded.output is not None
    assert recorded.output.startswith("The weather in Paris is rainy at 57°F.")
    assert recorded.offered == ("get_weather",)
    assert recorded.unread == ()


@pytest.mark.parametrize("shape", ["list", "spans", "lines", "pretty", "reversed"])
def test_a_list_an_object_and_lines_are_the_same(tmp_path: Path, shape: str) -> None:
    """Exporters write one or the other; the console exporter prints objects over several lines."""
    spans = json.loads((TRACES / "otel_genai_spans.json").read_text())
    text = {
        "list": json.dumps(spans),
        "spans": json.dumps({"spans": spans}),
        "lines": "\n".join(map(json.dumps, spans)),
        "pretty": "\n".join(json.dumps(span, indent=4) for span in spans),
        "reversed": json.dumps(spans[::-1]),
    }[shape]
    path = tmp_path / "spans"
    path.write_text(text)

    assert calls(read_trace(path)) == calls(read_trace(TRACES / "otel_genai_spans.json"))


def test_messages_as_json_text_equal_messages_as_objects(tmp_path: Path) -> None:
    """Attributes of a span can only be text; events of newer SDKs hold objects."""
    inputs, output = [said("user", "Hi")], [said("assistant", asked("c1", "find", {"n": 1}))]
    objects = chat("1", inputs, *output)
    texts = a_span(
        "1", gen_ai__input__messages=json.dumps(inputs), gen_ai__output__messages=json.dumps(output)
    )

    first, second = read_trace(write(tmp_path, objects)), read_trace(write(tmp_path, texts))

    assert (
        calls(first)
        == calls(second)
        == [{"name": "find", "arguments": {"n": 1}, "result": None, "status": None, "call_id": "c1"}]
    )


def test_a_span_that_was_exported_twice_counts_once(tmp_path: Path) -> None:
    """A retried export, or a query that was run twice."""
    spans = json.loads((TRACES / "otel_genai_spans.json").read_text())
    records = [json.loads(line) for line in (TRACES / "adot_spans_and_events.jsonl").read_text().splitlines()]

    assert len(calls(read_trace(write(tmp_path, *spans, *spans)))) == 2
    assert len(calls(read_trace(write(tmp_path, *records, *records)))) == 3


def test_several_traces_are_listed_and_one_must_be_named(tmp_path: Path) -> None:
    """To guess which one is meant would make a case of the wrong conversation."""
    path = write(
        tmp_path,
        chat("1", [said("user", "first")], said("assistant", "one"), trace="aaa1"),
        chat("2", [said("user", "second")], said("assistant", "two"), trace="aab2"),
    )

    with pytest.raises(InputError, match=r"spans.jsonl:1: holds 2 traces; name one with --trace") as listed:
        read_trace(path)
    assert "aaa1  1 span" in str(listed.value)
    assert "aab2  1 span" in str(listed.value)
    assert read_trace(path, "aab2").input == "second"
    assert read_trace(path, "0xAAB").input == "second"
    assert str(read_trace(path, "aab2").unread[-1]) == "file: left out: 1 more trace"
    for wrong in ("aa", "zz"):
        with pytest.raises(InputError, match=f"--trace {wrong}"):
            read_trace(path, wrong)


def test_traces_without_a_models_call_are_no_choice(tmp_path: Path) -> None:
    """Health checks and database calls stand in the same exports."""
    other = {"trace_id": "zzz", "span_id": "9", "name": "GET /ping", "start_time": 1, "attributes": {}}

    recorded = read_trace(write(tmp_path, other, chat("1", [said("user", "Hi")], said("assistant", "Ho"))))

    assert recorded.input == "Hi"
    assert str(recorded.unread[-1]) == "file: left out: 1 more trace"


# --- nothing to make a case of --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "setting"),
    [
        ("my-app", SETTING),
        ("strands.telemetry.tracer", "gen_ai_span_attributes_only"),
    ],
)
def test_spans_without_content_name_the_setting(tmp_path: Path, scope: str, setting: str) -> None:
    """Capture is off by default: the person needs the name of the switch, not an empty case."""
    span = {**a_span("1", gen_ai__usage__input_tokens=5), "scope": {"name": scope}}

    with pytest.raises(NoContentError, match=setting) as told:
        read_trace(write(tmp_path, span, a_span("2", "execute_tool", gen_ai__tool__name="find")))

    assert "nothing was written" in str(told.value)
    assert told.value.exit_code is ExitCode.INCONCLUSIVE


def test_agentcore_spans_without_their_log_events_name_the_log_group() -> None:
    """There the content is not off, it lies in another log group."""
    with pytest.raises(NoContentError, match="export its log group"):
        read_trace(TRACES / "no_content.jsonl")


def test_redacted_content_is_no_content(tmp_path: Path) -> None:
    """A case that asks "[REDACTED]" would run and mean nothing."""
    event = {"name": "gen_ai.user.message", "attributes": {"content": "[REDACTED]"}}
    choice = {"name": "gen_ai.choice", "attributes": {"message": "[REDACTED]"}}
    span = {**a_span("1"), "events": [event, choice]}

    with pytest.raises(NoContentError, match="gen_ai_unredacted_attributes"):
        read_trace(write(tmp_path, span))


def test_an_answer_without_a_question_is_no_case(tmp_path: Path) -> None:
    """The input is the one thing that a case cannot do without; what was odd is told along."""
    image = {"role": "user", "parts": [{"type": "image", "content": "..."}]}

    with pytest.raises(NoContentError, match="holds no text of a user") as told:
        read_trace(write(tmp_path, chat("1", [image], said("assistant", "A cat."))))

    assert "span 1 (chat): a part of type 'image', which is no text" in str(told.value)


def test_spans_of_no_model_say_so(tmp_path: Path) -> None:
    """Not a capture setting, but the wrong spans."""
    with pytest.raises(NoContentError, match=r"no gen_ai\.\* attribute"):
        read_trace(write(tmp_path, {"trace_id": "t", "span_id": "1", "name": "GET /", "start_time": 1}))


@pytest.mark.parametrize("value", [5, "text", {}, {"cases": []}, [], [[]], None, {"spans": []}])
def test_a_file_without_spans_is_refused_with_its_line(tmp_path: Path, value: Any) -> None:
    """And it says which formats are known."""
    with pytest.raises(InputError, match=r"spans.jsonl:1: holds no span.*OTLP/JSON"):
        read_trace(write(tmp_path, value))


def test_records_that_are_none_are_told_one_by_one(tmp_path: Path) -> None:
    """The rest of the file still makes a case."""
    path = write(tmp_path, 5, {"a": 1}, chat("1", [said("user", "Hi")], said("assistant", "Ho")))

    assert [str(item) for item in read_trace(path).unread] == [
        "line 1: is no record, but int",
        "line 2: is no span and no log event (it has a)",
    ]


# --- AgentCore in other words ---------------------------------------------------------------------


def an_event(name: str, body: Any, *, at: int, span: str = "b1") -> dict[str, Any]:
    return {
        "traceId": "t1",
        "spanId": span,
        "timeUnixNano": at,
        "attributes": {"event.name": name, "gen_ai.system": "aws.bedrock"},
        "body": body,
    }


def test_one_event_a_message_is_read_as_well(tmp_path: Path) -> None:
    """The instrumentation of the Bedrock client writes them beside those of the framework."""
    function = {"name": "find", "arguments": {"n": 1, "exact": True}}
    use = {"type": "function", "id": "c1", "function": function}
    path = write(
        tmp_path,
        an_event("gen_ai.user.message", {"content": [{"text": "Is it free?"}]}, at=1),
        an_event("gen_ai.choice", {"message": {"role": "assistant", "tool_calls": [use]}, "index": 0}, at=2),
        an_event("gen_ai.user.message", {"content": [{"text": "Is it free?"}]}, at=3, span="b2"),
        an_event("gen_ai.assistant.message", {"tool_calls": [use]}, at=4, span="b2"),
        an_event("gen_ai.tool.message", {"id": "c1", "content": [{"text": "yes"}]}, at=5, span="b2"),
        an_event(
            "gen_ai.choice",
            {"message": {"role": "assistant", "content": [{"text": "It is."}]}, "index": 0},
            at=6,
            span="b2",
        ),
    )

    recorded = read_trace(path)

    assert (recorded.input, recorded.output) == ("Is it free?", "It is.")
    assert calls(recorded) == [
        {
            "name": "find",
            "arguments": {"n": 1, "exact": True},
            "result": "yes",
            "status": "success",
            "call_id": "c1",
        }
    ]


def test_a_frameworks_serialised_state_is_told_and_not_taken_for_a_message(tmp_path: Path) -> None:
    """LangChain's dumps stand in messages of role user; a case must not ask them."""
    state = json.dumps({"inputs": {"messages": []}, "tags": [], "kwargs": {}})
    body = {"input": {"messages": [{"role": "user", "content": state}]}}
    path = write(
        tmp_path,
        an_event("opentelemetry.instrumentation.langchain", body, at=1, span="c1"),
        an_event("gen_ai.user.message", {"content": [{"text": "Is it free?"}]}, at=2),
        an_event("gen_ai.choice", {"message": {"content": [{"text": "It is."}]}}, at=3),
    )

    recorded = read_trace(path)

    assert (recorded.input, recorded.output) == ("Is it free?", "It is.")
    assert "LangChain's own state" in str(recorded.unread[0])


@pytest.mark.parametrize("wrap", ["events", "rows", "objects"])
def test_cloudwatch_wrappings_are_taken_off(tmp_path: Path, wrap: str) -> None:
    """filter-log-events, Logs Insights rows, and rows as an export writes them."""
    records = json.loads((TRACES / "adot_events_only.json").read_text())
    wrapped: Any = {
        "events": {"events": [{"timestamp": 1, "message": json.dumps(record)} for record in records]},
        "rows": [{"@timestamp": "x", "@message": json.dumps(record)} for record in records],
        "objects": [{"@timestamp": "x", "@message": record} for record in records],
    }[wrap]

    assert calls(read_trace(write(tmp_path, wrapped))) == TURN["calls"]


def test_a_cut_message_is_told_with_its_place() -> None:
    """CloudWatch cuts messages at 256 KB; the other records still count."""
    recorded = read_trace(TRACES / "logs_insights.json")

    assert [str(item) for item in recorded.unread] == [
        "line 1, item 4: the message is no JSON (cut, or a plain log line)"
    ]


def test_rows_without_the_message_say_what_to_query(tmp_path: Path) -> None:
    """A query of single fields cannot be put together again."""
    with pytest.raises(InputError, match="add `fields @message` to the query"):
        read_trace(write(tmp_path, {"results": [[{"field": "spanId", "value": "1"}]]}))
