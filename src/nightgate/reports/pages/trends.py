"""Evaluators over the nights of a suite, as charts with their figures.

Owns what is drawn, what is no figure, and the words for whoever does not see it. A night of which too little
was judged is a hole: it is drawn apart, and no line leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nightgate.reports.figures import percent
from nightgate.reports.pages.axis import LITTLE, Axis, befalls
from nightgate.reports.pages.charts import Chart, Line, Mark, Point, draw, nice_top
from nightgate.reports.pages.suitevalues import Slot, SuiteFacts

_MOST_TOLD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A place in an evaluator's table."""

    slot: Slot
    value: float | None = None
    thin: bool = False
    """Whether too little was judged for the value to stand for the night."""
    entry: int | None = None
    """Position of the evaluator in the night's summary."""
    changes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """An evaluator over the nights."""

    position: int
    """In the document's evaluators."""
    name: str
    measure: str
    """pass_rate or mean_score: where in the document its values stand."""
    nights: Sequence[Night]
    brief: str
    chart: Markup | None
    """None where nothing was ever judged."""


def trends(axis: Axis) -> list[Trend]:
    """Each evaluator, those of the gate first."""
    document = axis.facts.document
    listed = sorted(
        enumerate(document["evaluators"]),
        key=lambda item: (item[1]["threshold"] is None, item[1]["evaluator"]),
    )
    return [_trend(axis, position, entry) for position, entry in listed]


def _trend(axis: Axis, position: int, entry: Mapping[str, Any]) -> Trend:
    gates = any(rate is not None for rate in entry["pass_rate"]) or entry["threshold"] is not None
    measure = "pass_rate" if gates else "mean_score"
    name = entry["evaluator"]
    texts: dict[int, list[str]] = {}
    for change in axis.changes:
        if befalls(change, name):
            texts.setdefault(change.night, []).append(change.text)
    nights = [_night(axis.facts, slot, entry, measure, texts) for slot in axis.slots]
    brief = _told(nights, entry, measure)
    changed = [f"{text} on {night.slot.day}" for night in nights for text in night.changes]
    told = f"{brief} Changed: {_listed(changed)}." if changed else brief
    return Trend(
        position=position,
        name=name,
        measure=measure,
        nights=nights,
        brief=brief,
        chart=_chart(axis, position, entry, measure, nights, told),
    )


def _night(
    facts: SuiteFacts,
    slot: Slot,
    entry: Mapping[str, Any],
    measure: str,
    texts: Mapping[int, Sequence[str]],
) -> Night:
    if slot.night is None:
        return Night(slot=slot)
    known = facts.summary(slot.night)
    found = next(
        (
            (at, each)
            for at, each in enumerate(known.get("evaluators", ()))
            if each["name"] == entry["evaluator"]
        ),
        None,
    )
    value = entry[measure][slot.night]
    return Night(
        slot=slot,
        value=value,
        thin=value is not None and found is not None and _is_thin(found[1], facts.nights[slot.night]),
        entry=found[0] if found is not None else None,
        changes=texts.get(slot.night, ()),
    )


def _is_thin(found: Mapping[str, Any], night: Mapping[str, Any]) -> bool:
    """Whether the gate itself did not decide, because cells that it asked for are missing."""
    coverage = found["coverage"]
    if coverage is None or coverage >= 1:
        return False
    return coverage < LITTLE or "inconclusive" in (found["verdict"], night["verdict"])


def _chart(
    axis: Axis, position: int, entry: Mapping[str, Any], measure: str, nights: Sequence[Night], told: str
) -> Markup | None:
    values = [night.value for night in nights if night.value is not None]
    if not values:
        return None
    is_rate = measure == "pass_rate"
    wanted = float(entry["threshold"]) if is_rate and entry["threshold"] is not None else None
    marks = list(axis.marks(entry["evaluator"]))
    points: list[Point | None] = []
    for place, night in enumerate(nights):
        stands = night.value is not None and not night.thin
        points.append((float(place), float(night.value)) if stands and night.value is not None else None)
        if night.slot.night is not None and not stands:
            judged, planned = (entry[name][night.slot.night] for name in ("judged", "planned"))
            if planned:
                name = (
                    f"{judged} of {planned}" if is_rate else "not measured" if night.value is None else "few"
                )
                marks.append(Mark(at=place, name=name, hole=True))
    return draw(
        Chart(
            key=f"trend-{position}",
            title=f"{'Pass rate' if is_rate else 'Mean score'} of {entry['evaluator']} by night",
            told=told,
            lines=[Line(name="rate", points=points)],
            ranges=list(_intervals(axis.facts, nights)) if is_rate else (),
            open_points=[
                (float(i), night.value)
                for i, night in enumerate(nights)
                if night.thin and night.value is not None
            ],
            marks=marks,
            wanted=wanted,
            ticks=axis.ticks(),
            span=axis.span,
            top=1.0 if is_rate else nice_top(max(values)),
            written=percent if is_rate else _plain,
        )
    )


def _intervals(facts: SuiteFacts, nights: Sequence[Night]) -> Iterator[tuple[float, float, float]]:
    for place, night in enumerate(nights):
        if night.entry is not None and night.slot.night is not None and not night.thin:
            interval = facts.summary(night.slot.night)["evaluators"][night.entry]["interval"]
            if interval is not None:
                yield float(place), interval[0], interval[1]


def _told(nights: Sequence[Night], entry: Mapping[str, Any], measure: str) -> str:
    """What the chart shows, in sentences."""
    write: Callable[[float], str] = percent if measure == "pass_rate" else _plain
    known = [(night.slot.day, night.value) for night in nights if night.value is not None and not night.thin]
    parts = []
    if known:
        (first, began), (last, ended) = known[0], known[-1]
        lowest, highest = (choose(value for _, value in known) for choose in (min, max))
        parts.append(
            f"{write(began)} on {first}, {write(ended)} on {last}; {write(lowest)} to {write(highest)}."
        )
    else:
        parts.append("No night has a figure that stands.")
    if measure == "pass_rate" and entry["threshold"] is not None:
        parts.append(f"Wanted {percent(float(entry['threshold']))}.")
    holes = [
        f"{night.slot.day} ({_why(night, entry)})" for night in nights if night.value is None or night.thin
    ]
    if holes:
        parts.append(f"Holes: {_listed(holes)}.")
    return " ".join(parts)


def _why(night: Night, entry: Mapping[str, Any]) -> str:
    if night.slot.night is None:
        return "no night" if night.slot.missing == 1 else f"{night.slot.missing} nights missing"
    judged, planned = (entry[name][night.slot.night] for name in ("judged", "planned"))
    return f"{judged} of {planned} judged" if planned else "not planned"


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_TOLD
    return ", ".join(texts[-_MOST_TOLD:]) + (f", and {more} before" if more > 0 else "")


def _plain(value: float) -> str:
    return f"{value:.3g}"
