"""Nothing in a text acts when it is looked at."""

from __future__ import annotations

import subprocess

import pytest

from hostile import ANSI, BIDI, FAMILY
from nightgate.reports.pages.visible import shell_word, visible


def test_terminal_escapes_are_seen_and_not_obeyed() -> None:
    """A page may be copied into a terminal."""
    assert visible(ANSI).startswith("␛[2J␛[31mred␛[0m ␛]8;;http://evil.example␇link")
    assert visible(ANSI).endswith("⟦U+009B⟧31m␀␡")


def test_direction_overrides_are_seen_and_turn_nothing_round() -> None:
    """Text that reads "NEGATIVE" must not be stored as "EVITAGEN"."""
    assert visible(BIDI) == "refund ⟦U+202E⟧EVITAGEN⟦U+202C⟧ granted ⟦U+2066⟧x⟦U+2069⟧"


@pytest.mark.parametrize("text", [FAMILY, "مرحبا", "नमस्ते", "naïve ☂\ufe0f", "a\tb\nc", "می\u200cخواهم"])
def test_text_of_people_stays_as_it_is(text: str) -> None:
    """Joiners make emoji families and several scripts."""
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("re\u200bfund", "re⟦U+200B⟧fund"),
        ("\ufeffx", "⟦U+FEFF⟧x"),
        ("a\U000e0041b", "a⟦U+E0041⟧b"),
        ("half \ud800", "half ⟦U+D800⟧"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
    ],
)
def test_what_has_no_width_is_told(text: str, seen: str) -> None:
    """An evaluator that failed on it can be understood; a half character could not be written at all."""
    assert visible(text) == seen


@pytest.mark.parametrize(
    "text", ["late refund", "'; rm -rf / #", BIDI, "a\nb\tc", "back\\slash \x07", "\U000e0041"]
)
def test_a_shell_reads_back_the_very_text(text: str) -> None:
    """The command on a page plays the case that it names, and nothing else."""
    ran = subprocess.run(["bash", "-c", f"printf %s {shell_word(text)}"], capture_output=True, check=True)

    assert ran.stdout.decode() == text
    assert shell_word(text).isprintable()
