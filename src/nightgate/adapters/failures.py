"""What a failed call to a model means: one word of ``Outcome`` for whatever a provider raised.

Owns the reading of other people's exceptions, by type name, status code, error code and words, so
that no provider's library has to be there to classify its errors. Knows nothing of retries,
prices or scopes: ``metering`` decides what to do. Imports the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from nightgate.calls import Outcome
from nightgate.errors import ModelCallError


class ScriptedFailure(Exception):  # noqa: N818 - not an error of ours: it plays a provider's
    """What a scripted model raises where its script says ``raise:``.

    Attributes:
        kind: The ``raise:`` word, which is also the outcome's.
    """

    def __init__(self, kind: str, message: str | None = None) -> None:
        super().__init__(message or f"scripted {kind}")
        self.kind = kind


class StreamCutError(Exception):
    """A provider's stream ended without a stop reason, and its SDK would have hidden it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed attempt, in our words."""

    outcome: Outcome
    message: str
    """One line for the ledger; never empty."""
    retry_after_s: float | None = None
    """What the provider asked to wait; None when it did not say."""


_BY_TYPE: Mapping[str, Outcome] = {
    # Strands
    "ModelThrottledException": Outcome.THROTTLED,
    "ContextWindowOverflowException": Outcome.CONTEXT_OVERFLOW,
    # LiteLLM
    "ContextWindowExceededError": Outcome.CONTEXT_OVERFLOW,
    # OpenAI and Anthropic share their generator, and so these names
    "RateLimitError": Outcome.THROTTLED,
    "AuthenticationError": Outcome.AUTH,
    "OAuthError": Outcome.AUTH,
    "PermissionDeniedError": Outcome.AUTH,
    "InternalServerError": Outcome.SERVER_ERROR,
    "OverloadedError": Outcome.SERVER_ERROR,
    "ServiceUnavailableError": Outcome.SERVER_ERROR,
    "DeadlineExceededError": Outcome.TIMEOUT,
    "APITimeoutError": Outcome.TIMEOUT,
    "APIConnectionError": Outcome.DISCONNECT,
    # botocore
    "NoCredentialsError": Outcome.AUTH,
    "NoAuthTokenError": Outcome.AUTH,
    "PartialCredentialsError": Outcome.AUTH,
    "CredentialRetrievalError": Outcome.AUTH,
    "TokenRetrievalError": Outcome.AUTH,
    "SSOError": Outcome.AUTH,
    "LoginError": Outcome.AUTH,
    "ReadTimeoutError": Outcome.TIMEOUT,
    "ConnectTimeoutError": Outcome.TIMEOUT,
    "EndpointConnectionError": Outcome.DISCONNECT,
    "ConnectionClosedError": Outcome.DISCONNECT,
    "ProxyConnectionError": Outcome.DISCONNECT,
    "ResponseStreamingError": Outcome.DISCONNECT,
    "IncompleteReadError": Outcome.DISCONNECT,
    "HTTPClientError": Outcome.DISCONNECT,
    # httpx, aiohttp, urllib3
    "TimeoutException": Outcome.TIMEOUT,
    "ServerTimeoutError": Outcome.TIMEOUT,
    "TransportError": Outcome.DISCONNECT,
    "ConnectionError": Outcome.DISCONNECT,
    "ClientConnectionError": Outcome.DISCONNECT,
    "ClientPayloadError": Outcome.DISCONNECT,
    "ProtocolError": Outcome.DISCONNECT,
}
"""By the name of the exception's type or of one of its bases, the most special first."""

