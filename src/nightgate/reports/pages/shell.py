"""The frame of every page: template environment, stylesheet, policy.

Owns the promises that hold on all pages. Nothing is loaded from anywhere: the stylesheet stands in the page
and is allowed by its hash, because a browser that opened a file from disk, a mail or a signed link may have
no other file of ours. No script runs at all. Every expression of a template is escaped, and characters that
would act are made visible first (``visible``), without a template having to ask for it.

A template extends ``base.html.j2`` and fills its blocks. Styles are classes of ``style.css``: the policy
lets no ``style`` attribute through. SVG takes presentation attributes and those classes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nightgate.reports.pages.figures import number, rate, seconds, usd
from nightgate.reports.pages.marks import block, glyph, inline, status, tone, trial_link
from nightgate.reports.pages.visible import visible
from nightgate.version import VERSION

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Ccircle cx='8' cy='8' r='7' fill='%23334a8c'/%3E%3Cpath d='M10 12A5 5 0 0 1 7 3a5 5 0 1 0 5 7z' "
    "fill='%23fff'/%3E%3C/svg%3E"
)


def page(template: str, *, title: str, notice: str | None = None, **values: Any) -> bytes:
    """A whole page.

    Args:
        template: Its name, below ``templates/``.
        title: For the browser's tab.
        notice: Said at the top of the page, such as that its data is simulated.
        **values: What the template shows; texts verbatim.
    """
    text = environment().get_template(template).render(title=title, notice=notice, **values)
    return text.encode()


@cache
def environment() -> Environment:
    """The templates with their filters; made once."""
    made = Environment(
        loader=PackageLoader("nightgate.reports.pages"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _style()
    made.globals |= {
        "style": Markup(style),  # noqa: S704 - a file of this package
        "policy": policy(style),
        "icon": Markup(_ICON),  # noqa: S704 - ours too
        "version": VERSION,
        **{each.__name__: each for each in (block, glyph, inline, status, tone, trial_link)},
    }
    made.filters |= {"usd": usd, "seconds": seconds, "rate": rate, "number": number}
    return made


def policy(style: str) -> str:
    """The Content-Security-Policy: nothing but this very stylesheet and the icon in the page."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _seen(value: Any) -> Any:
    """What an expression of a template comes to."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return "" if value is None else value


def _style() -> str:
    """The stylesheet without comments and the white space that only its authors need."""
    text = files("nightgate.reports.pages").joinpath("templates/style.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*([{};,>])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()
