"""Specs, builders and token counts, against the SDK's own classes and a server on loopback."""

import asyncio
import gc
import http.server
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.adapters.failures import StreamCutError, classify
from nightgate.adapters.models import (
    SCHEMES,
    ModelSpec,
    build_model,
    canonical,
    check_credentials,
    close_model,
    is_local,
    normalise_usage,
    parse_spec,
    usage_kind,
)
from nightgate.calls import Outcome, Role
from nightgate.errors import InputError
from nightgate.trials import Usage

# --- specs


def test_ids_keep_their_colons_and_slashes() -> None:
    """Bedrock's versions and ARNs hold both."""
    arn = "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.x-v1:0"
    assert parse_spec(f"bedrock:{arn}") == ModelSpec("bedrock", arn, {})


def test_options_are_typed() -> None:
    """As JSON where it is JSON, else text."""
    spec = parse_spec(
        "openai:gpt-x?temperature=0&top_p=0.5&seed=7&stream=false&service_tier=flex&base_url=http://127.0.0.1:8080/v1"
        '&reasoning={"effort":"low"}&timeout_s=1e1&user=null'
    )
    assert spec.options == {
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "stream": False,
        "service_tier": "flex",
        "base_url": "http://127.0.0.1:8080/v1",
        "reasoning": {"effort": "low"},
        "timeout_s": 10.0,
        "user": None,
    }
    assert isinstance(spec.options["temperature"], int)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("openia:gpt-x", "did you mean 'openai'"),
        ("gpt-x", "scripted, bedrock, openai"),
        ("openai:", "no model name"),
        ("openai:?temperature=0", "no model name"),
        ("openai:gpt x", "white space"),
        ("scripted:../x", "file name in scripts/"),
        ("scripted:x?temperature=0", "takes no options"),
        ("import:nothing", "import:module:factory"),
        ("openai:x?temperature=hot", "temperature is a number"),
        ("openai:x?temperature=NaN", "temperature is a number"),
        ("openai:x?temperature=true", "temperature is a number"),
        ("openai:x?max_tokens=0", "max_tokens is a whole number"),
        ("openai:x?max_tokens=1.5", "max_tokens is a whole number"),
        ("openai:x?timeout_s=0", "timeout_s is a number of seconds above 0"),
        ("openai:x?base_url=127.0.0.1:80", "base_url is an address"),
        ("openai:x?base_url=http://[", "base_url is an address"),
        ("bedrock:x?region=Frankfurt", "region is an AWS region"),
        ("openai:x?temperature=0&temperature=1", "given twice"),
        ("openai:x?temperature", "name=value"),
        ("openai:x?a b=1", "no name of an option"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said(text: str, says: str) -> None:
    """Before anything is spent."""
    with pytest.raises(InputError, match=says):
        parse_spec(text)


@pytest.mark.parametrize(
    "query",
    [
        "api_key=sk-abcdefgh12345678",
        "apiKey=x123secret",
        "OPENAI_API_KEY=x123secret",
        "access-token=x123secret",
        "password=x123secret",
        "aws_secret_access_key=x123secret",
        "user=sk-abcdefgh12345678",
        "base_url=http://me:x123secret@host/v1",
        'extra_headers={"Authorization":"Bearer x123secret"}',
        'extra_body={"api_key":"x123secret"}',
        "api_key=x123secret&temperature=hot",
    ],
)
def test_credentials_in_a_spec_are_refused_and_not_repeated(query: str) -> None:
    """Specs are stored in rows and shown in messages."""
    with pytest.raises(InputError, match="looks like a credential") as caught:
        parse_spec(f"openai:x?{query}")
    assert "x123secret" not in str(caught.value)
    assert "sk-abc" not in str(caught.value)


def test_a_cache_key_is_no_credential() -> None:
    """OpenAI routes on it."""
    assert parse_spec("openai:x?prompt_cache_key=suite").options == {"prompt_cache_key": "suite"}


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8),
    st.lists(st.integers(0, 9), max_size=3),
)


@given(st.dictionaries(st.sampled_from(["a", "b_c", "reasoning", "seed"]), VALUES, max_size=4))
def test_the_canonical_text_reads_back_as_the_same_spec(options: dict[str, Any]) -> None:
    """It is the identity in rows and fingerprints."""
    spec = parse_spec(canonical(ModelSpec("openai", "x", options)))
    assert spec == ModelSpec("openai", "x", options)
    assert canonical(spec) == str(spec)


