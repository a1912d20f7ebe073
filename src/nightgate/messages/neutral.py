"""Text from agents, judges and case files made harmless for a chat, a mail or a pager.

Owns what is taken out: control and direction characters, secrets, markup, mentions and links. What is
left reads the same, and no receiver acts on it. One channel's escaping would be another's markup, so
signs are swapped for look-alikes that mean nothing anywhere.
"""

from __future__ import annotations

import re
import unicodedata

from nightgate.rows.redaction import credentials, may_hold_secret, redact_text

_READ = 4000
"""Characters that are looked at; a message shows far fewer."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_JOINERS = "\u200c\u200d"
"""Without them some scripts cannot be written; they hide nothing."""
_SWAPPED = str.maketrans(
    {
        "`": "'",
        "*": "∗",
        "~": "∼",
        "|": "¦",
        "\\": "∖",
        "@": "(at)",
        "＠": "(at)",
        "﹫": "(at)",
    }
)
_OPENING = re.compile(r"<(?! )")
_CLOSING = re.compile(r">(?! )|(?<! )>")
"""Between two spaces they compare numbers; else they may belong to a tag, a mention or a quote."""
_UNDERSCORE = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
"""At the edge of a word it starts slanted text; inside, it is part of a name."""
_ENTITY = re.compile(r"&(?=#?\w{1,31};)")
_MARKDOWN_LINK = re.compile(r"\]\s*(?=[(\[:])")
_SCHEME = re.compile(r":(?=[/∖]{2})")
_ACTING = re.compile(
    r"\b(mailto|tel|sms|javascript|data|vbscript|file|xmpp|skype|slack|msteams|callto):", re.IGNORECASE
)
_HOST = re.compile(
    r"(?<=[^\W_])\.(?=(?:com|net|org|info|biz|io|co|ai|app|dev|me|ly|gg|tv|xyz|top|site|online|shop|link|click"
    r"|live|cloud|zip|mov|eu|us|uk|de|fr|nl|it|es|ch|at|ru|cn|in|br|jp|test|example)\b)|(?<=\bwww)\.",
    re.IGNORECASE,
)
_PATH_HOST = re.compile(r"(?<=[^\W_])\.(?=[^\W\d_]{2,24}(?::\d{1,5})?/)")


def neutral(text: str, limit: int = 120) -> str:
    """One harmless line of ``text``, cut to ``limit`` characters.

    Args:
        text: Anything, of any length.
        limit: Characters of the result, at most.

    >>> neutral("ask @channel: <script> at https://evil.example/x")
    'ask (at)channel: ‹script› at https[:]//evil[.]example/x'
    """
    line = _stripped(text[:_READ])
    if may_hold_secret(line.encode("utf-8", "replace"), credentials()):
        line = redact_text(line)
    line = _CLOSING.sub("›", _OPENING.sub("‹", line.translate(_SWAPPED)))
    line = _ENTITY.sub("& ", line)
    line = _UNDERSCORE.sub("ˍ", line)
    line = _MARKDOWN_LINK.sub("] ", line)
    line = _ACTING.sub(r"\1[:]", _SCHEME.sub("[:]", line))
    line = _PATH_HOST.sub("[.]", _HOST.sub("[.]", line))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _stripped(text: str) -> str:
    """One line without anything that moves, hides or turns text."""
    kept = (_shown(char) for char in _ESCAPES.sub("", text))
    return " ".join("".join(kept).split())


def _shown(char: str) -> str:
    kind = unicodedata.category(char)
    if kind in ("Zl", "Zp", "Zs") or char in "\t\n\r\v\f\x85":
        return " "
    return "" if kind[0] == "C" and char not in _JOINERS else char
