"""Charts over nights as SVG that stands in a page: lines, intervals, marks, holes.

Owns the drawing, and what every chart promises: it is told in words (title and description), its colours are
classes of the pages' stylesheet, and it says nothing by colour alone. pygal places everything; its own
stylesheet, script and tooltips are taken out, because the pages' policy lets none of them through. Text in a
chart is ours, never an agent's. Knows no store and no document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup

WIDTH, HEIGHT = 720, 250
_HEADROOM = 0.26
"""Of the scale, above it: where marks are named."""
_ROWS = 3
"""Of names there."""
_CHAR = 7.0
"""Width of a character, about."""
_PLOT_WIDTH = 640
_MOST_DOTS = 80
_ENDS_APART = 0.085
"""Of the scale, between the names of two lines."""
_LINE_KINDS = 4

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points that belong together; None interrupts them."""

    name: str
    points: Sequence[Point | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place that does not compare with the one before it, or that has no figure."""

    at: float
    name: str
    hole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is drawn.

    Attributes:
        key: Unique on its page; a prefix of ids.
        title: What it shows, in a few words.
        told: The same in sentences, for whoever does not see it.
        lines: At most four; several are named at their ends.
        ranges: An interval at a place: place, low, high.
        open_points: Points that stand alone, because too little is behind them.
        marks: Vertical lines with a name.
        wanted: A horizontal line.
        ticks: Places below the chart and their words.
        span: First and last place.
        top: End of the scale, which begins at 0.
        written: How a value of the scale is written.
    """

    key: str
    title: str
    told: str
    lines: Sequence[Line]
    ranges: Sequence[tuple[float, float, float]] = ()
    open_points: Sequence[Point] = ()
    marks: Sequence[Mark] = ()
    wanted: float | None = None
    ticks: Sequence[tuple[float, str]]
    span: tuple[float, float]
    top: float
    written: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class _Layer:
    """One series of pygal: its class here, its points, whether they are joined, dotted, named."""

    kind: str
    points: Sequence[object]
    stroke: bool = True
    dots: bool = False


def draw(chart: Chart) -> Markup:
    """The chart, as an ``svg`` element."""
    import pygal

    layers = list(_layers(chart))
    first, last = chart.span
    drawn = pygal.XY(
        width=WIDTH,
        height=HEIGHT,
        margin=6,
        css=(),
        js=(),
        show_legend=False,
        include_x_axis=False,
        print_labels=True,
        allow_interruptions=True,
        truncate_label=-1,
        dots_size=3,
        xrange=(first - 0.6, last + 0.6 + _room(chart)),
        range=(0, chart.top * (1 + _HEADROOM)),
        x_labels=[{"value": at, "label": word} for at, word in chart.ticks],
        y_labels=[
            {"value": chart.top * part / 4, "label": chart.written(chart.top * part / 4)} for part in range(5)
        ],
    )
    for layer in layers:
        drawn.add(layer.kind, list(layer.points), stroke=layer.stroke, show_dots=layer.dots)
    root = ET.fromstring(drawn.render())  # noqa: S314 - drawn here, a line above
    return _written(root, chart, [layer.kind for layer in layers])


def _layers(chart: Chart) -> Iterator[_Layer]:
    """From the back to the front."""
    ceiling = chart.top * (1 + _HEADROOM)
    for kind, marks in (
        ("hole", [mark for mark in chart.marks if mark.hole]),
        ("change", [mark for mark in chart.marks if not mark.hole]),
    ):
        if marks:
            yield _Layer(
                kind, [point for mark in marks for point in ((mark.at, 0), (mark.at, ceiling), _GAP)]
            )
    if chart.ranges:
        yield _Layer("range", [p for at, low, high in chart.ranges for p in ((at, low), (at, high), _GAP)])
    if chart.wanted is not None:
        yield _Layer("wanted", [(chart.span[0] - 0.6, chart.wanted), (chart.span[1] + 0.6, chart.wanted)])
    dotted = chart.span[1] - chart.span[0] < _MOST_DOTS
    for number, line in enumerate(chart.lines):
        kind = f"line line-{number % _LINE_KINDS}"
        yield _Layer(kind, [_GAP if point is None else point for point in line.points], dots=dotted)
        if lone := [] if dotted else list(_lone(line.points)):
            yield _Layer(kind, lone, stroke=False, dots=True)
    if chart.open_points:
        yield _Layer("open", list(chart.open_points), stroke=False, dots=True)
    names = [*_mark_names(chart), *_line_names(chart)]
    for kind in dict.fromkeys(kind for kind, _, _ in names):
        labels = [{"value": at, "label": word} for of, at, word in names if of == kind]
        yield _Layer(kind, labels, stroke=False, dots=True)


_GAP = (None, None)


def _lone(points: Sequence[Point | None]) -> Iterator[Point]:
    """Points between two gaps: a line shows nothing of them."""
    padded = [None, *points, None]
    for before, point, after in zip(padded, points, padded[2:], strict=False):
        if point is not None and before is None and after is None:
            yield point


def _mark_names(chart: Chart) -> Iterator[tuple[str, Point, str]]:
    """Names above the scale, in rows so that they do not cover each other.

    One that finds no row is left out: the page lists them all.
    """
    first, last = chart.span
    places = last - first + 1.2 + _room(chart)
    free = [-1.0] * _ROWS
    for mark in sorted(chart.marks, key=lambda mark: mark.at):
        width = (len(mark.name) + 1) * _CHAR * places / _PLOT_WIDTH
        at = mark.at - first + 0.6
        right = at + width <= places
        start = at if right else at - width
        row = next((row for row in range(_ROWS) if free[row] <= start), None)
        if row is None:
            continue
        free[row] = start + width
        height = chart.top * (1.19 - 0.075 * row)
        yield "name" if right else "name before", (mark.at, height), mark.name


def _room(chart: Chart) -> float:
    """Places right of the last one, for the names of lines."""
    if len(chart.lines) == 1:
        return 0.0
    width = (max(len(line.name) for line in chart.lines) + 2) * _CHAR / _PLOT_WIDTH
    return (chart.span[1] - chart.span[0] + 1.2) * width / (1 - width)


def _line_names(chart: Chart) -> Iterator[tuple[str, Point, str]]:
    """Names right of the ends of lines, moved apart; one line alone is named by the title."""
    if len(chart.lines) == 1:
        return
    ends = [
        (point, line.name)
        for line in chart.lines
        if (point := next((point for point in reversed(line.points) if point is not None), None))
    ]
    least = 0.0
    for (at, value), name in sorted(ends, key=lambda end: end[0][1]):
        height = max(least, value)
        least = height + chart.top * _ENDS_APART
        yield "name end", (at, height), name


def _written(root: ET.Element, chart: Chart, kinds: Sequence[str]) -> Markup:
    """The drawing as the pages take it."""
    tag = "{http://www.w3.org/2000/svg}"
    plots = [node for node in root.iter(f"{tag}g") if "plot" in node.get("class", "").split()]
    title, told = f"{chart.key}-title", f"{chart.key}-told"
    made = ET.Element(
        "svg",
        {
            "class": "chart",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "aria-labelledby": f"{title} {told}",
        },
    )
    ET.SubElement(made, "title", {"id": title}).text = chart.title
    ET.SubElement(made, "desc", {"id": told}).text = chart.told
    for plot in plots:
        shown = ET.SubElement(made, "g", {"transform": plot.get("transform", "")})
        for group in plot:
            _copied(group, shown, tag, kinds)
    text = ET.tostring(made, encoding="unicode", short_empty_elements=True)
    return Markup(text)  # noqa: S704 - serialised by an XML writer, which quotes


def _copied(group: ET.Element, into: ET.Element, tag: str, kinds: Sequence[str]) -> None:
    """Shapes and texts of a group of pygal's, under a class of ours."""
    words = group.get("class", "").split()
    if "axis" in words:
        kind = "axis-x" if "x" in words else "axis-y"
    elif "series" in words:
        kind = kinds[int(words[1].removeprefix("serie-"))]
    else:
        return
    made = ET.Element("g", {"class": kind} | ({"transform": _BESIDE[kind]} if kind in _BESIDE else {}))
    for node in group.iter():
        name = node.tag.removeprefix(tag) if isinstance(node.tag, str) else ""
        if name not in _SHAPES or (name == "circle" and kind.startswith("name")):
            continue
        if kind == "axis-x" and name == "path":
            continue
        given = {key: _short(node.get(key, "")) for key in _SHAPES[name] if node.get(key)}
        ET.SubElement(made, name, given).text = node.text if name == "text" else None
    if len(made):
        into.append(made)


_BESIDE = {
    "name": "translate(-8,-12)",
    "name end": "translate(-8,-12)",
    "name before": "translate(-21,-12)",
}
"""pygal writes labels below and right of a point, by the size of its own font."""
_NUMBER = re.compile(r"-?\d+\.\d+")
_SHAPES = {"path": ("d",), "circle": ("cx", "cy", "r"), "text": ("x", "y")}


def _short(numbers: str) -> str:
    """Coordinates with one decimal."""
    return _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), numbers)


def ticks(words: Iterable[tuple[float, str]], most: int = 8) -> list[tuple[float, str]]:
    """Some of the places below a chart, evenly, so that their words have room."""
    listed = list(words)
    step = max(1, -(-len(listed) // most))
    return listed[::step]


def nice_top(most: float) -> float:
    """The end of a scale that a value fits on, with quarters that are easy to read.

    >>> nice_top(0.187996), nice_top(3.6), nice_top(0.0)
    (0.2, 4.0, 1.0)
    """
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(
        round(step * power, 12)
        for step in (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
        if step * power >= most * 0.999999
    )
