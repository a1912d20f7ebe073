"""The channel of last resort: the process's log, at the level of a warning."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from nightgate.logs import extra

_LOG = logging.getLogger("nightgate.alerts")


class LogChannel:
    """Writes messages to the logger ``nightgate.alerts``; without handlers they appear on stderr.

    Args:
        name: What suites call it.
    """

    target = "the log"
    patience_s = 10.0

    def __init__(self, name: str = "log") -> None:
        self.name = name

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:
        """Write one message."""
        about = extra(run=facts.get("run_id"), suite=facts.get("suite"))
        _LOG.warning("%s\n%s", title, body, extra=about)

    def check(self) -> str:
        """There is always a log."""
        return "always there"
