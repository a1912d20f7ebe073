"""Foreign text in a message does nothing wherever it is shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.messages import neutral


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("look <script>alert(1)</script>", "<script"),
        ("hey @channel and <!here> and <@U123> now", "@"),
        ("<!channel>", "<!"),
        ("see https://evil.example/x?a=1", "://"),
        ("see HTTPS:\\\\evil.example", "S:∖"),
        ("go to www.evil.com now", "www.evil"),
        ("evil.com/login", "evil.com"),
        ("bit.ly/abc", "bit.ly"),
        ("mailto:a@b.c", "mailto:"),
        ("javascript:alert(1)", "javascript:"),
        ("[click](https://evil.example)", "]("),
        ("![x](y)", "]("),
        ("[a]: y", "]:"),
        ("*bold* _slanted_ ~struck~ `code`", "*"),
        ("_slanted_", "_"),
        ("`code`", "`"),
        ("&lt;script&gt; &#60;b&#62;", "&lt;"),
        ("a\x1b[31mred\x1b[0m", "\x1b"),
        ("abc\u202edef\u2066", "\u202e"),
        ("zero\u200bwidth\ufeff", "\u200b"),
        ("tag\U000e0041", "\U000e0041"),
        ("two\nlines\r\n\u2028three", "\n"),
        ("＠here", "＠"),
        ("@\u200bhere", "@"),
    ],
)
def test_what_a_receiver_would_act_on_is_gone(text: str, gone: str) -> None:
    """An agent's answer must not ping a channel, lead anywhere or change the look of a message."""
    assert gone not in neutral(text)


@pytest.mark.parametrize(
    "text",
    [
        "ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]",
        "missing search_kb (called: no tool)",
        "Criterion:same-language was no",
        "cases.CS-1001.status is open",
        "scripted:baseline",
        "KB-101 & KB-102",
        "können 日本語 می‌خواهم",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    """People have to recognise their case and their finding."""
    assert neutral(text) == text


@pytest.mark.parametrize(
    "secret", ["sk-abcdefghijklmn0123456789", "AKIAABCDEFGHIJKLMNOP", "password=hunter2secret99"]
)
def test_secrets_are_redacted_also_behind_control_characters(secret: str) -> None:
    """A colour code in the middle of a key hid it from the patterns."""
    assert secret[-8:] not in neutral(f"it said {secret}")
    assert secret[-8:] not in neutral(f"it said {secret[:4]}\x1b[0m\u200b{secret[4:]}")


def test_a_value_of_the_environment_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a variable that is named like a key holds is a key, whatever it looks like."""
    monkeypatch.setenv("TEAM_API_KEY", "plainwordsonly")

    assert "plainwordsonly" not in neutral("it said plainwordsonly")


def test_a_line_of_two_megabytes_is_cut() -> None:
    """One answer must not make the message, nor take the time of the night."""
    assert len(neutral("x" * 2_000_000, 80)) == 80


@given(st.text(), st.integers(10, 200))
def test_any_text_comes_out_as_one_short_line_without_signs_that_act(text: str, limit: int) -> None:
    """Whatever an agent says."""
    line = neutral(text, limit)

    assert len(line) <= limit
    assert not set("@`*\n\r\t\x1b") & set(line)
    assert "](" not in line
    assert "://" not in line
    assert not any(unicodedata.category(char)[0] == "C" and char not in "\u200c\u200d" for char in line)


@given(st.text(alphabet="<>!@/:[](). aw1htpscom&;#_"))
def test_no_tag_mention_or_link_survives_a_text_made_of_their_signs(text: str) -> None:
    """Taking one sign out must not put another one together."""
    line = neutral(f"{text}", 500)

    assert "@" not in line
    assert "://" not in line
    assert "](" not in line
    assert not any(line[n] == "<" and line[n + 1 : n + 2] not in ("", " ") for n in range(len(line)))
