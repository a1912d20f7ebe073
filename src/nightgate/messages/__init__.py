"""What people are told of a night, and in which words; pure, short, and harmless wherever it is shown.

Owns what a cause is, which causes share a message, and the words. Knows no run, no store and no channel:
``steps`` finds the causes and remembers what was told.
"""

from nightgate.messages.causes import Cause, End, Kind, Root, in_order
from nightgate.messages.composing import (
    BODY_CHARS,
    BODY_LINES,
    TITLE_CHARS,
    Message,
    Setting,
    closing,
    opening,
)
from nightgate.messages.neutral import neutral

__all__ = [
    "BODY_CHARS",
    "BODY_LINES",
    "TITLE_CHARS",
    "Cause",
    "End",
    "Kind",
    "Message",
    "Root",
    "Setting",
    "closing",
    "in_order",
    "neutral",
    "opening",
]
