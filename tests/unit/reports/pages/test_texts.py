"""A page stays small, whatever is said."""

from __future__ import annotations

from hostile import LONG
from nightgate.reports.pages.texts import MOST_CHARS, Texts


def test_a_line_of_2_mb_begins_on_the_page_and_is_whole_beside_it() -> None:
    """Nothing is lost, and the page opens at once."""
    texts = Texts("case-1")

    text = texts(LONG)

    assert text is not None
    assert (len(text.shown), text.more, text.href) == (MOST_CHARS, len(LONG) - MOST_CHARS, "case-1-1.txt")
    assert texts.files == [("case-1-1.txt", f"\ufeff{LONG}".encode())]


def test_the_same_long_text_is_one_file() -> None:
    """An answer stands in the transcript, in reasons and in details."""
    texts = Texts("case-1")

    names = {text.href for text in (texts(LONG), texts(LONG, 10), texts(LONG + "y")) if text is not None}

    assert names == {"case-1-1.txt", "case-1-2.txt"}
    assert len(texts.files) == 2


def test_a_page_that_shows_much_shows_less_of_each_text() -> None:
    """A conversation of a thousand long turns is still a page."""
    texts = Texts("case-1")

    shown = [text.shown for number in range(1_000) if (text := texts(f"{number} " + "x" * 5_000)) is not None]

    assert len(shown[0]) == 5_002
    assert len(shown[-1]) == 400
    assert sum(map(len, shown)) < 1_500_000


def test_a_file_has_what_would_act_made_visible_too() -> None:
    """It is opened in browsers and terminals."""
    texts = Texts("case-1")

    texts("\x1b[2J" + "x" * 10_000)

    assert texts.files[0][1].startswith("\ufeff␛[2Jxxx".encode())


def test_nothing_is_no_empty_text() -> None:
    """An answer that never came is told in other words."""
    texts = Texts("case-1")

    assert texts(None) is None
    assert texts.json(None) is None
    assert texts("") is not None
    assert texts.json({"a": ["é"]}) == texts('{\n "a": [\n  "é"\n ]\n}')
