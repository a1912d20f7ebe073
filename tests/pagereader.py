"""A page as a program reads it: its figures, its links, its words, and whatever should not be there."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from nightgate.reports.pages.figures import pointer

_INLINE = frozenset({"a", "bdi", "code", "data", "span", "strong", "sup", "time"})
_EMPTY = frozenset({"meta", "link", "br", "hr", "img", "input", "path", "rect", "circle"})


class Page(HTMLParser):
    """A page, read at once.

    Args:
        text: The page, or its bytes.
    """

    def __init__(self, text: str | bytes) -> None:
        super().__init__()
        self.figures: dict[str, set[str]] = {}
        """Path in the document -> values on the page."""
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        """Attributes that would run or load something, or that the policy forbids."""
        self.policy = ""
        self.words: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text.decode() if isinstance(text, bytes) else text)
        self.close()

    @classmethod
    def at(cls, path: Path) -> Page:
        """The page in a file."""
        return cls(path.read_bytes())

    @property
    def text(self) -> str:
        """All that a reader sees of the body."""
        return " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag says."""
        given = dict(attrs)
        if tag not in _INLINE:
            self.words.append(" ")
        self.tags.append(tag)
        if tag not in _EMPTY:
            self.open.append(tag)
        self.handlers += [
            name for name in given if name.startswith("on") or name in ("style", "src", "srcdoc", "action")
        ]
        if given.get("id") is not None:
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given.get("href")))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(given["content"])
        if given.get("data-figure") is not None:
            self.figures.setdefault(str(given["data-figure"]), set()).add(str(given["value"]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag without an end."""
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Hold it against what is open."""
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        """Words, apart from those of the head."""
        if "head" not in self.open:
            self.words.append(data)


def figures_of(document: Any, path: tuple[str | int, ...] = ()) -> dict[str, str]:
    """Every number of a JSON document by its path, written as a page has to write it."""
    found: dict[str, str] = {}
    if isinstance(document, dict):
        for key, value in document.items():
            found |= figures_of(value, (*path, key))
    elif isinstance(document, list):
        for position, value in enumerate(document):
            found |= figures_of(value, (*path, position))
    elif isinstance(document, int | float) and not isinstance(document, bool):
        found[pointer(path)] = repr(document)
    return found