def test_the_order_of_options_does_not_matter() -> None:
    """Two spellings of one model are one model."""
    assert canonical(parse_spec("openai:x?b=1&a=2")) == canonical(parse_spec("openai:x?a=2&b=1"))


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("ollama:llama3", True),
        ("llamacpp:default", True),
        ("openai:x?base_url=http://127.0.0.1:1/v1", True),
        ("openai-responses:x?base_url=http://localhost:1/v1", True),
        ("openai:x?base_url=http://[::1]:1/v1", True),
        ("openai:x?base_url=https://gateway.example/v1", False),
        ("openai:x?base_url=http://127.0.0.1.example/v1", False),
        ("openai:x", False),
        ("bedrock:x?base_url=http://127.0.0.1:1", False),
    ],
)
def test_local_models_are_those_on_this_machine(text: str, local: bool) -> None:
    """Only they are free without a price: a stand-in for a cloud keeps the cloud's price."""
    assert is_local(parse_spec(text)) is local


# --- building


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "ANTHROPIC_", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


def test_every_scheme_has_a_builder() -> None:
    """A spec that parses can be built."""
    from nightgate.adapters.models.build import _BUILDERS

    assert set(_BUILDERS) == set(SCHEMES)


@pytest.mark.parametrize(
    ("text", "role", "params"),
    [
        ("openai:x", Role.AGENT, {}),
        ("openai:x", Role.USER, {"temperature": 0.9, "max_completion_tokens": 120}),
        ("openai:x", Role.JUDGE, {"temperature": 0}),
        ("openai:x?temperature=0.3", Role.JUDGE, {"temperature": 0.3}),
        ("openai:x?temperature=null", Role.JUDGE, {}),
        ("openai:x?max_tokens=9", Role.AGENT, {"max_completion_tokens": 9}),
        ("openai:x?max_tokens=9&base_url=http://h/v1", Role.AGENT, {"max_tokens": 9}),
        ("openai:x?max_completion_tokens=9", Role.USER, {"temperature": 0.9, "max_completion_tokens": 9}),
        ("openai-responses:x?max_tokens=9", Role.AGENT, {"max_output_tokens": 9}),
        ("openai-responses:x", Role.USER, {"temperature": 0.9, "max_output_tokens": 120}),
        ("openai:x?seed=7&service_tier=flex", Role.AGENT, {"seed": 7, "service_tier": "flex"}),
        ("llamacpp:x?max_tokens=9&grammar=g", Role.AGENT, {"max_tokens": 9, "grammar": "g"}),
    ],
)
def test_parameters_get_the_providers_own_names(text: str, role: Role, params: dict[str, Any]) -> None:
    """Defaults by role give way to what the spec says; null takes one away."""
    model = build_model(parse_spec(text), role=role)
    assert model.get_config()["params"] == params
    assert model.get_config()["model_id"] == "x"


def test_bedrock_is_built_without_retries_and_with_a_wide_pool() -> None:
    """Otherwise one throttled call becomes many, and ten connections serve a hundred trials."""
    spec = parse_spec(
        "bedrock:m:0?region=eu-central-1&max_tokens=5&temperature=0&timeout_s=7&top_k=3&guardrail_id=g"
    )
    model = build_model(spec)
    config = model.client.meta.config
    assert config.retries["total_max_attempts"] == 1
    assert (config.max_pool_connections, config.read_timeout, config.connect_timeout) == (256, 7.0, 10.0)
    assert model.client.meta.region_name == "eu-central-1"
    wanted = {"model_id": "m:0", "max_tokens": 5, "temperature": 0, "guardrail_id": "g"}
    assert wanted.items() <= model.config.items()
    assert model.config["additional_request_fields"] == {"top_k": 3}


