"""Text of strangers on one line."""

from __future__ import annotations

import pytest

from nightgate.plaintext import plain


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("one\r\ntwo\ttabbed\u2028three", "one two tabbed three"),
        ("bell\x07 null\x00", "bell null"),
        ("\u202egnp.exe", "gnp.exe"),
        ("Grüße 🧾", "Grüße 🧾"),
    ],
)
def test_what_moves_a_cursor_or_turns_text_is_gone(text: str, line: str) -> None:
    """An answer must not fake a line of ours."""
    assert plain(text) == line


def test_a_cut_is_seen() -> None:
    """Nobody takes the beginning for the whole."""
    assert plain("abcdef", 4) == "abc…"
