"""Charts: drawn by a library, told in words, coloured by classes, with nothing that the policy forbids."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from nightgate.reports.figures import percent
from nightgate.reports.pages.charts import Chart, Line, Mark, draw, nice_top, ticks


def a_chart(points: list[float | None], **more: object) -> Chart:
    """A line from 0 to 1 over so many nights."""
    chart = Chart(
        key="c",
        title="Pass rate",
        told="It fell.",
        lines=[
            Line(name="rate", points=[None if y is None else (float(x), y) for x, y in enumerate(points)])
        ],
        ticks=[(0.0, "11-01")],
        span=(0.0, float(len(points) - 1)),
        top=1.0,
        written=percent,
    )
    return replace(chart, **more)


def paths(svg: str, kind: str) -> list[str]:
    """The shapes of a class."""
    root = ET.fromstring(svg)
    return [
        path.get("d", "")
        for group in root.iter("g")
        if group.get("class") == kind
        for path in group.iter("path")
    ]


def texts(svg: str) -> list[str]:
    """All words that are drawn."""
    return [node.text or "" for node in ET.fromstring(svg).iter("text")]


def test_a_chart_is_an_image_with_a_name_and_a_description() -> None:
    """For whoever does not see it."""
    root = ET.fromstring(draw(a_chart([1.0, 0.5])))

    assert (root.tag, root.get("role"), root.get("aria-labelledby")) == ("svg", "img", "c-title c-told")
    named = {node.get("id"): node.text for node in root if node.tag in ("title", "desc")}
    assert named == {"c-title": "Pass rate", "c-told": "It fell."}


def test_nothing_of_the_librarys_style_script_or_tooltips_is_left() -> None:
    """The policy of the pages allows one stylesheet, and no script."""
    svg = draw(a_chart([1.0, 0.5], marks=[Mark(at=1, name="model")], ranges=[(0, 0.5, 1.0)]))

    tags = {node.tag for node in ET.fromstring(svg).iter()}
    assert tags == {"svg", "title", "desc", "g", "path", "circle", "text"}
    assert re.findall(r'\s(?:style|on\w+|href|fill|stroke)="', svg) == []


def test_the_same_chart_is_the_same_bytes() -> None:
    """A page that is written again differs where its data does, and nowhere else."""
    assert draw(a_chart([1.0, 0.5])) == draw(a_chart([1.0, 0.5]))


def test_a_hole_interrupts_the_line() -> None:
    """Nobody knows what lay between."""
    assert len(paths(draw(a_chart([1.0, 0.9, 0.8, 0.7])), "line line-0")) == 1
    assert len(paths(draw(a_chart([1.0, 0.9, None, 0.8, 0.7])), "line line-0")) == 2


def test_of_many_nights_a_lone_one_keeps_its_dot() -> None:
    """A year has no room for dots, and a line of one point is none."""
    lone = draw(a_chart([1.0, 1.0, None, 0.5, None, *[1.0] * 100]))

    assert lone.count("<circle") == 1


def test_marks_are_named_and_holes_look_different() -> None:
    """Colour is not the only sign."""
    svg = draw(a_chart([1.0] * 9, marks=[Mark(at=3, name="model"), Mark(at=6, name="no night", hole=True)]))

    assert {"model", "no night"} <= set(texts(svg))
    assert (len(paths(svg, "change")), len(paths(svg, "hole"))) == (1, 1)


def test_names_of_marks_that_have_no_room_are_left_out_and_their_lines_are_not() -> None:
    """Three rows of names; the page lists all of them."""
    marks = [Mark(at=at, name=f"evaluator+judge {at}") for at in range(10, 18)]
    svg = draw(a_chart([1.0] * 60, marks=marks))

    assert sum("evaluator+judge" in text for text in texts(svg)) == 3
    assert len(paths(svg, "change")) == 8


def test_several_lines_are_named_at_their_ends_apart_from_each_other() -> None:
    """Two lines on the same value would write over each other."""
    lines = [Line(name=name, points=[(0.0, 1.0), (1.0, 1.0)]) for name in ("agent", "judge")]
    root = ET.fromstring(draw(a_chart([1.0, 1.0], lines=lines)))

    heights = [float(node.get("y", "")) for node in root.iter("text") if node.text in ("agent", "judge")]
    assert abs(heights[0] - heights[1]) >= 12
    assert {group.get("class") for group in root.iter("g")} >= {"line line-0", "line line-1"}


def test_words_in_a_chart_are_quoted() -> None:
    """An evaluator's name is somebody's text."""
    svg = draw(a_chart([1.0, 1.0], title="</title><script>x</script>", marks=[Mark(at=1, name="<b>")]))

    assert "<script>" not in svg
    assert "<b>" not in svg


@pytest.mark.parametrize("nights", [1, 2, 30, 365])
def test_a_chart_of_any_length_is_small(nights: int) -> None:
    """A page has a dozen of them."""
    at = range(nights)
    chart = a_chart([0.9] * nights, ranges=[(x, 0.8, 1.0) for x in at], ticks=ticks((x, "11-01") for x in at))

    assert len(draw(replace(chart, span=(0.0, float(max(1, nights - 1)))))) < 40_000


def test_ticks_are_at_most_eight() -> None:
    """Their words have room."""
    assert len(ticks((float(x), str(x)) for x in range(365))) == 8
    assert len(ticks((float(x), str(x)) for x in range(3))) == 3


@pytest.mark.parametrize(
    ("most", "top"), [(0.0, 1.0), (0.11, 0.12), (0.2, 0.2), (0.21, 0.24), (3.6, 4.0), (97, 100)]
)
def test_a_scale_ends_on_a_round_number(most: float, top: float) -> None:
    """Its quarters can be read."""
    assert nice_top(most) == top
