"""Folding: what must not make a text check fail by accident."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.evaluators.text import INVISIBLE, clip, fold, fold_needle, fold_pattern

WORDS = st.text(st.characters(codec="utf-8"), max_size=40)


def meets(pattern: str, text: str) -> bool:
    return fold_pattern(pattern).search(fold(text)) is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("e\u0301l", "él"),
        ("Él ESTÁ", "el esta"),
        ("it’s", "it's"),
        ("‘a’", "'a'"),
        ("“Sí”", '"si"'),
        ("«oui»", '"oui"'),
        ("30–90", "30-90"),
        ("a — b", "a - b"),
        ("a\u00a0b", "a b"),
        ("a \t\r\n\u2009 b", "a b"),
        ("straße", "STRASSE"),
        ("Ünïcödé", "unicode"),
        ("Άθήνα", "αθηνα"),
        ("İstanbul", "istanbul"),
        ("Opción", "opcion"),
        ("ŉ", "’n"),
        ("ẞ\u0301", "ss"),
        ("Opcio\u0301n", "OPCIÓN"),
        ("I can’t", "I can't"),
        ("I canʼt", "I can't"),
        ("soft\u00adware", "software"),
        ("zero\u200bwidth", "zerowidth"),
        ("do ＂it＂ now, it＇s ok", 'do "it" now, it\'s ok'),
    ],
)
def test_spellings_of_one_text_fold_together(left: str, right: str) -> None:
    """Unicode form, typography, white space, case and accents are accidents of whoever typed."""
    assert fold(left) == fold(right)


@pytest.mark.parametrize(
    "sign", [*"\u200e\u200f\u061c\u2066\u2067\u2068\u2069", *"\u202a\u202b\u202c\u202d\u202e\u200d\u00ad"]
)
def test_a_sign_that_nobody_sees_hides_no_word(sign: str) -> None:
    """Text that mixes directions of writing is full of them, and a planted one slips past a ban."""
    text = fold(f"We give a re{sign}fund{sign} here")
    assert fold_needle("refund") in text
    assert fold_pattern(r"\brefund\b").search(text)
    assert fold_needle(f"re{sign}fund") in fold("a refund")


@pytest.mark.parametrize(("left", "right"), [("が", "か"), ("שָׁ", "ש"), ("नि", "न")])
def test_marks_that_make_the_word_are_kept(left: str, right: str) -> None:
    """In scripts without accents a mark is a letter: dropping it changes the word."""
    assert fold(left) != fold(right)


@given(WORDS)
def test_the_unicode_form_of_a_text_makes_no_difference(text: str) -> None:
    """A model writes NFC, a file from a Mac NFD."""
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@given(WORDS)
def test_how_a_text_is_typed_makes_no_difference(text: str) -> None:
    """Accents, case, quotes, dashes and blanks, together: what a model's keyboard adds at random."""
    plain = text.replace("ß", "")  # its upper case is two letters; that they meet has a case of its own
    curly = str.maketrans({"'": "’", '"': "”", "-": "—", " ": "\u00a0\n"})
    assert fold(plain.translate(curly)) == fold(plain)
    assert fold(fold(text)) == fold(text)


@given(WORDS, WORDS, WORDS)
def test_a_needle_is_found_in_the_text_that_holds_it(before: str, needle: str, after: str) -> None:
    """Whatever stands beside it, in whatever Unicode form."""
    text = unicodedata.normalize("NFD", f"{before} {needle} {after}")
    assert fold(needle) in fold(text)


@given(WORDS)
def test_exact_is_nfc_and_nothing_else(text: str) -> None:
    """Who asks for exact text gets it; only the Unicode form stays no difference."""
    assert fold(text, exact=True) == unicodedata.normalize("NFC", text)


def test_a_blank_at_the_end_of_a_needle_is_meant() -> None:
    """Trimmed, a forbidden " no " would be found in every "know"."""
    assert fold_needle(" Nó ") == " no "
    assert fold_needle(" no ") not in fold("I know it")
    assert fold_needle(" no ") in fold("there is\nno way")


def test_a_line_end_after_a_needle_is_not_meant() -> None:
    """A YAML block leaves one behind every text."""
    assert fold_needle("store credit\n") == "store credit"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("crédito|reembolso", "CREDITO"),
        ("credito", "crédito"),
        (r"\bs[ií]\b", "¡Sí!"),
        (r"\d+\s?[–-]\s?\d+ days", "30 – 90 days"),
        ("[–—-]", "a-b"),
        (r"30\–90", "30-90"),
        ("it’s", "it's"),
        ("it's", "it’s"),
        (r"\bcan't\b.*\bhelp", "I can’t\nhelp"),
        ("[’']s over", "it’s over"),
        ("opci[oó]n", "Opcio\u0301n"),
        ("opcio\u0301n", "OPCION"),
        ("STRASSE", "straße"),
        ("straße", "STRASSE"),
        ("[ẞß]e", "straße"),
        ("ﬁn", "FIN"),
        (r"\u00e9t\u00e9", "ete"),
        (r"\xe9t", "été"),
        ("a  +b", "a b"),
        (r"a\n\nb", "a\n\nb"),
        (r"a\r\nb", "a\r\nb"),
        (r"a \n b", "a\nb"),
        (r"a\tb", "a\tb"),
        (r"a[\n]b", "a\nb"),
        (r"^\S+ yes$", "Oh\tYES"),
    ],
)
def test_patterns_are_folded_as_the_text_is(pattern: str, text: str) -> None:
    """A pattern that was written with accents, dashes or line ends meets text that has lost them."""
    assert meets(pattern, text)


@given(st.text(st.characters(codec="utf-8", exclude_characters=INVISIBLE)))
def test_a_text_written_as_a_pattern_meets_itself(text: str) -> None:
    """In any script; blanks at its ends are trimmed from a text and meant in a pattern."""
    assert meets(re.escape(" ".join(text.split())), text)


@pytest.mark.parametrize(
    ("pattern", "text"), [(r"a\\nb", "a b"), (r"^\S+$", "a b"), ("[a–z]", "q"), (r"\d", "x")]
)
def test_folding_a_pattern_keeps_its_meaning(pattern: str, text: str) -> None:
    r"""``\S`` is not lowered to ``\s``, an escaped backslash is no line end, a dash in a set no range."""
    assert not meets(pattern, text)


@pytest.mark.filterwarnings("error")
def test_folded_dashes_in_a_set_are_no_set_difference() -> None:
    """``[0-9–—]`` folded to ``[0-9--]`` made Python warn of its future syntax, in the user's log."""
    assert meets("[0-9–—]+x", "3—x")


def test_a_range_that_folding_would_turn_round_still_compiles() -> None:
    """``[a-É]`` passes ``check`` as it is written; the run must not fall over it."""
    assert meets("[a-É]+", "abc")


def test_an_exact_pattern_minds_case() -> None:
    """``exact: true`` is NFC only, for patterns too."""
    assert fold_pattern("Id-7", exact=True).search("Id-7")
    assert not fold_pattern("Id-7", exact=True).search("id-7")


def test_a_broken_pattern_raises_as_python_does() -> None:
    """The loader refuses it with its line; here nothing is guessed."""
    with pytest.raises(re.error):
        fold_pattern("(")


@given(WORDS, st.integers(2, 50))
def test_clipped_text_is_one_line_of_the_size(text: str, limit: int) -> None:
    """Reasons stand in table cells."""
    clipped = clip(text, limit)
    assert len(clipped) <= limit
    assert "\n" not in clipped
