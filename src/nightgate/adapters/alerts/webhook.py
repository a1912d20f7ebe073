"""A plain webhook: one JSON POST, with an end to patience.

Owns the request and what an answer means: its status line alone decides. The address is a secret: it comes
from a variable, and of it no text ever shows more than the host. Standard library only.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from nightgate.errors import AlertError, InputError

TIMEOUT_S = 10.0
_WORDS = re.compile(r"[a-z_ ]+")
"""Codes such as ``no_service``: no digit, no capital, so no token."""
_SHOWN = 100
_AGAIN = frozenset({408, 425, 429})
"""Refusals that pass; so do all of 500 and up."""
_SERVER_ERROR = 500


class WebhookChannel:
    """Posts ``{"text": title and body, "title", "body", ...facts}``; Slack's incoming webhooks take it too.

    Args:
        name: What suites call it.
        variable: Names the variable that holds the address. ``user:password@`` before the host is sent as
            basic authentication and is no part of the address from there on.
        token_variable: Names one with a bearer token, where the receiver wants one.
        timeout_s: Of a connection and of an answer.

    Raises:
        InputError: If a variable is not set, holds no http(s) address or no token, or if there are two
            credentials.
    """

    def __init__(
        self, name: str, variable: str, *, token_variable: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.name = name
        self._timeout_s = timeout_s
        # An answer that trickles in meets no timeout of a socket.
        self.patience_s = 2 * timeout_s
        self._parts = _checked(name, variable, _given(name, variable).strip())
        self._url = urlunsplit(self._parts._replace(netloc=self._parts.netloc.rpartition("@")[2]))
        token = _token(name, token_variable) if token_variable else None
        if token is not None and _basic(self._parts) is not None:
            msg = (
                f"alert channel {name!r}: {variable} holds a user, and {token_variable} a token; a request "
                "carries one of them: take the user out of the address, or drop token_env"
            )
            raise InputError(msg)
        self._authorization = f"Bearer {token}" if token is not None else _basic(self._parts)
        self._secrets = _secrets(self._parts, token)
        self.target = f"webhook at {self._parts.hostname}, address from {variable}"

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:
        """Post one message; anything but a 2xx is a refusal, a redirect too.

        A 2xx is delivered whatever becomes of the rest of the answer: who has said it would get the message
        twice. A connection that ends before a status line has delivered nothing as far as anybody knows.
        """
        document = {"text": f"{title}\n{body}", "title": title, "body": body, **facts}
        data = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "nightgate",
            "Idempotency-Key": str(facts.get("id", "")),
        }
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        request = urllib.request.Request(self._url, data=data, headers=headers, method="POST")  # noqa: S310 - http(s) only
        opener = urllib.request.build_opener(_NoRedirects, _Plain, _Secure)
        try:
            opener.open(request, timeout=self._timeout_s).close()
        except urllib.error.HTTPError as error:
            with error:
                again = error.code in _AGAIN or error.code >= _SERVER_ERROR
                raise AlertError(f"answered {error.code}{self._quoted(error)}", again=again) from None
        except (OSError, http.client.HTTPException) as error:
            raise AlertError(_trouble(error, self._timeout_s)) from None

    def check(self) -> str:
        """Connect and hang up; no request is made."""
        scheme = self._parts.scheme
        proxy = urllib.request.getproxies().get(scheme)
        parts, by = self._parts, ""
        if proxy and not urllib.request.proxy_bypass(str(parts.hostname)):
            # The proxy connects for us, so it is what can be reached from here.
            parts, by = urlsplit(proxy if "://" in proxy else f"http://{proxy}"), "its proxy at "
        try:
            port = parts.port or {"https": 443}.get(parts.scheme, 80)
            with socket.create_connection((str(parts.hostname), port), self._timeout_s) as connection:
                if parts.scheme == "https":
                    context = ssl.create_default_context()
                    context.wrap_socket(connection, server_hostname=parts.hostname).close()
        except OSError as error:
            raise AlertError(f"{by}{parts.hostname}: {_trouble(error, self._timeout_s)}") from None
        return f"{by}{parts.hostname} is reachable; nothing was sent"

    def _quoted(self, error: urllib.error.HTTPError) -> str:
        """An answer that is a few plain words, as Slack's are; any other may hold a part of the address."""
        try:
            text = error.read(_SHOWN + 1).decode("utf-8", "replace").strip()
        except (OSError, http.client.HTTPException):
            return ""
        hidden = any(secret in text for secret in self._secrets)
        return f": {text}" if _WORDS.fullmatch(text) and len(text) <= _SHOWN and not hidden else ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST becomes a GET that some login page answers with 200: a message lost in silence."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""


class _Answer(http.client.HTTPResponse):
    """An answer of which the status line is enough, whatever breaks behind it."""

    def begin(self) -> None:
        """Read the status line, and the headers if they come."""
        try:
            super().begin()
        except (OSError, http.client.HTTPException):
            if not isinstance(self.status, int):  # until there is a status line it is a word
                raise
            self.headers = self.msg = http.client.HTTPMessage()
            self.length, self.chunked, self.will_close = 0, False, True


class _PlainConnection(http.client.HTTPConnection):
    response_class = _Answer


class _SecureConnection(http.client.HTTPSConnection):
    response_class = _Answer


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PlainConnection, req)


class _Secure(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, req)


def _given(name: str, variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value.strip():
        msg = f"alert channel {name!r}: {variable} is not set; put the webhook's address or token there"
        raise InputError(msg)
    return value


def _token(name: str, variable: str) -> str:
    token = _given(name, variable).strip()
    if not token.isascii() or not token.isprintable():
        # What http.client would raise with the token in its text.
        msg = f"alert channel {name!r}: {variable} holds no token: only printable ASCII can be sent"
        raise InputError(msg)
    return token


def _basic(parts: SplitResult) -> str | None:
    """The header for a user in the address; urllib would take it for a part of the host."""
    if not (parts.username or parts.password):
        return None
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _secrets(parts: SplitResult, token: str | None) -> frozenset[str]:
    """What no text may repeat, as it is written and as it is meant."""
    found = [*parts.path.split("/"), parts.query, parts.username, parts.password, token]
    written = [part for part in found if part]
    return frozenset(written) | frozenset(map(unquote, written))


def _checked(name: str, variable: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        # What urllib would raise with the whole address in its text.
        good = good and url.isascii() and not any(char.isspace() or ord(char) < 32 for char in url)  # noqa: PLR2004
    except ValueError:
        good = False
    if not good:
        msg = (
            f"alert channel {name!r}: {variable} holds no http(s) address; in a user or a password before "
            "the host, / ? # @ : and letters beyond ASCII are written as %2F and so on"
        )
        raise InputError(msg)
    return parts


def _trouble(error: BaseException, timeout_s: float) -> str:
    """What went wrong, without the address."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, http.client.RemoteDisconnected):
        return "the connection was closed without an answer"
    if isinstance(reason, http.client.BadStatusLine):
        return "what it answered is no HTTP"
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(reason, ssl.SSLError):
        return f"TLS failed: {reason.reason or type(reason).__name__}"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason).__name__
