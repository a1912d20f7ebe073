"""Bedrock's batch wire: Converse without tools, and JSON by schema turned back into a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from strands.tools import convert_pydantic_to_tool_spec
from strands_evals.evaluators.helpfulness_evaluator import HelpfulnessRating

from batch_double import a_record
from nightgate.adapters.batch.bedrock import BedrockBatches
from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.models import build_model, parse_spec
from nightgate.calls import Outcome, Role
from nightgate.errors import InputError

ASKED = [{"role": "user", "content": [{"text": "Is it polite?"}]}]
RATING = convert_pydantic_to_tool_spec(HelpfulnessRating)
PLACE = BatchSettings(s3="s3://bucket/pre", role_arn="arn:aws:iam::123456789012:role/b")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")


def a_queue(settings: BatchSettings = PLACE) -> BedrockBatches:
    spec = parse_spec("bedrock:acme.judge?region=us-east-1&max_tokens=300")
    return BedrockBatches(build_model(spec, role=Role.JUDGE), spec, settings)


def an_answer(text: str, stop: str = "end_turn") -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"text": text}]}
    usage = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage}


def test_a_record_is_a_converse_request() -> None:
    """With the judge's own parameters, and no model: the job names it."""
    rendered = a_queue().render(ASKED, None, "You judge.", {})

    assert rendered is not None
    assert rendered.body["messages"] == ASKED
    assert rendered.body["system"] == [{"text": "You judge."}]
    assert rendered.body["inferenceConfig"] == {"maxTokens": 300, "temperature": 0}
    assert not {"modelId", "toolConfig", "outputConfig"} & set(rendered.body)


def test_a_typed_answer_is_asked_for_by_schema() -> None:
    """The queue refuses toolConfig."""
    rendered = a_queue().render(ASKED, [RATING], None, {})

    assert rendered is not None
    assert rendered.asked == "HelpfulnessRating"
    assert "toolConfig" not in rendered.body
    told = rendered.body["outputConfig"]["textFormat"]
    schema = json.loads(told["structure"]["jsonSchema"]["schema"])
    assert (told["type"], set(schema["properties"])) == ("json_schema", {"reasoning", "score"})
    assert schema["additionalProperties"] is False


def test_what_needs_tools_or_is_no_json_goes_live() -> None:
    """Two tools, a conversation with calls in it, a picture."""
    queue = a_queue()
    called = [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": []}}]}]
    picture = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"x"}}}]}]

    assert queue.render(ASKED, [RATING, {**RATING, "name": "another"}], None, {}) is None
    assert queue.render(called, [RATING], None, {}) is None
    assert queue.render(picture, None, None, {}) is None


async def test_json_comes_back_as_the_call_that_was_asked_for() -> None:
    """The SDK waits for a call of that tool."""
    record = a_record(1)
    record.asked = "HelpfulnessRating"
    events = a_queue().events(record, an_answer('{"score": "Very helpful"}'))

    assert events[1]["contentBlockStart"]["start"]["toolUse"]["name"] == "HelpfulnessRating"
    assert json.loads(events[2]["contentBlockDelta"]["delta"]["toolUse"]["input"]) == {
        "score": "Very helpful"
    }
    assert [e["messageStop"]["stopReason"] for e in events if "messageStop" in e] == ["tool_use"]
    assert events[-1]["metadata"]["usage"]["inputTokens"] == 10


@pytest.mark.parametrize(("text", "asked"), [("yes", None), ('{"a": 1}', None), ("sorry", "R"), ("[1]", "R")])
async def test_any_other_text_stays_text(text: str, asked: str | None) -> None:
    """The judge's content is not ours to mend."""
    record = a_record(1)
    record.asked = asked
    events = a_queue().events(record, an_answer(text))

    assert [e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e] == [text]


async def test_an_answer_that_was_cut_stays_cut() -> None:
    """Even where what is there happens to be an object."""
    record = a_record(1)
    record.asked = "R"
    events = a_queue().events(record, an_answer("{}", "max_tokens"))

    assert [e["messageStop"]["stopReason"] for e in events if "messageStop" in e] == ["max_tokens"]


@pytest.mark.parametrize(
    "body", [{}, {"output": {}}, {"output": {"message": {"content": [{"text": "yes"}]}}}]
)
async def test_a_body_of_another_shape_is_no_answer(body: dict[str, Any]) -> None:
    """Half an answer must never be judged."""
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        a_queue().events(a_record(1), body)


@pytest.mark.parametrize(
    ("told", "outcome", "why"),
    [
        ({"error": {"errorCode": 400, "errorMessage": "bad"}}, Outcome.ERROR, "400: bad"),
        ({"error": "bad"}, Outcome.ERROR, "bad"),
        ({"modelOutput": "text"}, Outcome.UNKNOWN, "its line in the results has no modelOutput"),
    ],
)
def test_why_a_record_has_no_answer_is_kept(told: dict[str, Any], outcome: Outcome, why: str) -> None:
    """In the provider's words."""
    found = a_queue().read(json.dumps({"recordId": "r", **told}).encode())

    assert found is not None
    assert found.lost is not None
    assert (found.lost.outcome, found.lost.why) == (outcome, why)


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b'{"recordId": 7}'])
def test_a_line_that_is_nobodys_is_passed_over(line: bytes) -> None:
    """Its record is missing then."""
    assert a_queue().read(line) is None


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (BatchSettings(), "NIGHTGATE_BATCH_S3"),
        (BatchSettings(s3="s3://bucket"), "NIGHTGATE_BATCH_ROLE_ARN"),
        (BatchSettings(s3="/folder", role_arn="r"), "write s3://bucket/prefix"),
    ],
)
def test_a_place_for_files_is_needed_before_anything_is_spent(settings: BatchSettings, word: str) -> None:
    """And said by name."""
    with pytest.raises(InputError, match=word):
        a_queue(settings)