_BY_CODE: Mapping[str, Outcome] = {
    # AWS error codes, lower case and without the word Exception
    "throttling": Outcome.THROTTLED,
    "throttled": Outcome.THROTTLED,
    "toomanyrequests": Outcome.THROTTLED,
    "requestlimitexceeded": Outcome.THROTTLED,
    "slowdown": Outcome.THROTTLED,
    "provisionedthroughputexceeded": Outcome.THROTTLED,
    "modelnotready": Outcome.SERVER_ERROR,
    "serviceunavailable": Outcome.SERVER_ERROR,
    "internalserver": Outcome.SERVER_ERROR,
    "internalservererror": Outcome.SERVER_ERROR,
    "internalfailure": Outcome.SERVER_ERROR,
    "modelstreamerror": Outcome.SERVER_ERROR,
    "modeltimeout": Outcome.TIMEOUT,
    "requesttimeout": Outcome.TIMEOUT,
    "accessdenied": Outcome.AUTH,
    "unrecognizedclient": Outcome.AUTH,
    "expiredtoken": Outcome.AUTH,
    "invalidclienttokenid": Outcome.AUTH,
    "invalidsignature": Outcome.AUTH,
    "signaturedoesnotmatch": Outcome.AUTH,
    "missingauthenticationtoken": Outcome.AUTH,
    "notauthorized": Outcome.AUTH,
    "optinrequired": Outcome.AUTH,
    # A spent quota comes as a 429, but waiting does not refill it: a person has to pay.
    "servicequotaexceeded": Outcome.AUTH,
    "insufficient_quota": Outcome.AUTH,
    "billing_error": Outcome.AUTH,
    "invalid_api_key": Outcome.AUTH,
    # OpenAI's and Anthropic's, also inside a stream where no status code is
    "rate_limit_exceeded": Outcome.THROTTLED,
    "rate_limit_error": Outcome.THROTTLED,
    "overloaded_error": Outcome.SERVER_ERROR,
    "server_error": Outcome.SERVER_ERROR,
    "api_error": Outcome.SERVER_ERROR,
    "timeout_error": Outcome.TIMEOUT,
    "authentication_error": Outcome.AUTH,
    "permission_error": Outcome.AUTH,
    "context_length_exceeded": Outcome.CONTEXT_OVERFLOW,
}

_BY_STATUS: Mapping[int, Outcome] = {
    401: Outcome.AUTH,
    402: Outcome.AUTH,
    403: Outcome.AUTH,
    408: Outcome.TIMEOUT,
    424: Outcome.SERVER_ERROR,  # Bedrock: the model behind the endpoint failed
    425: Outcome.SERVER_ERROR,
    429: Outcome.THROTTLED,
    504: Outcome.TIMEOUT,
}

_OVERFLOW = re.compile(
    r"input is too long|prompt is too long|too many (input )?tokens|too many total text bytes"
    r"|maximum context length|context[ _](length|window|size|limit).{0,40}(exceed|too)"
    r"|exceeds?( the)?( available| maximum)? (context|model maximum|max_model_len)|context_length_exceeded",
    re.IGNORECASE,
)
_OLD_LOOP = "Event loop is closed"
"""A client that outlived a run holds connections of that run's loop; the next try opens new ones."""
_BAD_REQUEST = 400
_SERVER_ERROR = 500
_TOO_LARGE = 413
_MOST_LINKS = 10
_MOST_TEXT = 500


def classify(error: BaseException) -> Failure:
    """Say what ``error`` means, looking through what wrapped it.

    The outermost exception that is understood decides; ``original_exception``, ``__cause__`` and
    ``__context__`` are followed in this order. What nobody understands is ``Outcome.ERROR``: a
    retry of an unknown failure could repeat a mistake of ours for money.

    Args:
        error: Anything a model's stream raised, our own scripted failures included.

    Returns:
        The outcome, one line of text and the wait that a ``Retry-After`` header asked for.
    """
    outcome = Outcome.ERROR
    chain = list(_chain(error))
    for link in chain:
        found = _outcome(link)
        if found is not None:
            outcome = found
            break
    # Strands takes every 429 for throttling; a spent quota is one too, and no wait refills it.
    if outcome is Outcome.THROTTLED and any(_by_code(link) is Outcome.AUTH for link in chain):
        outcome = Outcome.AUTH
    wait = None
    if outcome.transient:
        wait = next((after for link in chain if (after := _retry_after_s(link)) is not None), None)
    return Failure(outcome=outcome, message=_message(chain, outcome), retry_after_s=wait)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from, outermost first; loops are cut."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(seen) < _MOST_LINKS:
        seen.add(id(link))
        yield link
        original = getattr(link, "original_exception", None)
        if isinstance(original, BaseException):
            link = original
        elif link.__cause__ is not None:
            link = link.__cause__
        else:
            link = None if link.__suppress_context__ else link.__context__