@pytest.mark.parametrize("scheme", ["anthropic", "ollama", "litellm"])
def test_a_missing_library_names_the_extra_to_install(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ImportError from deep inside helps nobody."""
    monkeypatch.delitem(sys.modules, f"strands.models.{scheme}", raising=False)
    monkeypatch.setitem(sys.modules, scheme, None)  # as if it were not installed, also where it is
    with pytest.raises(InputError, match=rf"pip install 'nightgate\[{scheme}\]'"):
        build_model(parse_spec(f"{scheme}:x"))


def test_a_script_is_found_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    """Suites bring their own scripts."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "base.yaml").write_text("replies: {'*': [{say: x}]}")
    model = build_model(parse_spec("scripted:base"), script_dirs=[tmp_path / "one", tmp_path / "two"])
    assert model.get_config()["model_id"] == "scripted:base"


def test_a_script_that_was_edited_is_read_again(tmp_path: Path) -> None:
    """Scripts are read once while their text is the same; one process may outlive an edit."""
    texts = []
    for said in ("yes", "no"):
        (tmp_path / "base.yaml").write_text(f"replies: {{'*': [{{say: '{said}'}}]}}")
        script = build_model(parse_spec("scripted:base"), script_dirs=[tmp_path]).script
        texts.append(script.steps(role="agent", case_id="a", trial=0).steps[0].say)

    assert texts == ["yes", "no"]


def test_an_unknown_script_names_the_nearest(tmp_path: Path) -> None:
    """And where it was looked for."""
    (tmp_path / "baseline.yaml").write_text("replies: {'*': [{say: x}]}")
    with pytest.raises(InputError, match=r"no basline.yaml in .*did you mean 'baseline'"):
        build_model(parse_spec("scripted:basline"), script_dirs=[tmp_path])


def test_an_imported_factory_gets_the_options_and_is_found_beside_the_scripts(tmp_path: Path) -> None:
    """A model of the user's own."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "my_model_factory.py").write_text(
        "from strands.models.openai import OpenAIModel\n"
        "def build(size):\n    return OpenAIModel(model_id=f'mine-{size}')\n"
        "def wrong():\n    return 1\n"
        "def broken():\n    raise ValueError('no licence')\n"
    )
    dirs = [tmp_path / "scripts"]
    spec = parse_spec("import:my_model_factory:build?size=3")
    model = build_model(spec, script_dirs=dirs, role=Role.USER)
    assert model.get_config()["model_id"] == "mine-3"
    assert usage_kind(spec, model) == "inside"
    with pytest.raises(InputError, match="returned a int, not a"):
        build_model(parse_spec("import:my_model_factory:wrong"), script_dirs=dirs)
    with pytest.raises(InputError, match="raised ValueError: no licence"):
        build_model(parse_spec("import:my_model_factory:broken"), script_dirs=dirs)
    with pytest.raises(InputError, match="has no 'absent'"):
        build_model(parse_spec("import:my_model_factory:absent"), script_dirs=dirs)


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ("openai:x", "OPENAI_API_KEY"),
        ("openai-responses:x", "OPENAI_API_KEY"),
        ("openai:x?base_url=https://gateway.example/v1", "OPENAI_API_KEY"),
        ("anthropic:x", "ANTHROPIC_API_KEY"),
        ("bedrock:x", "AWS_ACCESS_KEY_ID"),
    ],
)
def test_missing_credentials_name_the_variable(
    text: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no call is made to find out."""
    assert variable in (check_credentials(parse_spec(text)) or "")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    monkeypatch.setenv(variable, "x")
    assert check_credentials(parse_spec(text)) is None


@pytest.mark.parametrize(
    "text", ["scripted:x", "ollama:x", "llamacpp:x", "import:a:b", "openai:x?base_url=http://127.0.0.1:1/v1"]
)
def test_models_without_credentials_are_not_asked_for_any(text: str) -> None:
    """A server on this machine wants none."""
    assert check_credentials(parse_spec(text)) is None


# --- tokens


def test_cached_tokens_inside_and_beside_the_input() -> None:
    """The same report is 30 tokens for one provider and 35 for the other."""
    raw = {"inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 5}
    assert normalise_usage(raw, "inside") == Usage(input=5, output=20, cache_read=5)
    assert normalise_usage(raw, "inside").total == 30
    assert normalise_usage(raw, "beside").total == 35


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("openai:x", "inside"),
        ("openai-responses:x", "inside"),
        ("litellm:x", "inside"),
        ("llamacpp:x", "inside"),
        ("bedrock:x", "beside"),
        ("anthropic:x", "beside"),
        ("scripted:x", "beside"),
        ("ollama:x", "beside"),
        ("import:a:b", "beside"),
    ],
)
def test_each_provider_counts_in_its_way(text: str, kind: str) -> None:
    """Known from their documentation and the SDK's format functions."""
    assert usage_kind(parse_spec(text)) == kind


