"""Numbers on a page are the document's own."""

from __future__ import annotations

import pytest

from nightgate.reports.pages.figures import Figures, usd
from pagereader import Page, figures_of

DOCUMENT = {
    "rate": 2 / 3,
    "none": None,
    "on": True,
    "families": {"a/b <é>": {"en": {"passed": 3}}},
    "list": [{"usd": 0.00001}, 1234],
}


def test_a_figure_carries_its_value_and_its_path() -> None:
    """What people read is rounded; what programs read is not."""
    assert str(Figures(DOCUMENT)("rate", kind="rate")) == (
        '<data value="0.6666666666666666" data-figure="/rate">67%</data>'
    )


def test_an_unknown_figure_is_no_zero() -> None:
    """Null is null on the page too."""
    assert (
        str(Figures(DOCUMENT)("none", kind="usd")) == '<data value="null" data-figure="/none">unknown</data>'
    )


def test_a_figure_that_an_older_document_lacks_is_a_dash() -> None:
    """Pages can be made of runs from before it was counted."""
    assert str(Figures(DOCUMENT)("waits", "p50")) == "–"


def test_a_path_may_hold_anything() -> None:
    """Families and languages are named by people."""
    shown = Figures(DOCUMENT)("families", "a/b <é>", "en", "passed")

    assert Page(shown).figures == {"/families/a%2Fb%20%3C%C3%A9%3E/en/passed": {"3"}}


def test_the_rest_is_what_was_not_shown() -> None:
    """So a page has every figure, also those that a later version adds."""
    figures = Figures(DOCUMENT)
    figures("rate")

    rest = "".join(figure for _, figure in figures.rest(without=["families"]))

    assert Page(rest).figures == {"/list/0/usd": {"1e-05"}, "/list/1": {"1234"}}
    assert set(figures_of(DOCUMENT)) - set(Page(rest).figures) == {
        "/rate",
        "/families/a%2Fb%20%3C%C3%A9%3E/en/passed",
    }


@pytest.mark.parametrize(
    ("amount", "told"), [(12.34567, "$12.3457"), (0.0000004, "$0.00000040"), (None, "unknown")]
)
def test_small_money_is_not_rounded_away(amount: float | None, told: str) -> None:
    """A verdict may cost a millionth of a dollar, and that is not nothing."""
    assert usd(amount) == told
