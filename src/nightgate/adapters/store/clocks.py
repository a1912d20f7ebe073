"""How far this machine's clock is from a storage server's, by what its answers say.

Owns the server's ``Date`` header and what a difference means. Knows no request.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

MOST_SKEW_S = 900.0
"""Servers refuse requests whose time is further from theirs (AWS Signature Version 4)."""


class ServerClock:
    """The time of a server, heard with each of its answers."""

    def __init__(self) -> None:
        self._heard: tuple[str, datetime] | None = None

    def hear(self, http_response: Any, **_: Any) -> None:
        """Take note of an answer; a handler of botocore's ``after-call``."""
        said = getattr(http_response, "headers", {}).get("date")
        if said:
            self._heard = str(said), datetime.now(UTC)

    @property
    def skew_s(self) -> float | None:
        """Seconds by which this machine is ahead of the server; None: it said nothing.

        The header has whole seconds and the answer was on its way: right to about two seconds.
        """
        if self._heard is None:
            return None
        said, at = self._heard
        try:
            return (at - parsedate_to_datetime(said)).total_seconds()
        except (TypeError, ValueError):  # no date, or one without a zone
            return None

    def in_words(self) -> str:
        """What a person needs who has to set the clock."""
        skew = self.skew_s
        if skew is None:
            return "the server names no time"
        most = f"servers refuse requests from {MOST_SKEW_S / 60:.0f} min on; set the clock (NTP)"
        if abs(skew) < 60:  # noqa: PLR2004 - a minute
            return f"this machine's clock is {abs(skew):.0f} s {_side(skew)} the server's"
        return f"this machine's clock is {abs(skew) / 60:.0f} min {_side(skew)} the server's; {most}"


def _side(skew_s: float) -> str:
    return "ahead of" if skew_s > 0 else "behind"
