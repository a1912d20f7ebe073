"""Reading the reply of a judge of ours: the one JSON object that is its own.

Owns what is forgiven (fences, comments, lines around it, thinking) and what is not (torn, doubled,
several that differ, copied from what the judge was shown). Knows no verdict.
"""

from __future__ import annotations

import json
import re
from typing import Any

AGAIN = "Your last reply to this could not be read. Reply with the JSON object and nothing else."
"""Added when an unusable reply is asked for again: at temperature 0 the same words bring the same reply."""

MAX_RAW = 4_000
"""Characters of an unusable reply that an error keeps."""

_ASIDE = re.compile(r"[\s\\]+")
"""Blanks, and the escapes of an object that stood inside another one's text: a copy is known without."""
_OPENING = re.compile(r"^[^\S\n]*(?:```[\w-]*[^\S\n]*)?(?=\{)", re.MULTILINE)


def only_object(raw: str, shown: str) -> tuple[dict[str, Any] | None, str]:
    """The one JSON object in a reply, or None and why there is none that counts.

    It begins a line. Inside a sentence it is a quotation, as of a verdict that the answer under
    judgement had planted, and decides nothing; neither does one that is copied from the data onto a
    line of its own, nor a draft inside ``<think>``.
    """
    objects: list[dict[str, Any]] = []
    text, position = _thought_over(raw.lstrip("\ufeff")), 0
    data = _ASIDE.sub("", shown)
    while opening := _OPENING.search(text, position):
        start = opening.end()
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            text, start = _without_comments(text[start:]), 0
            try:
                value, position = _DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                return None, "its JSON object is torn or no JSON"
        if _ASIDE.sub("", text[start:position]) in data:
            return None, "its JSON object is copied from what the judge was shown"
        objects.append(value)
    if not objects:
        return None, "no JSON object"
    if any(other != objects[0] for other in objects[1:]):
        return None, "several JSON objects that differ"
    return objects[0], ""


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
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|(?://|#)[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _without_comments(raw: str) -> str:
    """Drop comments and trailing commas outside of strings."""
    return _STRING_OR_COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else "", raw)
