"""Page sets in a real browser, opened from a folder without network.

Needs Chromium (Debian's package ``chromium``, or the program that ``CHROMIUM`` names) and the dependency
group ``browser``: ``uv run --group browser pytest tests/browser -m live``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostile import CASES, put_hostile_run
from nightgate.adapters.store.folder import FolderStore
from nightgate.reports.pages.casepage import case_file
from nightgate.reports.pages.writing import write_pages
from nightgate.steps.runpages import pages_of_run
from shell import SUPPORT, nightgate

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.live

_WIDTHS = (360, 1280)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page set of a real run, and one in which every text is hostile."""
    root = tmp_path_factory.mktemp("pages")
    told = nightgate(
        "run", SUPPORT, "--store", root / "s", "--model", "scripted:upgraded", "--judge", "scripted:judge",
        "--trials", "3", "--html", root / "support",
    )  # fmt: skip
    assert told.code == 1, told.err
    store = FolderStore(root / "h")
    write_pages(pages_of_run(store, put_hostile_run(store)), root / "hostile")
    return {"support": root / "support", "hostile": root / "hostile"}


@pytest.fixture(params=["support", "hostile"])
def folder(request: pytest.FixtureRequest, sets: dict[str, Path]) -> Path:
    """Each set in turn."""
    return sets[request.param]


def test_no_page_says_a_word_on_the_console_or_asks_for_anything(
    folder: Path, opened: Callable[..., tuple[Page, list[str]]]
) -> None:
    """The policy holds, the stylesheet is taken, no planted script runs."""
    for path in sorted(folder.glob("*.html")):
        page, trouble = opened(path)
        assert trouble == [], path.name
        assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none", path.name
        assert page.title() not in ("pwned", "1"), path.name
        assert page.evaluate("document.scripts.length") == 0, path.name


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_screen(
    folder: Path, opened: Callable[..., tuple[Page, list[str]]], width: int, scheme: str
) -> None:
    """On a phone one scrolls down, not sideways; wide tables scroll by themselves."""
    for path in [*sorted(folder.glob("*.html"))[:4], folder / "index.html"]:
        page, _ = opened(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    folder: Path, opened: Callable[..., tuple[Page, list[str]]], width: int, scheme: str
) -> None:
    """Names, roles, contrast, landmarks: the usual checks for people who cannot see or use a mouse."""
    from axe_playwright_python.sync_playwright import Axe

    for path in (min(folder.glob("case-*.html")), folder / "index.html"):
        page, _ = opened(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:120]) for one in found] == [], path.name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(
    sets: dict[str, Path], opened: Callable[..., tuple[Page, list[str]]], scheme: str
) -> None:
    """At least 4.5 to 1 (WCAG AA), for every piece of text in both schemes."""
    case = sets["support"] / case_file("refund-out-of-window")
    for path in (sets["support"] / "index.html", case):
        page, _ = opened(path, color_scheme=scheme)
        assert page.evaluate(_FAINT) == [], path.name


_FAINT = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
  return [...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(
    n => n.nodeType === 3 && n.textContent.trim())).filter(e => {
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map(e => e.outerHTML.slice(0, 120));
}"""


def test_the_keyboard_reaches_every_link_and_every_table_that_scrolls(
    sets: dict[str, Path], opened: Callable[..., tuple[Page, list[str]]]
) -> None:
    """In the order of the page, the skip link first, each with a ring that is seen."""
    page, _ = opened(sets["support"] / "index.html", viewport={"width": 360, "height": 800})
    wanted = page.evaluate(
        "[...document.querySelectorAll('a, summary, [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility()).length"
    )
    reached = []
    for _step in range(wanted):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached[-1]

    assert reached[0].startswith('<a class="skip"')
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"  # the last thing on the page
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll')].every(e => e.tabIndex === 0 && e.ariaLabel)"
    )


def test_tables_lists_and_headings_say_what_they_are(
    sets: dict[str, Path], opened: Callable[..., tuple[Page, list[str]]]
) -> None:
    """What a check for accessibility asks first: names, scopes, captions, one h1, no level left out."""
    for path in (sets["support"] / "index.html", sets["support"] / case_file("refund-out-of-window")):
        page, _ = opened(path)
        assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption && t.tHead)")
        assert page.evaluate("[...document.querySelectorAll('th')].every(th => th.scope)")
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert page.evaluate(
            "[...document.querySelectorAll('a')].every(a => (a.ariaLabel || a.textContent).trim().length > 0)"
        )


def test_a_link_from_a_failed_trial_leads_to_that_trial(
    sets: dict[str, Path], opened: Callable[..., tuple[Page, list[str]]]
) -> None:
    """The way that a person takes: first page, case, trial, its whole text."""
    page, trouble = opened(sets["hostile"] / "index.html")
    page.click("#failing ~ article .strip a >> nth=1")

    assert page.url.endswith(f"{case_file(CASES[0])}#trial-1")
    page.click("text=Open the whole text >> nth=0")

    assert page.url.endswith(".txt")
    assert page.evaluate("document.body.textContent.length") >= 2_000_000
    assert trouble == []
