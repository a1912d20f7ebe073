"""What holds on every page."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

from hostile import BIDI, SCRIPT
from nightgate.reports.pages.shell import environment, page
from pagereader import Page

_TEMPLATES = files("nightgate.reports.pages").joinpath("templates")


def a_page(**more: str) -> bytes:
    """The frame around nothing."""
    return page("base.html.j2", title="A title", **more)


def test_the_policy_allows_the_stylesheet_in_the_page_and_nothing_else() -> None:
    """One changed byte of it, and a browser shows bare text."""
    made = a_page().decode()
    style = re.search(r"<style>(.*?)</style>", made, re.DOTALL)

    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert Page(made).policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_a_page_has_no_script_no_handler_and_nothing_to_load() -> None:
    """It is read on machines without network, and from a signed link without its neighbours."""
    made = Page(a_page())

    assert "script" not in made.tags
    assert made.handlers == []
    assert made.tags.count("link") == 1  # its icon, in the page
    assert "url(" not in a_page().decode()
    assert "@import" not in a_page().decode()


def test_a_page_has_landmarks_a_language_and_a_way_past_the_head() -> None:
    """Readers who hear a page, or have no mouse, find its content at once."""
    made = Page(a_page())

    assert {"header", "main", "footer", "title"} <= set(made.tags)
    assert made.links[0] == "#main"
    assert "main" in made.ids
    assert '<html lang="en">' in a_page().decode()


def test_every_expression_is_quoted_and_made_visible() -> None:
    """No template has to ask for it, so none can forget to."""
    template = environment().from_string("<p title='{{ text }}'>{{ text }}{{ nothing }}</p>")

    shown = template.render(text=f"{SCRIPT}'{BIDI}", nothing=None)

    assert "<script" not in shown
    assert "\u202e" not in shown
    assert shown.count("⟦U+202E⟧") == 2
    assert shown.count("&#39;") == 2 * (2 + 1)
    assert "None" not in shown


def test_no_template_switches_the_quoting_off() -> None:
    """The one way to make a text live would be a filter or a block of its own."""
    for template in _TEMPLATES.iterdir():
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe|autoescape|Markup", text), template.name
        assert not re.search(r"""\s(style|on\w+)=["']""", text), template.name


def test_a_notice_stands_on_the_page_as_text() -> None:
    """Simulated data says so on every page."""
    assert "The data is simulated <b>." in Page(a_page(notice="The data is simulated <b>.")).text
    assert "note" not in a_page().decode().partition("<body>")[2]
