"""The page above the runs of a night."""

from __future__ import annotations

from nightgate.reports.pages.nightpage import night_page
from nightgate.steps.reporting import broken
from pagereader import Page
from rundocs import a_summary


def test_the_worst_suite_names_the_night() -> None:
    """One verdict, and one line a suite that leads to its page."""
    page = Page(night_page([(a_summary(), "a/index.html"), (a_summary(verdict="fail"), "b/index.html")]))

    assert page.text.startswith("Skip to the content ☾ nightgate ✗ fail 1 fail, 1 pass")
    assert {"a/index.html", "b/index.html"} <= set(page.links)


def test_a_suite_that_left_no_summary_is_inconclusive_and_leads_nowhere() -> None:
    """It is on the page all the same."""
    page = Page(night_page([(broken("cases/support", None, "its disk was full"), None)]))

    assert "? inconclusive" in page.text
    assert "its disk was full" in page.text
    assert page.links == ["#main"]
