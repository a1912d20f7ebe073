"""The page above the runs of a night: one line a suite.

Owns nothing but that line; the suites' own pages have the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nightgate.reports.pages.figures import Figures
from nightgate.reports.pages.shell import page


def night_page(shown: Sequence[tuple[Mapping[str, Any], str | None]], notice: str | None = None) -> bytes:
    """The page.

    Args:
        shown: The summary of each suite, and where its own page is; None where it has none.
        notice: Said at the top of the page.
    """
    words = [summary["verdict"] for summary, _ in shown]
    worst = next((word for word in ("fail", "inconclusive") if word in words), "pass")
    counts = ", ".join(
        f"{words.count(word)} {word}" for word in ("fail", "inconclusive", "pass") if word in words
    )
    return page(
        "night.html.j2",
        title=f"{counts} · {len(shown)} suites",
        notice=notice,
        worst=worst if shown else "inconclusive",
        counts=counts or "no suites",
        suites=[(summary, href, Figures(summary)) for summary, href in shown],
    )
