"""Text from agents, judges and case files as one line that is safe to show.

Owns the stripping of control characters: a model's answer must not move a cursor or fake a line, on a
terminal or in a log. Imports the standard library only.
"""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str, limit: int | None = None) -> str:
    """One line without control characters and direction overrides, cut to ``limit`` characters."""
    bare = _ESCAPES.sub("", text)
    line = "".join(
        " " if char in "\t\n\r\v\f\x85\u2028\u2029" else char
        for char in bare
        if char in "\t\n\r\v\f\x85\u2028\u2029" or (unicodedata.category(char) != "Cc" and char not in _BIDI)
    )
    line = " ".join(line.split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def harmless(text: str) -> str:
    r"""A piece of text, lines and tabs kept, without control characters and direction overrides.

    For text that comes piece by piece, where an escape sequence may be cut: without the character that opens
    it the rest is text.

    >>> harmless("a\x1b[2J\r\n\tb")
    'a[2J\n\tb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char for char in text if char in "\t\n" or (unicodedata.category(char) != "Cc" and char not in _BIDI)
    )
