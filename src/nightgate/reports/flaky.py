"""The flake board as lines for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.figures import in_quarantine
from nightgate.reports.text import counted, plain

_MOST = 40
_MOST_PROPOSED = 10


def render(board: Mapping[str, Any], *, every: bool = False) -> str:
    """All lines of a board.

    Args:
        board: From ``steps.flakyboard.board``.
        every: Whether pairs that are sound and stable are listed too.
    """
    return "\n".join(_lines(board, every=every))


def _lines(board: Mapping[str, Any], *, every: bool) -> Iterator[str]:
    told = [f"{count} {word}" for word, count in _words(board["pairs"]).items()]
    through = f"through {board['through']['run_id']} ({board['series']})"
    yield (
        f"flaky {board['suite']}: {len(board['pairs'])} cases x evaluators {through}: "
        f"{', '.join(told) or 'nothing known yet'}"
    )
    if board["event"] is not None:
        yield f"  one event befell the whole suite on {board['event']['since_date']}; it is still on"
    shown = [row for row in board["pairs"] if every or _of_interest(row)]
    width = max((len(plain(row["case"], 40)) for row in shown), default=4)
    for row in shown if every else shown[:_MOST]:
        yield f"  {_line(row, width)}"
    if not every and len(shown) > _MOST:
        yield f"  and {len(shown) - _MOST} more: --all lists them"
    hidden = len(board["pairs"]) - len(shown)
    if hidden:
        yield f"  {hidden} steady or too few to tell: --all lists them"
    for case in board["promotable"][:_MOST_PROPOSED]:
        yield f"  {plain(case, 60)} could gate, it passes steadily: {promote_case(board, case)}"
    yield f"reruns so far: {counted(board['reruns']['trials'], 'trial')}, {_usd(board['reruns']['usd'])}"


def _words(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many pairs are called what in their lines, the worst first; each counts once."""
    words = [_state(row) for row in rows]
    return {word: words.count(word) for word in dict.fromkeys(words)}


def _state(row: Mapping[str, Any]) -> str:
    return str(row["label"] if row["state"] == "sound" else row["state"])


def promote_case(found: Mapping[str, Any], case: str) -> str:
    """The command that lets a case gate; of a board or a night's ``flakiness.json``."""
    suite = shlex.quote(str(found.get("suite_path") or found["suite"]))
    return f"nightgate promote-case {suite} {shlex.quote(plain(case))}"


def _of_interest(row: Mapping[str, Any]) -> bool:
    return row["state"] != "sound" or row["label"] in ("flaky", "stable fail")


def _line(row: Mapping[str, Any], width: int) -> str:
    before = (
        f", was {row['base_rate']:.0%}" if row["state"] == "broken" and row["base_rate"] is not None else ""
    )
    cost = row["reruns"]
    again = f"; reruns {counted(cost['trials'], 'trial')}, {_usd(cost['usd'])}" if cost["trials"] else ""
    flips = f"; {counted(row['flips'], 'flip')}" if row["flips"] else ""
    return (
        f"{_state(row):11} {plain(row['case'], 40):{width}}  {plain(row['evaluator'], 40)}  {_rate(row)}"
        f"{before} since {row['since_date']}{flips}{again}"
    )


def _rate(row: Mapping[str, Any]) -> str:
    if row["rate"] is None:
        return "not judged"
    low, high = row["interval"]
    return f"{row['rate']:.0%} [{low:.0%}, {high:.0%}] {row['passed']} of {row['judged']}"


def _usd(amount: float | None) -> str:
    return "unknown cost" if amount is None else f"${amount:.4f}"


def quarantined(summary: Mapping[str, Any]) -> Iterator[str]:
    """Cases that a run kept out of its gate, with the days that are left."""
    for case, row in in_quarantine(summary).items():
        days = counted(row["days_left"], "day")
        yield (
            f"QUARANTINE {plain(case, 60)}: does not gate until {row['until']} ({days} left), "
            f"{plain(row['owner'], 40)}: {plain(row['reason'], 120)}"
        )
