"""The page of a suite's nights in a real browser: charts under the page's policy, the board on a phone.

Needs what ``test_pages_in_chromium`` needs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shell import nightgate

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.live

Opens = Callable[..., "tuple[Page, list[str]]"]
_WIDTHS = (360, 1280)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of a short simulated month: single answers, and conversations."""
    root = tmp_path_factory.mktemp("month")
    assert nightgate("demo", root / "month", "--nights", "10").code == 0
    for suite in ("support", "appointments"):
        told = nightgate("report", suite, "--store", root / "month" / "store", "--out", root / suite)
        assert told.code == 0, told.err
    return {suite: root / suite / "index.html" for suite in ("support", "appointments")}


@pytest.fixture(params=["support", "appointments"])
def path(request: pytest.FixtureRequest, pages: dict[str, Path]) -> Path:
    """Each page in turn."""
    return pages[request.param]


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_silent_narrow_and_accessible(path: Path, opened: Opens, width: int, scheme: str) -> None:
    """No word on the console, no request, no wider than the screen, nothing for axe, tables open as well."""
    from axe_playwright_python.sync_playwright import Axe

    page, trouble = opened(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"][:160]) for one in found] == []
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_that_is_drawn_stands_out_from_the_card(path: Path, opened: Opens, scheme: str) -> None:
    """Lines 3 to 1, words 4.5 to 1 (WCAG AA); the stylesheet reaches into the charts in both schemes."""
    page, _ = opened(path, color_scheme=scheme)

    assert page.evaluate("document.querySelectorAll('svg.chart').length") > 2
    assert page.evaluate(_FAINT) == []


_FAINT = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const card = light(rgb(getComputedStyle(document.querySelector('section')).backgroundColor));
  const ratio = c => { const l = light(rgb(c));
    return (Math.max(l, card) + .05) / (Math.min(l, card) + .05); };
  const faint = (nodes, name, least) => [...document.querySelectorAll(nodes)].filter(
    e => ratio(getComputedStyle(e)[name]) < least).map(e => e.outerHTML.slice(0, 80));
  return [...faint('.chart text', 'fill', 4.5),
    ...faint('.chart .line path, .chart .change path', 'stroke', 3),
    ...faint('.chart .line circle', 'fill', 3)];
}"""


def test_no_two_names_in_a_chart_cover_each_other(path: Path, opened: Opens) -> None:
    """Names of marks, of holes and of lines are placed by us."""
    page, _ = opened(path, viewport={"width": 1280, "height": 800})

    assert (
        page.evaluate("""() => [...document.querySelectorAll('svg.chart')].flatMap(svg => {
      const boxes = [...svg.querySelectorAll('.name text, .before text, .end text')].map(
        e => [e.textContent, e.getBoundingClientRect()]);
      return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b, q]) => p.left < q.right - 1 &&
        q.left < p.right - 1 && p.top < q.bottom - 4 && q.top < p.bottom - 4).map(([b]) => [a, b]));
    })""")
        == []
    )


def test_on_a_phone_the_case_stays_while_the_nights_scroll(pages: dict[str, Path], opened: Opens) -> None:
    """The board scrolls in its own box, by keyboard too, and its first column stays readable."""
    page, _ = opened(pages["support"], viewport={"width": 360, "height": 800})
    box = page.locator(".scroll:has(.board)").first
    before = page.locator(".board tbody th").first.bounding_box()

    box.focus()
    box.evaluate("e => e.scrollLeft = 300")

    after = page.locator(".board tbody th").first.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["x"] - after["x"]) < 2
    assert box.evaluate("e => e.scrollLeft") > 200
    assert after["width"] < 180


def test_every_chart_is_an_image_with_a_name_and_a_table(path: Path, opened: Opens) -> None:
    """As the browser's accessibility tree has it."""
    page, _ = opened(path)

    charts = page.get_by_role("img").all()
    assert len(charts) > 2
    assert page.evaluate("""() => [...document.querySelectorAll('svg.chart')].every(svg => {
      const after = svg.closest('.scroll').nextElementSibling;
      return svg.querySelector('desc').textContent.length > 20 && after.matches('details') &&
        after.querySelector('table');
    })""")
