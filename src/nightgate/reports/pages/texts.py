"""Long texts on a page: the beginning there, all of it in a file beside it.

Owns how much of a text a page shows, and the files for the rest. What a page holds stays bounded, whatever
an agent says: once a page has shown much, further texts are shortened more.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from nightgate.reports.pages.visible import visible

MOST_CHARS = 6_000
"""Of one text on a page."""
_MOST_ON_PAGE = 1_000_000
"""Characters after which a page shows only the first words of a text."""
_FIRST_WORDS = 400
_MARK = "\ufeff"
"""Says that a text file is UTF-8: a browser that opens it from a folder has nothing else to go by."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text as a page shows it."""

    shown: str
    more: int = 0
    """Characters that are not shown."""
    href: str | None = None
    """The file with all of it."""


class Texts:
    """The texts of one page.

    Args:
        stem: What the names of its files start with.
    """

    def __init__(self, stem: str) -> None:
        self._stem, self._spent = stem, 0
        self._names: dict[str, str] = {}
        self.files: list[tuple[str, bytes]] = []
        """Name and bytes of each file to put beside the page; whoever writes them may take them out."""

    def __call__(self, text: str | None, most: int = MOST_CHARS) -> Text | None:
        """A text, shortened where it is long; None for none.

        Args:
            text: Verbatim.
            most: Characters to show.
        """
        if text is None:
            return None
        most = most if self._spent < _MOST_ON_PAGE else min(most, _FIRST_WORDS)
        self._spent += min(len(text), most)
        if len(text) <= most:
            return Text(visible(text))
        return Text(visible(text[:most]), len(text) - most, self._file(text))

    def json(self, value: Any, most: int = MOST_CHARS) -> Text | None:
        """A JSON value, laid out for people; text as it is, None for None."""
        if value is None or isinstance(value, str):
            return self(value, most)
        return self(json.dumps(value, ensure_ascii=False, indent=1, default=str), most)

    def _file(self, text: str) -> str:
        """The name of the file that holds a text; the same text is written once."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if digest not in self._names:
            self._names[digest] = f"{self._stem}-{len(self._names) + 1}.txt"
            self.files.append((self._names[digest], (_MARK + visible(text)).encode()))
        return self._names[digest]
