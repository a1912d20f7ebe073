"""Text from agents, judges, users and case files, so that nothing in it acts when it is looked at.

Owns which characters are shown instead of obeyed: terminal escapes, direction overrides, what has no width.
Quoting for HTML is the templates' (autoescape). Imports the standard library only.
"""

from __future__ import annotations

import re

_LINE_BREAKS = re.compile("\r\n?|[\x85\u2028\u2029]")
_ACTING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls of a terminal, but tab and line feed
    "\u202a-\u202e\u2066-\u2069"  # direction: embeddings, overrides, isolates
    "\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"  # without width
    "\ud800-\udfff"  # halves of characters, which cannot be encoded
    "]"
)
"""Joiners and variation selectors stay, because emoji families and several scripts are made with them."""


def visible(text: str) -> str:
    r"""The text with a sign in the place of every character that would act instead of being seen.

    >>> visible("red \x1b[31m, turned \u202eround")
    'red ␛[31m, turned ⟦U+202E⟧round'
    """
    if text.isascii() and text.isprintable():
        return text
    return _ACTING.sub(_sign, _LINE_BREAKS.sub("\n", text))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:  # noqa: PLR2004 - Unicode has pictures of the ASCII controls
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟦U+{code:04X}⟧"  # noqa: PLR2004 - DEL


def shell_word(text: str) -> str:
    r"""A text as one word of a shell, also where it cannot be typed.

    >>> shell_word("late refund"), shell_word("a\u202eb")
    ("'late refund'", "$'a\\u202eb'")
    """
    import shlex

    if _ACTING.search(text) is None and "\n" not in text and "\t" not in text:
        return shlex.quote(text)
    return f"$'{''.join(_typed(char) for char in text)}'"


def _typed(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"  # noqa: PLR2004 - what \u can name
