"""One word for whatever a provider raises, with the real exceptions of the installed libraries."""

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import aiohttp
import botocore.exceptions
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands.types.exceptions import (
    ContextWindowOverflowException,
    EventLoopException,
    ModelThrottledException,
)

from nightgate.adapters.failures import ScriptedFailure, StreamCutError, classify
from nightgate.calls import Outcome
from nightgate.errors import ModelCallError

REQUEST = httpx.Request("POST", "https://api.example/v1")


def openai_status(status: int, body: Any = None, **headers: str) -> openai.APIStatusError:
    response = httpx.Response(
        status, request=REQUEST, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    kinds = {400: openai.BadRequestError, 401: openai.AuthenticationError, 403: openai.PermissionDeniedError}
    kinds |= {404: openai.NotFoundError, 429: openai.RateLimitError}
    kind = kinds.get(status, openai.InternalServerError if status >= 500 else openai.APIStatusError)
    return kind("refused: " + str(body), response=response, body=body)


def aws(code: str, message: str = "no", status: int = 400, **headers: str) -> botocore.exceptions.ClientError:
    names = {k.replace("_", "-"): v for k, v in headers.items()}
    meta = {"HTTPStatusCode": status, "HTTPHeaders": names}
    return botocore.exceptions.ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": meta}, "ConverseStream"
    )


class AnthropicError(Exception):
    """As Anthropic's client raises them: the same generator as OpenAI's, the code in the body."""

    def __init__(self, status: int, kind: str, message: str = "no", **headers: str) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"type": "error", "error": {"type": kind, "message": message}}
        self.response = httpx.Response(status, request=REQUEST, headers=headers)


class OverloadedError(AnthropicError):
    """The name it has there."""