def _outcome(error: BaseException) -> Outcome | None:
    """What one exception says by itself; None when it says nothing that we know."""
    if isinstance(error, (ScriptedFailure, ModelCallError)):
        return _word(error.kind)
    if isinstance(error, StreamCutError):
        return Outcome.CUT
    for read in (_by_code, _by_status):
        found = read(error)
        if found is not None:
            return found
    for base in type(error).__mro__:
        found = _BY_TYPE.get(base.__name__)
        if found is not None and base.__module__ != "builtins":
            return found
    if isinstance(error, TimeoutError):
        return Outcome.TIMEOUT
    if isinstance(error, (ConnectionError, EOFError)) or str(error) == _OLD_LOOP:
        return Outcome.DISCONNECT
    if isinstance(error, OSError) and _is_network(error):
        return Outcome.DISCONNECT
    return None


def _word(kind: str) -> Outcome:
    """Our own errors carry the outcome's word; ``call_cap`` and the like have none."""
    try:
        return Outcome(kind)
    except ValueError:
        return Outcome.ERROR


def _by_code(error: BaseException) -> Outcome | None:
    """AWS puts the code into ``response['Error']['Code']``, OpenAI into ``code``, Anthropic into the body."""
    for raw in _codes(error):
        code = raw.lower().removesuffix("exception")
        found = _BY_CODE.get(code)
        if found is not None:
            return found
        if code.startswith("validation") and _OVERFLOW.search(str(error)):
            return Outcome.CONTEXT_OVERFLOW
    return None


def _codes(error: BaseException) -> Iterator[str]:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        yield str(_path(response, "Error", "Code") or "")
    for name in ("code", "type"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            yield value
    body = getattr(error, "body", None)
    for path in (("error", "code"), ("error", "type"), ("code",), ("type",)):
        value = _path(body, *path)
        if isinstance(value, str):
            yield value


def _path(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _by_status(error: BaseException) -> Outcome | None:
    status = _status(error)
    if status is None:
        return None
    if status == _TOO_LARGE or (status == _BAD_REQUEST and _OVERFLOW.search(str(error))):
        return Outcome.CONTEXT_OVERFLOW
    found = _BY_STATUS.get(status)
    if found is None and status >= _SERVER_ERROR:
        return Outcome.SERVER_ERROR
    if found is None and status >= _BAD_REQUEST:
        return Outcome.ERROR
    return found


def _status(error: BaseException) -> int | None:
    """The HTTP status wherever this library keeps it."""
    response = getattr(error, "response", None)
    candidates = (
        getattr(error, "status_code", None),
        getattr(error, "status", None),
        getattr(response, "status_code", None),
        _path(response, "ResponseMetadata", "HTTPStatusCode"),
    )
    for value in candidates:
        if isinstance(value, int) and not isinstance(value, bool) and value >= _BAD_REQUEST:
            return value
    return None


def _is_network(error: OSError) -> bool:
    """Name resolution and unreachable networks are OSErrors without a class of their own."""
    return type(error).__name__ in {
        "gaierror",
        "herror",
        "SSLError",
        "SSLEOFError",
        "SSLZeroReturnError",
    } or (
        error.errno in {101, 110, 113}  # network unreachable, timed out, no route to host
    )


def _retry_after_s(error: BaseException) -> float | None:
    """Seconds to wait from ``Retry-After`` (seconds or an HTTP date) or ``retry-after-ms``."""
    response = getattr(error, "response", None)
    headers = _path(response, "ResponseMetadata", "HTTPHeaders") or getattr(response, "headers", None)
    if headers is None:
        headers = getattr(error, "headers", None)
    if not isinstance(headers, Mapping):
        return None
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    millis = _number(lower.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    text = lower.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _number(text: str | None) -> float | None:
    """A header's plain number; None for anything else, also for nan, inf and negatives."""
    return float(text) if text is not None and re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None


def _message(chain: list[BaseException], outcome: Outcome) -> str:
    """One line: the first text of the chain, or the type's name where there is no text."""
    for link in chain:
        text = " ".join(str(link).split())
        if text:
            name = type(link).__name__
            ours = isinstance(link, (ScriptedFailure, StreamCutError, ModelCallError))
            line = text if ours else f"{name}: {text}"
            return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"
    return f"{type(chain[0]).__name__} ({outcome})"
