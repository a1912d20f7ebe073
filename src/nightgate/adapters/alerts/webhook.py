"""A plain webhook: one JSON POST, with an end to patience.

Owns the request and what an answer means. The address is a secret: it comes from a variable, and of it no
text ever shows more than the host. Standard library only.
"""

from __future__ import annotations

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
from urllib.parse import SplitResult, urlsplit

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
        variable: Names the variable that holds the address.
        token_variable: Names one with a bearer token, where the receiver wants one.
        timeout_s: Of a connection and of an answer.

    Raises:
        InputError: If a variable is not set or holds no http(s) address.
    """

    def __init__(
        self, name: str, variable: str, *, token_variable: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.name = name
        self._timeout_s = timeout_s
        # An answer that trickles in meets no timeout of a socket.
        self.patience_s = 2 * timeout_s
        self._url = _given(name, variable).strip()
        self._parts = _checked(name, variable, self._url)
        self._token = _given(name, token_variable) if token_variable else None
        self.target = f"webhook at {self._parts.hostname}, address from {variable}"

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:
        """Post one message; anything but a 2xx is a refusal, a redirect too."""
        document = {"text": f"{title}\n{body}", "title": title, "body": body, **facts}
        data = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "nightgate",
            "Idempotency-Key": str(facts.get("id", "")),
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, data=data, headers=headers, method="POST")  # noqa: S310 - http(s) only
        opener = urllib.request.build_opener(_NoRedirects)
        try:
            with opener.open(request, timeout=self._timeout_s) as answer:
                answer.read(_SHOWN)
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
        secrets = [part for part in (*self._parts.path.split("/"), self._parts.query) if part]
        hidden = any(part in text for part in secrets) or (self._token is not None and self._token in text)
        return f": {text}" if _WORDS.fullmatch(text) and len(text) <= _SHOWN and not hidden else ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST becomes a GET that some login page answers with 200: a message lost in silence."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""


def _given(name: str, variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value.strip():
        msg = f"alert channel {name!r}: {variable} is not set; put the webhook's address or token there"
        raise InputError(msg)
    return value


def _checked(name: str, variable: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        # What urllib would raise with the whole address in its text.
        good = good and url.isascii() and not any(char.isspace() or ord(char) < 32 for char in url)  # noqa: PLR2004
    except ValueError:
        good = False
    if not good:
        msg = f"alert channel {name!r}: {variable} holds no http(s) address"
        raise InputError(msg)
    return parts


def _trouble(error: BaseException, timeout_s: float) -> str:
    """What went wrong, without the address."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(reason, ssl.SSLError):
        return f"TLS failed: {reason.reason or type(reason).__name__}"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason).__name__
