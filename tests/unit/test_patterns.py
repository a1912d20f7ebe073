"""People's patterns: one that never ends is an error, not the end of the run."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate import patterns
from nightgate.patterns import Pattern, SlowPatternError

ENDLESS = r"(a|aa)+$"
SENTENCE = "a" * 80 + "b"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that a test can wait for."""
    monkeypatch.setattr(patterns, "SEARCH_S", 0.1)


@pytest.mark.parametrize("look", ["search", "matches"])
def test_a_pattern_that_never_ends_is_an_error_that_names_it(look: str) -> None:
    """Python's own engine blocks the process for hours on this one."""
    with pytest.raises(SlowPatternError, match=r"did not come to an end") as caught:
        getattr(Pattern(ENDLESS), look)(SENTENCE)

    assert ENDLESS in str(caught.value)


def test_patterns_that_hang_pythons_own_engine_are_answered() -> None:
    """A repeat inside a repeat is common, and most of them need no deadline here."""
    text = "the quick brown fox jumps over the lazy dog and sleeps for the rest of the day in the sun"

    assert Pattern(r"^(\w+\s?)+:$").search(text) is None


@pytest.mark.parametrize("bad", ["(", "[z-a]", "(?P<a>x)(?P<a>y)", "*"])
def test_what_does_not_compile_is_refused_as_before(bad: str) -> None:
    """Before anything is spent."""
    with pytest.raises(re.error):
        Pattern(bad)


@given(
    source=st.sampled_from(
        [r"\d+", r"[A-Z]\w*", r"^a.c$", r"(?i)refund", r"\bno\b", r"[^\s]{2,4}", r"(a|b)\1", r"caf.", r"\$\d"]
    ),
    text=st.text("aAbcNno 12$\nrefundRcé", max_size=20),
)
def test_it_finds_what_pythons_own_engine_finds(source: str, text: str) -> None:
    """The patterns that people have written keep their meaning."""
    mine, pythons = Pattern(source).search(text), re.search(source, text)

    assert (mine and mine.span()) == (pythons and pythons.span())
    assert [m.span() for m in Pattern(source).matches(text)] == [m.span() for m in re.finditer(source, text)]
