"""Channels that alerts go out through, by name: a webhook, Amazon SNS, the log.

Owns what a channel's definition means. Prefect's notification blocks are the flows' (``flows.channels``).
Nothing heavy is imported before a channel asks for it.
"""

from nightgate.adapters.alerts.definitions import (
    VARIABLE,
    Definition,
    build_channel,
    definitions,
    named,
)
from nightgate.adapters.alerts.log import LogChannel

__all__ = ["VARIABLE", "Definition", "LogChannel", "build_channel", "definitions", "named"]