@given(
    st.dictionaries(
        st.sampled_from(["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"]),
        st.one_of(st.none(), st.integers(-5, 10**9), st.floats(), st.text(max_size=2), st.booleans()),
    ),
    st.sampled_from(["inside", "beside"]),
)
def test_counts_are_never_negative_whatever_is_reported(raw: dict[str, Any], kind: Any) -> None:
    """Servers report nothing, null or less than they cached; what nobody can read is no count at all."""
    usage = normalise_usage(raw, kind)
    if usage is None:
        return
    assert min(usage.input, usage.output, usage.cache_read, usage.cache_write) >= 0
    assert all(isinstance(n, int) for n in (usage.input, usage.output, usage.cache_read, usage.cache_write))


@pytest.mark.parametrize(
    "raw",
    [
        {"inputTokens": None, "outputTokens": None},
        {"inputTokens": "10", "outputTokens": "5"},
        {"inputTokens": 10, "outputTokens": None},
        {"inputTokens": True, "outputTokens": 5},
        {"inputTokens": -1, "outputTokens": 5},
        {"inputTokens": 10, "outputTokens": float("nan")},
        {"totalTokens": 15},
        {},
    ],
)
@pytest.mark.parametrize("kind", ["inside", "beside"])
def test_tokens_that_nobody_can_read_are_unknown_and_not_none_at_all(raw: dict[str, Any], kind: Any) -> None:
    """As 0 tokens such an answer cost nothing, and no cap would ever bind."""
    assert normalise_usage(raw, kind) is None


def test_a_count_of_nothing_is_a_count() -> None:
    """A model on this machine that had its prompt in memory reads 0 tokens."""
    assert normalise_usage({"inputTokens": 0, "outputTokens": 0}, "inside") == Usage()
    assert normalise_usage({"inputTokens": 3, "cacheReadInputTokens": None}, "beside") == Usage(input=3)


def test_the_sdks_openai_metadata_counts_cached_tokens_inside() -> None:
    """If a later SDK separates them, this says so before the bills do."""
    details = SimpleNamespace(cached_tokens=5, cache_write_tokens=2)
    chat = build_model(parse_spec("openai:x")).format_chunk(
        {
            "chunk_type": "metadata",
            "data": SimpleNamespace(
                prompt_tokens=10, completion_tokens=20, total_tokens=30, prompt_tokens_details=details
            ),
        }
    )
    responses = build_model(parse_spec("openai-responses:x"))._format_chunk(
        {
            "chunk_type": "metadata",
            "data": SimpleNamespace(
                input_tokens=10, output_tokens=20, total_tokens=30, input_tokens_details=details
            ),
        }
    )
    for event in (chat, responses):
        usage = normalise_usage(event["metadata"]["usage"], "inside")
        assert usage == Usage(input=3, output=20, cache_read=5, cache_write=2)


