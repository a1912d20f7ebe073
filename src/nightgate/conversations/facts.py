"""Withheld facts in texts: was it asked for, was it given, where does it stand.

Owns the matching of contract, section 1: case and accents do not matter, and for values neither do
the marks and blanks inside of them (``12345678-Z`` is ``12345678z``). Knows nothing of who speaks.
"""

from __future__ import annotations

import functools
import unicodedata

from nightgate.evaluators.text import fold, fold_pattern
from nightgate.patterns import Pattern

REDACTED = "…"


@functools.lru_cache(maxsize=1024)
def _pattern(asked_by: str) -> Pattern:
    return fold_pattern(asked_by)


def asks_for(text: str, asked_by: str) -> bool:
    """Whether an agent's message asks for a fact."""
    return _pattern(asked_by).search(fold(text)) is not None


def spans(text: str, value: str) -> list[tuple[int, int]]:
    """Where ``value`` stands in ``text``: half-open ranges of characters.

    Letters and digits alone are compared, folded. Part of a longer word or number does not count.

    >>> spans("Mi DNI es 12345678 Z.", "12345678-Z")
    [(10, 20)]
    >>> spans("Order 41234", "123")
    []
    """
    needle = "".join(char for char, _ in _letters(value))
    if not needle:
        return []
    letters = _letters(text)
    squashed = "".join(char for char, _ in letters)
    found: list[tuple[int, int]] = []
    start = squashed.find(needle)
    while start >= 0:
        first, last = letters[start][1], letters[start + len(needle) - 1][1]
        if not _joined(text, first - 1, -1) and not _joined(text, last + 1, 1):
            found.append((first, _past_marks(text, last + 1)))
        start = squashed.find(needle, start + 1)
    return found


def holds(text: str, value: str) -> bool:
    """Whether ``text`` gives ``value`` away."""
    return bool(spans(text, value))


def same_words(text: str) -> str:
    """What two messages have in common that say the same: letters and digits, folded.

    >>> same_words("Give me 30%!") == same_words("give  me 30 %")
    True
    """
    return "".join(char for char, _ in _letters(text)) or text.strip()


def redact(text: str, value: str) -> str:
    """``text`` with ``value`` taken out."""
    for first, past in reversed(spans(text, value)):
        text = text[:first] + REDACTED + text[past:]
    return text


def _letters(text: str) -> list[tuple[str, int]]:
    """Letters and digits without case and accents, each with its place in ``text``."""
    found: list[tuple[str, int]] = []
    for place, char in enumerate(text):
        parts = unicodedata.normalize("NFKD", char.casefold())
        found += [(part, place) for part in parts if part.isalnum()]
    return found


def _past_marks(text: str, place: int) -> int:
    """Behind the combining marks of the letter before ``place``."""
    while place < len(text) and unicodedata.combining(text[place]):
        place += 1
    return place


def _joined(text: str, place: int, step: int) -> bool:
    """Whether a letter or digit stands at ``place``, combining marks aside."""
    while 0 <= place < len(text) and unicodedata.combining(text[place]):
        place += step
    return 0 <= place < len(text) and text[place].isalnum()