CASES: list[tuple[BaseException, Outcome]] = [
    (ModelThrottledException("slow"), Outcome.THROTTLED),
    (ContextWindowOverflowException("long"), Outcome.CONTEXT_OVERFLOW),
    (EventLoopException(ModelThrottledException("slow")), Outcome.THROTTLED),
    (ScriptedFailure("throttled"), Outcome.THROTTLED),
    (ScriptedFailure("server_error"), Outcome.SERVER_ERROR),
    (ScriptedFailure("timeout"), Outcome.TIMEOUT),
    (ScriptedFailure("auth"), Outcome.AUTH),
    (ScriptedFailure("error"), Outcome.ERROR),
    (StreamCutError("cut"), Outcome.CUT),
    (ModelCallError("exhausted", "no more"), Outcome.EXHAUSTED),
    (ModelCallError("cut", "no stop"), Outcome.CUT),
    (ModelCallError("call_cap", "too many"), Outcome.ERROR),
    (openai_status(429), Outcome.THROTTLED),
    (openai_status(429, {"code": "insufficient_quota", "type": "insufficient_quota"}), Outcome.AUTH),
    (openai_status(500), Outcome.SERVER_ERROR),
    (openai_status(503), Outcome.SERVER_ERROR),
    (openai_status(504), Outcome.TIMEOUT),
    (openai_status(408), Outcome.TIMEOUT),
    (openai_status(401), Outcome.AUTH),
    (openai_status(403), Outcome.AUTH),
    (openai_status(404), Outcome.ERROR),
    (openai_status(413), Outcome.CONTEXT_OVERFLOW),
    (openai_status(400, {"code": "context_length_exceeded"}), Outcome.CONTEXT_OVERFLOW),
    (
        openai_status(400, {"message": "This model's maximum context length is 8192"}),
        Outcome.CONTEXT_OVERFLOW,
    ),
    (openai_status(400, {"message": "Unsupported parameter: 'temperature'"}), Outcome.ERROR),
    (openai.APITimeoutError(REQUEST), Outcome.TIMEOUT),
    (openai.APIConnectionError(request=REQUEST), Outcome.DISCONNECT),
    (openai.APIError("x", REQUEST, body={"type": "server_error", "code": None}), Outcome.SERVER_ERROR),
    (aws("ThrottlingException"), Outcome.THROTTLED),
    (aws("TooManyRequestsException", status=429), Outcome.THROTTLED),
    (aws("throttlingException"), Outcome.THROTTLED),
    (aws("ServiceUnavailableException", status=503), Outcome.SERVER_ERROR),
    (aws("InternalServerException", status=500), Outcome.SERVER_ERROR),
    (aws("modelStreamErrorException", status=424), Outcome.SERVER_ERROR),
    (aws("ModelErrorException", status=424), Outcome.SERVER_ERROR),
    (aws("ModelNotReadyException", status=429), Outcome.SERVER_ERROR),
    (aws("ModelTimeoutException", status=408), Outcome.TIMEOUT),
    (aws("AccessDeniedException", status=403), Outcome.AUTH),
    (aws("UnrecognizedClientException", status=403), Outcome.AUTH),
    (aws("ExpiredTokenException", status=403), Outcome.AUTH),
    (aws("ExpiredToken"), Outcome.AUTH),
    (aws("InvalidSignatureException", status=403), Outcome.AUTH),
    (aws("ServiceQuotaExceededException"), Outcome.AUTH),
    (aws("ValidationException", "Input is too long for requested model."), Outcome.CONTEXT_OVERFLOW),
    (aws("ValidationException", "prompt is too long: 210000 tokens > 200000"), Outcome.CONTEXT_OVERFLOW),
    (aws("ValidationException", "The provided model identifier is invalid."), Outcome.ERROR),
    (aws("ResourceNotFoundException", status=404), Outcome.ERROR),
    (botocore.exceptions.NoCredentialsError(), Outcome.AUTH),
    (botocore.exceptions.UnauthorizedSSOTokenError(), Outcome.AUTH),
    (botocore.exceptions.ReadTimeoutError(endpoint_url="x"), Outcome.TIMEOUT),
    (botocore.exceptions.ConnectTimeoutError(endpoint_url="x"), Outcome.TIMEOUT),
    (botocore.exceptions.EndpointConnectionError(endpoint_url="x"), Outcome.DISCONNECT),
    (botocore.exceptions.ConnectionClosedError(endpoint_url="x"), Outcome.DISCONNECT),
    (botocore.exceptions.ResponseStreamingError(error="x"), Outcome.DISCONNECT),
    (OverloadedError(529, "overloaded_error"), Outcome.SERVER_ERROR),
    (AnthropicError(429, "rate_limit_error"), Outcome.THROTTLED),
    (AnthropicError(401, "authentication_error"), Outcome.AUTH),
    (
        AnthropicError(400, "invalid_request_error", "prompt is too long: 9 tokens > 8"),
        Outcome.CONTEXT_OVERFLOW,
    ),
    (httpx.ReadTimeout("x"), Outcome.TIMEOUT),
    (httpx.PoolTimeout("x"), Outcome.TIMEOUT),
    (httpx.ConnectError("x"), Outcome.DISCONNECT),
    (httpx.RemoteProtocolError("incomplete chunked read"), Outcome.DISCONNECT),
    (
        httpx.HTTPStatusError("x", request=REQUEST, response=httpx.Response(502, request=REQUEST)),
        Outcome.SERVER_ERROR,
    ),
    (aiohttp.ServerTimeoutError(), Outcome.TIMEOUT),
    (aiohttp.ServerDisconnectedError(), Outcome.DISCONNECT),
    (aiohttp.ClientPayloadError("x"), Outcome.DISCONNECT),
    (TimeoutError(), Outcome.TIMEOUT),
    (ConnectionResetError(), Outcome.DISCONNECT),
    (BrokenPipeError(), Outcome.DISCONNECT),
    (asyncio.IncompleteReadError(b"", 1), Outcome.DISCONNECT),
    (socket.gaierror(-2, "Name or service not known"), Outcome.DISCONNECT),
    (OSError(113, "No route to host"), Outcome.DISCONNECT),
    (FileNotFoundError(2, "no such file"), Outcome.ERROR),
    (ValueError("mine"), Outcome.ERROR),
    (KeyError("x"), Outcome.ERROR),
]


