"""Reading the reply of a judge of ours: the one JSON object that is its own.

Owns what is forgiven (fences, comments, words before the object, a remark behind it, thinking) and
what is not (torn, doubled, several that differ, copied from what the judge was shown, talk behind
it). Knows no verdict's meaning.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

AGAIN = "Your last reply to this could not be read. Reply with the JSON object and nothing else."
"""Added when an unusable reply is asked for again: at temperature 0 the same words bring the same reply."""

MAX_RAW = 4_000
"""Characters of an unusable reply that an error keeps."""
_MAX_REMARK = 300
"""Characters behind the object, comments and fences aside: more is an argument that may end elsewhere."""
_MOST_BRACES = 200
"""Braces and objects after which a reply is given up: each is read, and the reply may be long."""

_PAIR = ("verdict", "reason")
"""Keys that make a copy by themselves, whatever the judge wrote beside them."""
_OPENING = re.compile(r"[^\S\n]*(?:```[\w-]*[^\S\n]*)?(?=\{)")
_BETWEEN = re.compile(r"[\s,;`]*")
_FENCE_OR_COMMENT = re.compile(r"```[\w-]*|(?<![:/])//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def only_object(raw: str, shown: str) -> tuple[dict[str, Any] | None, str]:
    """The one JSON object in a reply, or None and why there is none that counts.

    It begins a line, or stands directly behind another one. Inside a sentence it is a quotation, as of
    a verdict that the answer under judgement had planted, and decides nothing; but one that is no
    quotation and says something else makes the reply unusable. Neither counts one that is copied from
    the data, in whatever spacing, order of keys, escapes or punctuation, nor a draft inside
    ``<think>``. Whether a remark behind the object takes it back, no code can tell: it is forgiven up
    to 300 characters, and more of it makes the reply unusable.
    """
    text = _thought_over(raw.lstrip("\ufeff"))
    objects: list[dict[str, Any]] = []
    asides: list[dict[str, Any]] = []
    position, end, tried = 0, -1, 0
    while (start := text.find("{", position)) >= 0:
        if tried > _MOST_BRACES:
            return None, "too many braces to find its JSON object by"
        own = _begins_line(text, start) or (end >= 0 and _BETWEEN.fullmatch(text, end, start) is not None)
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            if not own:
                position, tried = start + 1, tried + 1
                continue
            text, start = _without_comments(text[start:]), 0
            try:
                value, position = _DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                return None, "its JSON object is torn or no JSON"
        if own:
            objects.append(value)
            end = position
        else:
            asides.append(value)
        tried += 1
    if not objects:
        return None, "no JSON object"
    return _the_one(objects, asides, text[end:], shown)


def _the_one(
    objects: list[dict[str, Any]], asides: list[dict[str, Any]], behind: str, shown: str
) -> tuple[dict[str, Any] | None, str]:
    first, data = objects[0], _Data(shown)
    if any(other != first for other in objects[1:]):
        return None, "several JSON objects that differ"
    pair = {key: first[key] for key in _PAIR if isinstance(first.get(key), str)}
    if data.holds(first) or (len(pair) == len(_PAIR) and data.holds(pair)):
        return None, "its JSON object is copied from what the judge was shown"
    rivals = (found for found in asides if found != first and found.keys() & first.keys())
    if any(not data.holds(found) for found in rivals):
        return None, "several JSON objects that differ"
    if len(" ".join(_FENCE_OR_COMMENT.sub(" ", behind).split())) > _MAX_REMARK:
        return None, "more behind its JSON object than a remark"
    return first, ""


def _begins_line(text: str, start: int) -> bool:
    opening = _OPENING.match(text, text.rfind("\n", 0, start) + 1)
    return opening is not None and opening.end() == start


# --- copies ---

_UNICODE_ESCAPE = re.compile(r"(?<!\\)\\++u([0-9a-fA-F]{4})")
_SIGN_ESCAPE = re.compile(r"(?<!\\)\\++[nrtbf]")
_KEY = re.compile(r"""["'“”„‘’]([^"'“”„‘’\\\n]{1,64})\\*+["'“”„‘’]\s*+:""")
_ASIDE = re.compile(r"[\s\\]+")
_NO_WORD = re.compile(r"[^\w\x01]|_")
_MARK = "\x01"
"""Stands before and behind each key in a form, where no text can have it."""


class _Data:
    """What a judge was shown, in the form in which copies are looked for."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._words: str | None = None
        self._signs = ""

    def holds(self, found: dict[str, Any]) -> bool:
        """Whether each key of an object stands in the data with the same value.

        Texts are the same but for case, blanks, escapes and punctuation. The planted object may say
        more than the copy, and say it in another order.
        """
        if self._words is None:
            plain = _unescaped(self._shown)
            self._signs = _ASIDE.sub("", plain).replace("'", '"')
            self._words = _words(_KEY.sub(lambda key: f"{_MARK}{key[1]}{_MARK}", plain))
        leaves = _leaves(found)
        return bool(leaves) and all(self._has(key, value) for key, value in leaves)

    def _has(self, key: str | None, value: Any) -> bool:
        words = self._words or ""
        if isinstance(value, str):
            before = "" if key is None else f"{_MARK}{_words(key)}{_MARK}"
            return f"{before}{_words(value)}" in words
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        written = json.dumps(value if key is None else {key: value}, ensure_ascii=False)
        written = _ASIDE.sub("", written if key is None else written[1:-1])
        return re.search(rf"{re.escape(written)}(?:\.0+)?(?![\d.])", self._signs, re.IGNORECASE) is not None


def _unescaped(text: str) -> str:
    """Text without the escapes that JSON put into it, however often."""
    return _SIGN_ESCAPE.sub(" ", _UNICODE_ESCAPE.sub(lambda code: chr(int(code[1], 16)), text))


def _words(text: str) -> str:
    """Letters and digits, and the marks around keys."""
    return _NO_WORD.sub("", unicodedata.normalize("NFKC", _unescaped(text)).casefold())


def _leaves(found: dict[str, Any]) -> list[tuple[str | None, Any]]:
    """What has to stand in the data for a copy: each key with its value; items of lists without a key."""
    leaves: list[tuple[str | None, Any]] = []
    waiting: list[tuple[str | None, Any]] = [(None, found)]
    while waiting:
        key, part = waiting.pop()
        if isinstance(part, dict) and part:
            waiting += part.items()
        elif isinstance(part, list) and part:
            leaves.append((key, ""))  # the key alone
            waiting += [(None, item) for item in part]
        elif part is not None:  # null says no more than a key that is not there
            leaves.append((key, part))
    return leaves


# --- JSON as models write it ---


def _thought_over(raw: str) -> str:
    """The reply without the thinking that some models put in front of it."""
    return raw.partition("</think>")[2] if raw.lstrip().startswith("<think>") else raw


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once: of two verdicts neither counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)
_STRING_OR_COMMENT = re.compile(
    r'"(?:\\.|[^"\\])*+(?:"|\\?\Z)|(?://|#)[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])', re.DOTALL
)
"""What is not closed goes to the end: tried again from each of its signs, it would take the square of it."""


def _without_comments(raw: str) -> str:
    """Drop comments and trailing commas outside of strings."""
    return _STRING_OR_COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else "", raw)
