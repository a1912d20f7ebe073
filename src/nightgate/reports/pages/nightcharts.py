"""What nights cost, and how their conversations went, as charts.

Owns what is drawn of a summary's money and conversations, and which night has too few of them for a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from nightgate.reports.figures import percent
from nightgate.reports.pages.axis import LITTLE, Axis
from nightgate.reports.pages.charts import Chart, Line, draw, nice_top, ticks
from nightgate.reports.pages.figures import usd
from nightgate.talks import EndReason

ROLES = ("total", "agent", "judge", "user")
ELICITED = "facts asked for"
_MOST_LINES = 4


def cost_chart(axis: Axis) -> tuple[Markup | None, list[str]]:
    """What nights cost by who was paid, and the roles that cost anything."""
    costs = [(place, axis.facts.summary(night).get("cost_usd") or {}) for place, night in axis.places()]
    roles = [role for role in ROLES if any(cost.get(role) for _, cost in costs)]
    if not roles:
        return None, roles
    by_place = dict(costs)
    lines = [
        Line(
            name=role,
            points=[
                None if (amount := by_place.get(place, {}).get(role)) is None else (float(place), amount)
                for place in range(len(axis.slots))
            ],
        )
        for role in roles
    ]
    top = nice_top(max(point[1] for line in lines for point in line.points if point is not None))
    newest = costs[-1][1]
    told = "; ".join(f"{role} {usd(newest.get(role))}" for role in roles)
    chart = Chart(
        key="cost",
        title="Cost of each night in US dollars",
        told=f"The newest night: {told}. The table below has every night.",
        lines=lines,
        marks=list(axis.marks()),
        ticks=axis.ticks(),
        span=axis.span,
        top=top,
        written=lambda value: f"${value:.3g}",
    )
    return draw(chart), roles


def conversation_chart(axis: Axis) -> Markup | None:
    """How conversations ended, as shares of those that did, and the withheld facts that were asked for.

    A night of which conversations broke off for the infrastructure's sake has its share of the others; one of
    which most did has none.
    """
    by_place = {place: shares_of_talks(axis.facts.summary(night)) for place, night in axis.places()}
    there = {name for shares in by_place.values() for name, share in shares.items() if share}
    names = [name for name in (*(reason.value for reason in EndReason), ELICITED) if name in there]
    if not names:
        return None
    endings = [name for name in names if name != ELICITED]
    chosen = [*endings[: _MOST_LINES - 1], ELICITED] if ELICITED in names else endings[:_MOST_LINES]
    lines = [
        Line(
            name=name.replace("_", " "),
            points=[
                None if (share := by_place.get(place, {}).get(name)) is None else (float(place), share)
                for place in range(len(axis.slots))
            ],
        )
        for name in chosen
    ]
    chart = Chart(
        key="talks",
        title="Conversations by night: how they ended, and withheld facts that the agent asked for",
        told=f"Shares of {', '.join(line.name for line in lines)}. The table below has every night.",
        lines=lines,
        marks=list(axis.marks()),
        ticks=axis.ticks(),
        span=axis.span,
        top=1.0,
        written=percent,
    )
    return draw(chart)


def shares_of_talks(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Endings as shares of the conversations that came to one, and the share of facts asked for.

    Args:
        summary: Of a night.

    Returns:
        Empty where most conversations came to none.
    """
    talks, endings = summary.get("conversations") or {}, summary.get("endings") or {}
    counts = {reason.value: endings.get(reason.value, 0) for reason in EndReason}
    ended = sum(counts.values())
    if not ended or ended < LITTLE * talks.get("planned", 0):
        return {}
    return {name: count / ended for name, count in counts.items()} | {ELICITED: talks.get("elicitation")}


def decay_chart(axis: Axis, nights: Sequence[int]) -> Markup | None:
    """The quality that a judge gave each turn, on the oldest and on the newest night that have any."""
    if not nights:
        return None
    chosen = list(dict.fromkeys((nights[0], nights[-1])))
    curves = {
        axis.facts.nights[night]["date"]: axis.facts.summary(night)["conversations"]["quality_by_turn"]
        for night in chosen
    }
    turns = sorted({int(turn) for curve in curves.values() for turn in curve})
    lines = [
        Line(
            name=day,
            points=[
                None if (value := curve.get(str(turn))) is None else (float(turn), value) for turn in turns
            ],
        )
        for day, curve in curves.items()
    ]
    chart = Chart(
        key="decay",
        title="Quality of the agent's answers by turn",
        told=f"On {' and on '.join(curves)}, turns {turns[0]} to {turns[-1]}. The figures are below.",
        lines=lines,
        ticks=ticks((float(turn), f"turn {turn}") for turn in turns),
        span=(float(turns[0]), float(max(turns[-1], turns[0] + 1))),
        top=1.0,
        written=percent,
    )
    return draw(chart)
