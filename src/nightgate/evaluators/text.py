"""How text is compared: what must not make a check fail by accident.

Owns the folding of contract, section 1: NFC, typographic quotes, apostrophes and dashes, runs of
white space, case and accents. Knows nothing of cases or statuses.
"""

from __future__ import annotations

import re
import unicodedata

from nightgate.patterns import Pattern

_DASHES = "‐‑‒–—―−﹘﹣－"
_FOLDS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛‹›ʼ´`′＇｀❛❜", "'"),
        **dict.fromkeys("“”„‟«»″＂〝〞〟❝❞", '"'),
        **dict.fromkeys(_DASHES, "-"),
    }
)
_SPACE = re.compile(r"\s+")
_CODE_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_LINE_ESCAPES = re.compile(r"(?<!\\)((?:\\\\)*) *(?:\\[nrt] *)+")
"""Line ends and tabs in a pattern: folded text has one blank there, however many they are."""
_DASH = re.compile(rf"(?<!\\)[{_DASHES}]")
"""Escaped when folded: between two signs of a set, a plain hyphen would make a range of them."""
INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff"
)
"""Signs that are not seen: joiners, directions of writing, and which way an emoji is drawn."""
_INVISIBLE = dict.fromkeys(map(ord, INVISIBLE))


def fold(text: str, *, exact: bool = False) -> str:
    """The form in which needles and text are compared.

    Args:
        text: Any text.
        exact: Only NFC.

    >>> fold("Señal  “Sí”")
    'senal "si"'
    """
    composed = unicodedata.normalize("NFC", text)
    if exact:
        return composed
    plain = composed.translate(_FOLDS).translate(_INVISIBLE)
    # Folding the case of one letter (ŉ) brings an apostrophe of its own.
    return _SPACE.sub(" ", _strip_accents(plain).casefold().translate(_FOLDS)).strip()


def fold_needle(needle: str, *, exact: bool = False) -> str:
    """Fold a text that is looked for in folded text; blanks at its ends are meant (" no " is no "know").

    >>> fold_needle(" Nó ")
    ' no '
    """
    folded, line = fold(needle, exact=exact), needle.strip("\r\n")
    if exact or not folded:
        return folded
    return f"{' ' * line[0].isspace()}{folded}{' ' * line[-1].isspace()}"


def fold_pattern(pattern: str, *, exact: bool = False) -> Pattern:
    r"""Compile a pattern so that it meets folded text: accents and typography folded, case ignored.

    Case of ASCII letters is left to the regex flag, because lowering the source would turn ``\S`` into
    ``\s``; runs of white space in it become one space, as in the text.

    Raises:
        re.error: If it does not compile.
    """
    composed = unicodedata.normalize("NFC", pattern)
    if exact:
        return Pattern(composed)
    composed = _CODE_ESCAPE.sub(lambda m: m[1] + re.escape(chr(int(m[2] or m[3], 16))), composed)
    composed = _LINE_ESCAPES.sub(r"\1\\s", composed)
    composed = _DASH.sub(r"\\-", composed)
    plain = _strip_accents(composed.translate(_FOLDS).translate(_INVISIBLE))
    plain = "".join(char if char.isascii() else char.casefold() for char in plain).translate(_FOLDS)
    try:
        return Pattern(_SPACE.sub(" ", plain), ignore_case=True)
    except re.error:  # a range such as [a-É] runs backwards once the accent is off
        return Pattern(composed, ignore_case=True)


def _strip_accents(text: str) -> str:
    """Drop combining marks of Latin, Greek and Cyrillic letters; other scripts need theirs to be read."""
    if text.isascii():
        return text
    out: list[str] = []
    for char in unicodedata.normalize("NFD", text):
        if unicodedata.combining(char) and out and _alphabetic(out[-1]):
            continue
        out.append(char)
    return unicodedata.normalize("NFC", "".join(out))


_ALPHABETS = re.compile("[\x00-\u052f\u1d00-\u1fff\u2c60-\u2c7f\ua720-\ua7ff\ufb00-\ufb06]")
"""Latin, Greek, Cyrillic and what stands with them, ``ẞ`` and ``ﬁ`` included."""


def _alphabetic(char: str) -> bool:
    return _ALPHABETS.match(char) is not None


def clip(text: str, limit: int = 120) -> str:
    """One line of at most ``limit`` characters, for reasons."""
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


_MOST_SIDE = 300
"""Characters of one side of a difference: a report has a line for each."""


def difference(expected: str, observed: str) -> dict[str, str]:
    """What was wanted beside what was there, a short line each: the ``details`` of a finding.

    >>> difference("search_kb called", "no tool called")
    {'expected': 'search_kb called', 'observed': 'no tool called'}
    """
    return {"expected": clip(expected, _MOST_SIDE), "observed": clip(observed, _MOST_SIDE)}
