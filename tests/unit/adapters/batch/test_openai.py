"""OpenAI's batch wire: the live call's own request, and answers as the SDK would have streamed them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from strands.tools import convert_pydantic_to_tool_spec
from strands_evals.evaluators.helpfulness_evaluator import HelpfulnessRating

from batch_double import a_record
from nightgate.adapters.batch.openai import OpenAIBatches
from nightgate.adapters.batch.records import Found, Record
from nightgate.adapters.models import build_model, parse_spec
from nightgate.adapters.replies import Reply
from nightgate.calls import Outcome, Role
from nightgate.evaluators.criterion import SYSTEM, read_reply
from nightgate.trials import Usage

ASKED = [{"role": "user", "content": [{"text": "Is it polite?"}]}]
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def a_queue(scheme: str = "openai") -> OpenAIBatches:
    model: Any = build_model(parse_spec(f"{scheme}:gpt-x?base_url=http://127.0.0.1:9/v1"), role=Role.JUDGE)
    return OpenAIBatches(model, model.client_args, responses=scheme == "openai-responses")


def a_line(queue: OpenAIBatches, *tools: Any) -> dict[str, Any]:
    """A record of one question, as it stands in the file."""

    async def made() -> Record:
        rendered = queue.render(ASKED, list(tools), SYSTEM, {"tool_choice": None})
        assert rendered is not None
        record = a_record(1)
        record.body = rendered.body
        return record

    line: dict[str, Any] = json.loads(queue.line(asyncio.run(made())))
    return line


def test_a_record_is_the_live_request_without_its_stream() -> None:
    """The same body gets the same answer; a queue has nothing to stream to."""
    line = a_line(a_queue())

    assert (line["method"], line["url"], len(line["custom_id"])) == ("POST", "/v1/chat/completions", 32)
    assert line["body"]["messages"][0]["content"] == SYSTEM
    assert line["body"]["temperature"] == 0
    assert not {"stream", "stream_options", "tools"} & set(line["body"])


def test_a_typed_answer_is_asked_for_by_the_tool_as_live() -> None:
    """OpenAI's queue takes tools."""
    (tool,) = a_line(a_queue(), convert_pydantic_to_tool_spec(HelpfulnessRating))["body"]["tools"]

    assert tool["function"]["name"] == "HelpfulnessRating"
    assert set(tool["function"]["parameters"]["properties"]) == {"reasoning", "score"}


def test_the_responses_kind_goes_to_its_own_endpoint() -> None:
    """And keeps nothing at the provider."""
    line = a_line(a_queue("openai-responses"))

    assert line["url"] == "/v1/responses"
    assert (line["body"]["instructions"], line["body"]["store"]) == (SYSTEM, False)


async def test_a_criterions_text_is_read_back() -> None:
    """With its stop and its tokens."""
    text = '{"verdict": "yes", "reason": "it is"}'
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    events = a_queue().events(a_record(1), {"choices": [choice], "usage": USAGE})

    assert read_reply(events[2]["contentBlockDelta"]["delta"]["text"])[0] == "yes"
    assert events[-2]["messageStop"]["stopReason"] == "end_turn"
    assert events[-1]["metadata"]["usage"]["outputTokens"] == 2


@pytest.mark.parametrize("scheme", ["openai", "openai-responses"])
async def test_a_rating_is_read_back_as_a_call(scheme: str) -> None:
    """Under the tool's name, its arguments as they came."""
    called = {"name": "R", "arguments": "{}"}
    bodies: dict[str, dict[str, Any]] = {
        "openai": {
            "choices": [
                {
                    "finish_reason": "tool_calls",
                    "message": {"content": None, "tool_calls": [{"id": "t", "function": called}]},
                }
            ]
        },
        "openai-responses": {
            "status": "completed",
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "call_id": "t", "name": "R", "arguments": "{}"},
            ],
        },
    }  # fmt: skip
    events = a_queue(scheme).events(a_record(1), bodies[scheme])

    assert events[1]["contentBlockStart"]["start"]["toolUse"] == {"name": "R", "toolUseId": "t"}
    assert events[2]["contentBlockDelta"]["delta"]["toolUse"]["input"] == "{}"
    assert events[-1]["messageStop"]["stopReason"] == "tool_use"


async def test_a_response_that_was_cut_says_so() -> None:
    """As a live one would."""
    body = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "It"}]}],
    }
    events = a_queue("openai-responses").events(a_record(1), body)

    assert events[-1]["messageStop"]["stopReason"] == "max_tokens"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": []},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": "yes"}, "finish_reason": None}]},
        {"choices": [{"message": {"tool_calls": [{"id": "t"}]}, "finish_reason": "stop"}]},
        {
            "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1},
        },
    ],
)
async def test_a_body_of_another_shape_is_no_answer(body: dict[str, Any]) -> None:
    """Half an answer must never be judged."""
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        a_queue().events(a_record(1), body)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"7", b"null", b"{}", b'{"custom_id": 7}', b'{"custom_id": null}'],
)
def test_a_line_that_is_nobodys_is_passed_over(line: bytes) -> None:
    """Its record is missing then."""
    assert a_queue().read(line) is None


@pytest.mark.parametrize(
    ("told", "outcome", "billed", "why"),
    [
        ({"error": {"code": "expired", "message": "late"}}, Outcome.ERROR, False, "expired: late"),
        (
            {"response": {"status_code": 429, "body": {"error": {"code": "rate", "message": "slow"}}}},
            Outcome.ERROR,
            False,
            "rate: slow",
        ),
        ({"response": {"status_code": 500, "body": {}}}, Outcome.ERROR, False, "an error without a word"),
        ({"response": None}, Outcome.UNKNOWN, None, "its line in the results has no body"),
        ({"response": {"body": "text"}}, Outcome.UNKNOWN, None, "its line in the results has no body"),
    ],
)  # fmt: skip
def test_why_a_record_has_no_answer_is_kept(
    told: dict[str, Any], outcome: Outcome, billed: bool | None, why: str
) -> None:
    """An error of the provider's is not billed; of a broken line nobody knows."""
    found = a_queue().read(json.dumps({"custom_id": "r", **told}).encode())

    assert isinstance(found, Found)
    assert found.lost is not None
    assert (found.lost.outcome, found.lost.billed, found.lost.why) == (outcome, billed, why)


def test_the_system_fingerprint_of_a_queued_answer_is_read_as_that_of_a_live_one() -> None:
    """Live and batch judge one suite: which set-up answered must be told of both."""
    queue = a_queue()
    choice = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    reply, silent = Reply(lambda _: Usage()), Reply(lambda _: Usage())

    for event in queue.events(a_record_of(), {"choices": [choice], "system_fingerprint": "fp_1"}):
        reply.take(event, 0.0)
    for event in queue.events(a_record_of(), {"choices": [choice], "system_fingerprint": None}):
        silent.take(event, 0.0)

    assert (reply.system_fingerprint, reply.stop_reason, reply.text) == ("fp_1", "end_turn", "yes")
    assert silent.system_fingerprint is None


def a_record_of() -> Record:
    """Any record: what was asked does not matter here."""

    async def made() -> Record:
        return a_record(1)

    return asyncio.run(made())
