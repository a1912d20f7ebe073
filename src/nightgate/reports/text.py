"""Text from agents, judges and case files on a terminal.

Owns the stripping of control characters: a model's answer must not move a cursor or fake a line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

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


def family_outcome(row: Mapping[str, Any]) -> str:
    """The outcome of a family in one language, with the layers and evaluators that failed it.

    >>> family_outcome({"outcome": "pass", "failed_by": []})
    'pass'
    >>> family_outcome({"outcome": "fail", "failed_by": [{"layer": "behavior", "evaluator": "ToolPolicy"}]})
    'fail (behavior: ToolPolicy)'
    """
    layers: dict[str, dict[str, None]] = {}
    for failed in row["failed_by"]:
        layers.setdefault(failed["layer"], {})[failed["evaluator"]] = None
    causes = "; ".join(f"{layer}: {', '.join(names)}" for layer, names in layers.items())
    return f"{row['outcome']} ({plain(causes, 120)})" if causes else str(row["outcome"])


def counted(count: int, noun: str) -> str:
    """So many of them.

    >>> counted(1, "night"), counted(3, "night")
    ('1 night', '3 nights')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
