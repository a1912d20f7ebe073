"""Words that reports share: outcomes of families, counted nouns, and text on one safe line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightgate.plaintext import plain

__all__ = ["counted", "family_outcome", "plain"]


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