@pytest.mark.parametrize(("error", "outcome"), CASES, ids=lambda v: v if isinstance(v, str) else repr(v)[:60])
def test_each_failure_has_its_word(error: BaseException, outcome: Outcome) -> None:
    """Retried is only what another attempt can help."""
    failure = classify(error)
    assert failure.outcome is outcome
    assert failure.message


def test_the_cause_is_looked_through() -> None:
    """Wrappers of SDKs say nothing by themselves."""
    error = RuntimeError("the model failed")
    error.__cause__ = ConnectionResetError("reset")
    failure = classify(error)
    assert failure.outcome is Outcome.DISCONNECT
    assert failure.message == "RuntimeError: the model failed"


def test_a_chain_that_bites_its_tail_ends() -> None:
    """Exceptions may be their own cause's cause."""
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    assert classify(one).outcome is Outcome.ERROR


def test_a_quota_behind_the_sdks_throttling_is_no_throttling() -> None:
    """Every 429 is throttling to Strands; no wait refills a quota."""
    error = ModelThrottledException("quota")
    error.__cause__ = openai_status(429, {"code": "insufficient_quota"})
    assert classify(error).outcome is Outcome.AUTH


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (openai_status(429, retry_after="3"), 3.0),
        (openai_status(503, retry_after="1.5"), 1.5),
        (openai_status(429, retry_after_ms="250", retry_after="9"), 0.25),
        (openai_status(429, retry_after="soon"), None),
        (openai_status(429, retry_after="-3"), None),
        (openai_status(429, retry_after="nan"), None),
        (openai_status(429), None),
        (aws("ThrottlingException", retry_after="4"), 4.0),
        (openai_status(401, retry_after="3"), None),
    ],
)
def test_retry_after_in_seconds(error: BaseException, seconds: float | None) -> None:
    """Only where another attempt makes sense."""
    assert classify(error).retry_after_s == seconds


def test_retry_after_as_a_date_and_behind_a_wrapper() -> None:
    """The header is on the cause, not on the SDK's exception."""
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    error = ModelThrottledException("slow")
    error.__cause__ = openai_status(429, retry_after=when)
    assert 50 < (classify(error).retry_after_s or 0) <= 60
    past = openai_status(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert classify(past).retry_after_s == 0.0


def test_a_message_is_one_bounded_line() -> None:
    """It becomes a cell of a table."""
    message = classify(ValueError("a\nb  c" + "x" * 5000)).message
    assert message.startswith("ValueError: a b c")
    assert len(message) <= 500
    assert "\n" not in message


def test_an_error_without_text_is_named_by_its_type() -> None:
    """`TimeoutError()` says nothing."""
    assert classify(TimeoutError()).message == "TimeoutError (timeout)"


@given(
    st.builds(
        SimpleNamespace,
        status_code=st.one_of(st.none(), st.integers(), st.text(max_size=3)),
        body=st.one_of(
            st.none(), st.text(max_size=3), st.dictionaries(st.sampled_from(["error", "code"]), st.text())
        ),
        response=st.one_of(
            st.none(), st.dictionaries(st.sampled_from(["Error"]), st.none()), st.text(max_size=2)
        ),
        code=st.one_of(st.none(), st.integers(), st.text(max_size=3)),
    )
)
def test_odd_attributes_never_break_the_reading(attributes: SimpleNamespace) -> None:
    """The ledger must not fail over a stranger's exception."""
    error = RuntimeError("x")
    error.__dict__.update(attributes.__dict__)
    assert isinstance(classify(error).outcome, Outcome)