def test_the_sdks_bedrock_metadata_counts_cached_tokens_beside() -> None:
    """It hands on what the API says, whose input excludes the cache."""
    response = {
        "output": {"message": {"role": "assistant", "content": [{"text": "x"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 20, "totalTokens": 35, "cacheReadInputTokens": 5},
        "metrics": {"latencyMs": 1},
    }
    model = build_model(parse_spec("bedrock:x?region=us-east-1"))
    usage = list(model.convert_non_streaming_to_streaming(response))[-1]["metadata"]["usage"]
    assert normalise_usage(usage, "beside") == Usage(input=10, output=20, cache_read=5)


# --- over the wire


class _Server:
    """An OpenAI-like server that answers with what a test puts in ``replies``."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.requests: list[SimpleNamespace] = []
        self.connections: set[Any] = set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.connections.add(self.client_address)
                outer.requests.append(
                    SimpleNamespace(path=self.path, body=json.loads(body), key=self.headers["authorization"])
                )
                status, headers, payload = outer.replies[min(len(outer.requests), len(outer.replies)) - 1]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def server() -> Iterator[_Server]:
    made = _Server()
    thread = threading.Thread(target=made.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def _sse(*events: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    lines = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    text = "".join(f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True))
    return 200, {"content-type": "text/event-stream"}, text.encode()


def _chunk(content: str | None, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": [choice]}


USAGE = {
    "id": "1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "x",
    "choices": [],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 5},
    },
}
CHAT = _sse(_chunk("he"), _chunk("llo"), _chunk(None, "stop"), USAGE)
CHAT_CUT = _sse(_chunk("he"))
_DELTA = {"type": "response.output_text.delta", "delta": "hello", "item_id": "i", "output_index": 0}
_WHOLE = {
    "id": "r",
    "object": "response",
    "created_at": 1,
    "model": "x",
    "output": [],
    "status": "completed",
    "usage": {
        "input_tokens": 10,
        "output_tokens": 20,
        "total_tokens": 30,
        "input_tokens_details": {"cached_tokens": 5},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
RESPONSES = _sse(_DELTA, {"type": "response.completed", "response": _WHOLE, "sequence_number": 1})
RESPONSES_CUT = _sse(_DELTA)
WIRE = [("openai", CHAT, CHAT_CUT), ("openai-responses", RESPONSES, RESPONSES_CUT)]


async def _ask(model: Any) -> list[Any]:
    return [event async for event in model.stream([{"role": "user", "content": [{"text": "hi"}]}])]


@pytest.mark.parametrize(("scheme", "whole", "_"), WIRE)
async def test_a_whole_answer_arrives_with_stop_and_tokens(server, scheme: str, whole: Any, _: Any) -> None:
    """On loopback without a key a placeholder is sent."""
    server.replies = [whole]
    spec = parse_spec(f"{scheme}:x?base_url={server.url}")
    model = build_model(spec)
    events = await _ask(model)
    await close_model(model)
    assert [event["messageStop"] for event in events if "messageStop" in event] == [
        {"stopReason": "end_turn"}
    ]
    usage = normalise_usage(events[-1]["metadata"]["usage"], usage_kind(spec))
    assert usage == Usage(input=5, output=20, cache_read=5)
    assert server.requests[0].key == "Bearer placeholder"


@pytest.mark.parametrize(("scheme", "_", "cut"), WIRE)
async def test_a_cut_answer_is_no_answer(server, scheme: str, _: Any, cut: Any) -> None:
    """The SDK would say end_turn, and half an answer would be judged as the agent's."""
    server.replies = [cut]
    model = build_model(parse_spec(f"{scheme}:x?base_url={server.url}"))
    with pytest.raises(StreamCutError) as caught:
        await _ask(model)
    await close_model(model)
    assert classify(caught.value).outcome is Outcome.CUT


@pytest.mark.parametrize(("scheme", "whole", "_"), WIRE)
async def test_calls_share_connections(server, scheme: str, whole: Any, _: Any) -> None:
    """A client a call costs more than the rest of a trial."""
    server.replies = [whole]
    model = build_model(parse_spec(f"{scheme}:x?base_url={server.url}"))
    for _ in range(4):
        await _ask(model)
    await close_model(model)
    assert len(server.requests) == 4
    assert len(server.connections) == 1


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # asyncio.run leaves the connections to the collector
@pytest.mark.parametrize(("scheme", "whole", "_"), WIRE)
def test_a_second_event_loop_gets_a_client_of_its_own(server, scheme: str, whole: Any, _: Any) -> None:
    """Two runs in one process: the first loop's client would say "Event loop is closed"."""
    server.replies = [whole]
    model = build_model(parse_spec(f"{scheme}:x?base_url={server.url}"))
    for _ in range(3):
        assert asyncio.run(_ask(model))
    del model
    gc.collect()  # here, where the warnings about it are expected


@pytest.mark.parametrize(("scheme", "whole", "_"), WIRE)
@pytest.mark.parametrize(
    ("status", "outcome"),
    [(429, Outcome.THROTTLED), (500, Outcome.SERVER_ERROR), (503, Outcome.SERVER_ERROR), (401, Outcome.AUTH)],
)
async def test_no_client_retries_by_itself(
    server, scheme: str, whole: Any, _: Any, status: int, outcome: Outcome
) -> None:
    """One layer retries, and it reads Retry-After."""
    body = json.dumps({"error": {"message": "no", "type": "x", "code": None}}).encode()
    server.replies = [(status, {"content-type": "application/json", "retry-after": "7"}, body), whole]
    model = build_model(parse_spec(f"{scheme}:x?base_url={server.url}"))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the SDK makes of it
        await _ask(model)
    await close_model(model)
    failure = classify(caught.value)
    assert failure.outcome is outcome
    assert failure.retry_after_s == (7.0 if outcome.transient else None)
    assert len(server.requests) == 1


async def test_a_spent_quota_is_not_waited_for(server) -> None:
    """OpenAI answers 429 for it, and the SDK calls that throttling."""
    body = json.dumps(
        {"error": {"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
    )
    server.replies = [(429, {"content-type": "application/json"}, body.encode())]
    model = build_model(parse_spec(f"openai:x?base_url={server.url}"))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        await _ask(model)
    await close_model(model)
    assert classify(caught.value).outcome is Outcome.AUTH


async def test_a_given_key_is_sent_to_loopback_too(server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local gateway may check it."""
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    server.replies = [CHAT]
    model = build_model(parse_spec(f"openai:x?base_url={server.url}"))
    await _ask(model)
    await close_model(model)
    assert server.requests[0].key == "Bearer mine"


async def test_nobody_listening_is_a_disconnect() -> None:
    """The agent's model could not be reached."""
    model = build_model(parse_spec("openai:x?base_url=http://127.0.0.1:9/v1"))
    with pytest.raises(openai.APIConnectionError) as caught:
        await _ask(model)
    await close_model(model)
    assert classify(caught.value).outcome is Outcome.DISCONNECT


# --- how long written tokens are kept


@pytest.mark.parametrize(
    ("details", "ttl", "hour"),
    [
        ([{"ttl": "5m", "inputTokens": 60}, {"ttl": "1h", "inputTokens": 40}], None, 40),
        ([{"ttl": "5m", "inputTokens": 100}], "1h", 0),
        ([{"ttl": "1h", "inputTokens": 100}], "5m", 100),
        (None, None, 0),
        (None, "5m", 0),
        (None, "1h", 100),
        ([], "1h", 100),
        ("nonsense", None, 0),
    ],
)
def test_the_provider_says_how_long_tokens_are_kept_else_the_spec(details: Any, ttl: Any, hour: int) -> None:
    """Never a guess in silence: five minutes is what a cache point without a word gets."""
    raw = {"inputTokens": 7, "outputTokens": 1, "cacheWriteInputTokens": 100, "cacheDetails": details}
    assert normalise_usage(raw, "beside", ttl) == Usage(
        input=7, output=1, cache_write=100, cache_write_1h=hour
    )


def test_cache_ttl_turns_the_sdks_cache_points_on_and_is_no_parameter_of_the_request() -> None:
    """What is asked for is what is priced."""
    model = build_model(parse_spec("bedrock:m:0?region=eu-central-1&cache_ttl=1h"))
    assert model.config["cache_config"].ttl == "1h"
    assert "additional_request_fields" not in model.config


@pytest.mark.parametrize("text", ["openai:x?cache_ttl=1h", "ollama:x?cache_ttl=1h"])
def test_cache_ttl_is_refused_where_no_provider_takes_it(text: str) -> None:
    """It would change the price and nothing else."""
    with pytest.raises(InputError, match="cache_ttl is for bedrock: and anthropic:"):
        build_model(parse_spec(text))


def test_cache_ttl_is_one_of_two_times() -> None:
    """There is no third."""
    with pytest.raises(InputError, match="cache_ttl is 5m or 1h"):
        parse_spec("bedrock:m:0?cache_ttl=2h")


def test_bedrock_is_sent_the_service_tier_that_is_priced() -> None:
    """Under Converse's own name."""
    model = build_model(parse_spec("bedrock:m:0?region=eu-central-1&service_tier=flex"))
    request = model.format_request([{"role": "user", "content": [{"text": "hi"}]}])
    assert request["serviceTier"] == {"type": "flex"}


def test_responses_are_sent_the_service_tier_that_is_priced() -> None:
    """As a parameter of the request."""
    model = build_model(parse_spec("openai-responses:x?service_tier=priority&base_url=http://127.0.0.1:1/v1"))
    request = model._format_request([{"role": "user", "content": [{"text": "hi"}]}])
    assert request["service_tier"] == "priority"
