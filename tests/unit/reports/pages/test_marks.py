"""Small pieces: a sign and the very word, and nothing that escapes its quotes."""

from __future__ import annotations

import pytest

from hostile import EVERYTHING, IMAGE, SCRIPT
from nightgate.gates import Verdict
from nightgate.reports.pages.marks import GLYPHS, block, inline, night_cell, status, trial_link
from nightgate.reports.pages.texts import Text, Texts
from nightgate.scores import Status
from nightgate.trials import Ending
from pagereader import Page


@pytest.mark.parametrize("word", [*Status, *Verdict, *Ending])
def test_every_word_of_the_contract_has_a_sign_and_stands_there_itself(word: str) -> None:
    """Colours are never the only sign, and nobody has to guess what a word means."""
    page = Page(status(word))

    assert page.text == f"{GLYPHS[word]} {word}"


def test_a_word_of_a_newer_version_is_shown_with_a_question_mark() -> None:
    """It is a fact, though nobody here knows its colour."""
    assert Page(status("postponed")).text == "? postponed"


def test_what_happened_to_nobody_is_no_alarm() -> None:
    """Red ink for "0 agent_error" would be read as one."""
    assert "zero" in status("agent_error", 0)
    assert "zero" not in status("agent_error", 1)


@pytest.mark.parametrize("text", [SCRIPT, IMAGE, EVERYTHING])
def test_no_text_leaves_its_element(text: str) -> None:
    """Whoever wrote it, it is a text."""
    for shown, tags in (
        (block(Text(text)), ["pre"]),
        (inline(Text(text)), ["bdi"]),
        (trial_link("case-1.html", 0, text), ["a"]),
    ):
        page = Page(shown)
        assert page.tags == tags
        assert page.handlers == []
        assert page.unbalanced == []


def test_a_shortened_text_leads_to_the_whole() -> None:
    """And says how much is missing."""
    page = Page(block(Texts("case-1")("x" * 10_000)))

    assert page.links == ["case-1-1.txt"]
    assert page.text.endswith("4,000 more characters. Open the whole text")


def test_a_tall_text_scrolls_and_the_keyboard_reaches_it() -> None:
    """A page of walls is read by nobody."""
    assert 'tabindex="0"' in block(Text("line\n" * 40))
    assert 'tabindex="0"' not in block(Text("line\n" * 4))


@pytest.mark.parametrize(
    ("counts", "tone", "text"),
    [
        ((3, 3), "good", "3/3"),
        ((2, 3), "bad", "✗ 2/3"),
        ((0, 0), "good", "0/0"),
        ((None, None), "calm", "not judged"),
    ],
)
def test_a_night_is_shown_as_its_counts_and_a_hole_as_none(
    counts: tuple[int | None, int | None], tone: str, text: str
) -> None:
    """An empty night is no zero, and red is never the only sign."""
    assert night_cell(*counts).startswith(f'<td class="{tone}">')
    assert Page(night_cell(*counts)).text == text


def test_a_night_says_what_changed_before_it() -> None:
    """Else a drop looks like the agent's; whatever the name is, it is a text."""
    assert "script" not in Page(night_cell(1, 1, (SCRIPT,))).tags
    assert Page(night_cell(1, 1, ("model",))).text == "1/1model changed"  # a line of its own, by its style
