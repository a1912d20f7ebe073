"""Panels of judges as lines for people: how far their members agree, and where they split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.reports.text import plain

_MOST_SPLIT = 3


def panels(summary: Mapping[str, Any]) -> Iterator[str]:
    """One line a panel.

    Args:
        summary: Of a run or of a sweep; documents from before panels have none.
    """
    for panel in summary.get("panels", ()):
        name = plain(str(panel["evaluator"]), 40)
        start = f"panel {name} ({panel['rule']} of {len(panel['members'])} judges): "
        if not panel["judged"]:
            yield f"{start}no output has verdicts of two members"
            continue
        alpha = "" if panel["alpha"] is None else f", alpha {panel['alpha']:.2f}"
        undecided = f", {panel['undecided']} undecided" if panel["undecided"] else ""
        yield f"{start}agreed on {panel['unanimous']} of {panel['judged']}{alpha}{undecided}{_split(panel)}"


def _split(panel: Mapping[str, Any]) -> str:
    apart = panel["judged"] - panel["unanimous"]
    if not apart:
        return ""
    named = [f"{plain(one['case'], 60)} trial {one['trial']}" for one in panel["split"][:_MOST_SPLIT]]
    more = f" and {apart - len(named)} more" if apart > len(named) else ""
    return f"; split on {', '.join(named)}{more}"
