"""The tree that a document is read into: text with positions, not yet typed.

Owns the one rule that makes ``no``, ``007`` and ``2026-11-29`` safe: a plain scalar keeps its source
text and resolves to a value of the YAML 1.2 core schema only where a value is due. Knows no file
format and no model of a suite. Imports the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INF = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = frozenset({".nan", ".NaN", ".NAN"})
_DIGITS_MAX = 1000
"""Longer numbers are refused: Python itself stops converting at 4,300 digits, with an exception."""

Core = str | int | float | bool | None


def resolve(source: str) -> Core:
    """The value of a plain scalar under the YAML 1.2 core schema.

    Raises:
        ValueError: If it is a number of more than 1,000 digits.

    >>> resolve("no"), resolve("0o17"), resolve("1_000"), resolve("~")
    ('no', 15, '1_000', None)
    """
    if source in _NULL:
        return None
    if source in _TRUE:
        return True
    if source in _FALSE:
        return False
    if source[0] not in "+-.0123456789":
        return source
    return _number(source)


def _number(source: str) -> Core:
    if source in _NAN:
        return float("nan")
    infinite = _INF.fullmatch(source)
    if infinite:
        return float("-inf") if infinite[1] == "-" else float("inf")
    for pattern, convert in (
        (_INT, int),
        (_OCTAL, lambda text: int(text, 0)),
        (_HEX, lambda text: int(text, 0)),
        (_FLOAT, float),
    ):
        if pattern.fullmatch(source):
            if len(source) > _DIGITS_MAX:
                raise ValueError(f"is a number of {len(source)} characters; quote it if text is meant")
            return convert(source)
    return source


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain scalar on its way to a typed field, which takes the source or the core value."""

    source: str

    @property
    def core(self) -> Core:
        """Value under the core schema."""
        return resolve(self.source)

    def __repr__(self) -> str:
        return self.source or "nothing"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A piece of text; ``plain`` if it was neither quoted, nor a block, nor tagged as text."""

    text: str
    plain: bool
    line: int
    column: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence of nodes."""

    items: tuple[Node, ...]
    line: int
    column: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a ``Table`` and the position of its key."""

    node: Node
    line: int
    column: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping from text to nodes; keys are source text."""

    entries: Mapping[str, Entry]
    line: int
    column: int | None
    repeated: frozenset[str] = frozenset()
    """Keys that were there again; the first value of each is the one in ``entries``."""


Node = Scalar | Listing | Table


@dataclass(slots=True)
class Extents:
    """How large and how deep nodes are once every alias is expanded, remembered by identity."""

    by_id: dict[int, tuple[int, int]] = field(default_factory=dict)

    def of(self, node: Node) -> tuple[int, int]:
        """Count of nodes and levels of ``node``; ``(1, 1)`` for a scalar."""
        if isinstance(node, Scalar):
            return 1, 1
        known = self.by_id.get(id(node))
        if known is None:
            children = (
                list(node.items)
                if isinstance(node, Listing)
                else [entry.node for entry in node.entries.values()]
            )
            extents = [self.of(child) for child in children]
            known = (1 + sum(size for size, _ in extents), 1 + max((deep for _, deep in extents), default=0))
            self.by_id[id(node)] = known
        return known


def to_value(node: Node) -> Any:
    """Plain Python data: ``dict``, ``list``, ``str``, and ``Plain`` for plain scalars."""
    if isinstance(node, Scalar):
        return Plain(node.text) if node.plain else node.text
    if isinstance(node, Listing):
        return [to_value(item) for item in node.items]
    return {key: to_value(entry.node) for key, entry in node.entries.items()}


def position(root: Node, loc: tuple[str | int, ...]) -> tuple[int, int | None]:
    """Line and column of what ``loc`` names below ``root``: a key's own position, an item's start.

    Parts that the document does not have (a missing key) give the position reached so far.
    """
    node, spot = root, (root.line, root.column)
    for part in loc:
        if isinstance(node, Table) and isinstance(part, str) and part in node.entries:
            entry = node.entries[part]
            node, spot = entry.node, (entry.line, entry.column)
        elif isinstance(node, Listing) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            spot = (node.line, node.column)
        else:
            break
    return spot


def repeated(node: Node) -> Iterator[tuple[str | int, ...]]:
    """Where below ``node`` a key was there again."""
    if isinstance(node, Table):
        for key in node.repeated:
            yield (key,)
        for key, entry in node.entries.items():
            yield from ((key, *loc) for loc in repeated(entry.node))
    elif isinstance(node, Listing):
        for i, item in enumerate(node.items):
            yield from ((i, *loc) for loc in repeated(item))


def describe(node: Node) -> str:
    """What a node is, for a sentence: ``a list``, ``a mapping``, ``text``, ``nothing``."""
    if isinstance(node, Listing):
        return "a list"
    if isinstance(node, Table):
        return "a mapping"
    return "nothing" if node.plain and not node.text else f"text {node.text[:60]!r}"
