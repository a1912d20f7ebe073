"""Trends over the nights as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.text import counted, plain

_BARS = "▁▂▃▄▅▆▇█"
_HOLE = "·"
_WIDTH = 60
_MOST_CASES = 20
_MOST_MARKS = 8


def render(found: Mapping[str, Any], *, every: bool = False) -> str:
    """All lines of a history.

    Args:
        found: From ``steps.histories.history``.
        every: Whether cases that passed throughout are listed too.
    """
    return "\n".join(_lines(found, every=every))


def _lines(found: Mapping[str, Any], *, every: bool) -> Iterator[str]:
    nights = found["nights"]
    first, last = nights[0], nights[-1]
    yield (
        f"history {found['suite']}: {counted(len(nights), 'night')} from {first['date']} to {last['date']} "
        f"({found['series']}), {_HOLE} is a night without a figure"
    )
    for evaluator in found["evaluators"]:
        yield f"  {plain(evaluator['evaluator'], 60)}: {_newest(evaluator)}"
        yield f"    {spark(evaluator['pass_rate'])}"
        yield from _marks(evaluator["changes"], nights)
    changed = [(i, what) for i, night in enumerate(nights) for what in night["changed"]]
    if changed:
        told = ", ".join(f"{what} {nights[i]['date']}" for i, what in changed[-_MOST_MARKS:])
        yield f"  changed: {told}"
    yield from _cases(found["cases"], nights, every=every)


def _newest(evaluator: Mapping[str, Any]) -> str:
    rates = [rate for rate in evaluator["pass_rate"] if rate is not None]
    if not rates:
        return "never judged"
    now = evaluator["pass_rate"][-1]
    wanted = f", wanted {evaluator['threshold']}" if evaluator["threshold"] is not None else ""
    latest = "not judged last night" if now is None else f"{now:.1%} last night"
    return f"{latest}{wanted}; {min(rates):.1%} to {max(rates):.1%}"


def _marks(changes: Sequence[Mapping[str, Any]], nights: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for mark in changes[-_MOST_MARKS:]:
        cases = f" of {mark['cases']} cases" if mark["what"] == "case" else ""
        what = {"case": "text", "evaluator": "evaluator's version", "judge": "judge"}[mark["what"]]
        day = nights[mark["night"]]["date"]
        yield f"    {day}: the {what}{cases} changed, before and after do not compare"


def _cases(
    cases: Sequence[Mapping[str, Any]], nights: Sequence[Mapping[str, Any]], *, every: bool
) -> Iterator[str]:
    shown = [row for row in cases if every or row["passed"] < row["judged"] or row["changes"]]
    hidden = [] if every else [row for row in cases if row not in shown]
    shown = sorted(shown, key=lambda row: (_rate(row), row["case"], row["evaluator"]))
    width = max((len(plain(row["case"], 40)) for row in shown[: None if every else _MOST_CASES]), default=0)
    for row in shown if every else shown[:_MOST_CASES]:
        pairs = zip(row["nights"]["passed"], row["nights"]["judged"], strict=True)
        rates = [p / j if j else None for p, j in pairs]
        dates = [nights[mark["night"]]["date"] for mark in row["changes"]]
        edited = f"  changed {', '.join(dates[-2:])}" if dates else ""
        yield (
            f"  {plain(row['case'], 40):{width}}  {plain(row['evaluator'], 30)}  {row['passed']} of "
            f"{row['judged']}  {spark(rates)}{edited}"
        )
    if not every and len(shown) > _MOST_CASES:
        yield f"  and {len(shown) - _MOST_CASES} more that failed at times: --all or --case GLOB"
    steady = sum(row["judged"] > 0 for row in hidden)
    if steady:
        yield f"  {steady} passed whenever they were judged"
    if len(hidden) > steady:
        yield f"  {len(hidden) - steady} never judged: --all lists them"


def _rate(row: Mapping[str, Any]) -> float:
    return row["passed"] / row["judged"] if row["judged"] else 2.0


def spark(rates: Sequence[float | None]) -> str:
    """One character a night, the newest last; where there are more than fit, the newest.

    >>> spark([1.0, 0.5, None, 0.0])
    '█▅·▁'
    """
    cut = "" if len(rates) <= _WIDTH else "…"
    return cut + "".join(
        _HOLE if rate is None else _BARS[min(len(_BARS) - 1, int(rate * len(_BARS)))]
        for rate in rates[-_WIDTH:]
    )
