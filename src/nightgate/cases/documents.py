"""YAML and JSONL text -> node trees with positions: strict, bounded, every refusal with its line.

Owns what counts as readable: UTF-8, YAML 1.2, one document, each key once, bounded depth and
expansion. Knows nothing of suites. ruamel.yaml is imported on the first read, not with the module.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from nightgate.cases.encoding import decoded
from nightgate.cases.nodes import Entry, Extents, Listing, Node, Plain, Scalar, Table, repeated
from nightgate.cases.problems import Problem, SuiteError

MAX_DEPTH = 100
"""Levels of nesting; people write fewer than ten."""
MAX_EXPANDED = 100_000
"""Nodes that aliases may add to one file."""
MAX_BYTES = 64 * 1024 * 1024
"""Of one file; ruamel needs about 2 s a megabyte, so more is a mistake."""

_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ODD_BREAKS = "\x85\u2028\u2029"
"""Breaks to YAML 1.1 and to ruamel's scanner, plain characters to YAML 1.2."""
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_TAG_PREFIX = "tag:yaml.org,2002:"


def read_text(path: Path) -> str:
    """The file's text.

    Raises:
        SuiteError: If it is missing, no UTF-8, has characters that text cannot have, or is a Git LFS
            pointer.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            _refuse(path, 0, f"is larger than {MAX_BYTES} bytes; split it")
        data = path.read_bytes()
    except OSError as error:
        _refuse(path, 0, f"cannot be read: {error.strerror or error}")
    text = decoded(data, functools.partial(_refuse, path))
    bad = _UNREADABLE.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        _refuse(path, line, f"holds the control character U+{ord(bad[0]):04X}; remove it or write it escaped")
    return text


@dataclass(frozen=True, slots=True)
class Document:
    """What was read, with problems that leave the rest of it readable: keys that are there twice."""

    root: Node | None
    """None when nothing but comments is in it, or when a line of JSONL could not be read."""
    problems: tuple[Problem, ...] = ()


def read_yaml(path: Path) -> Node | None:
    """The one document of a YAML file; None when nothing but comments is in it.

    Raises:
        SuiteError: With every repeated key, or the first other problem; after a syntax error the rest
            means nothing.
    """
    return parse_yaml(read_text(path), path)


def parse_yaml(text: str, path: Path) -> Node | None:
    """``read_yaml`` of text that is already there; ``path`` is for messages."""
    document = parse_document(text, path)
    if document.problems:
        raise SuiteError(document.problems)
    return document.root


def read_document(path: Path) -> Document:
    """``read_yaml`` that goes on after a repeated key, so that what follows it is found as well.

    Raises:
        SuiteError: If the file cannot be read to its end.
    """
    return parse_document(read_text(path), path)


def parse_document(text: str, path: Path) -> Document:
    """``read_document`` of text that is already there."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    stand_ins = _stand_ins(text)
    for odd, stand_in in stand_ins:
        text = text.replace(odd, stand_in)
    composer = _Composer(path, stand_ins)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            composer.feed(event)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, None)
        _refuse(path, line, _syntax_message(error), column, composer.problems)
    except SuiteError as error:
        raise SuiteError([*composer.problems, *error.problems]) from None
    except (YAMLError, ValueError, RecursionError, AssertionError) as error:
        # ruamel raises bare errors on a few malformed directives and escapes; none may escape as a traceback.
        message = f"is no YAML: {' '.join(str(error).split()) or type(error).__name__}"
        _refuse(path, 1, message, None, composer.problems)
    return Document(composer.root, tuple(composer.problems))


def read_jsonl(path: Path) -> Iterator[Document]:
    """One document a line, blank lines skipped; a line that is no JSON has a problem and no root.

    Raises:
        SuiteError: If the file as a whole cannot be read.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield _json_line(line.removesuffix("\r"), path, number)


def _json_line(line: str, path: Path, number: int) -> Document:
    decoder = json.JSONDecoder(
        object_pairs_hook=_first_kept, parse_int=Plain, parse_float=Plain, parse_constant=_no_constant
    )
    root, column = None, None
    try:
        root = _json_node(decoder.decode(line), number, 1)
    except json.JSONDecodeError as error:
        column, message = error.colno, f"is no JSON: {error.msg}"
    except RecursionError:
        message = f"is nested deeper than {MAX_DEPTH} levels"
    except ValueError as error:
        message = str(error)
    if root is None:
        return Document(None, (Problem(path=path, line=number, column=column, message=message),))
    twice = (f"key {loc[-1]!r} is there twice; keep one of them" for loc in repeated(root))
    return Document(root, tuple(Problem(path=path, line=number, message=text) for text in twice))


class _Object(dict[str, Any]):
    """A JSON object with the keys that were there again."""

    repeated: frozenset[str] = frozenset()


def _first_kept(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object()
    for key, value in pairs:
        found.setdefault(key, value)
    counts = Counter(key for key, _ in pairs)
    found.repeated = frozenset(key for key in counts if counts[key] > 1)
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _json_node(value: Any, line: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise ValueError(f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, _Object):
        entries = {
            _whole(key): Entry(_json_node(item, line, depth + 1), line, None) for key, item in value.items()
        }
        return Table(entries, line, None, frozenset(_whole(key) for key in value.repeated))
    if isinstance(value, list):
        return Listing(tuple(_json_node(item, line, depth + 1) for item in value), line, None)
    if isinstance(value, str):
        return Scalar(_whole(value), plain=False, line=line, column=None)
    if isinstance(value, Plain):
        return Scalar(value.source, plain=True, line=line, column=None)
    return Scalar({True: "true", False: "false", None: "null"}[value], plain=True, line=line, column=None)


def _whole(text: str) -> str:
    """``text`` with escaped surrogate pairs joined; a lone surrogate can be stored nowhere."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("holds half a surrogate pair; write the whole character") from None


def _stand_ins(text: str) -> list[tuple[str, str]]:
    """Private-use characters, free in ``text``, to carry the odd breaks through the scanner."""
    odd = [char for char in _ODD_BREAKS if char in text]
    free = (chr(code) for code in range(0xE000, 0xF900) if chr(code) not in text)
    return list(zip(odd, free, strict=False))


def _syntax_message(error: Any) -> str:
    problem = " ".join(str(error.problem or error.context or error).split())
    hints = {
        "mapping values are not allowed here": "quote the text if it holds a colon and a space",
        "found character '\\t' that cannot start any token": "use spaces, not a tab",
        "found unexpected end of stream": "a quote or bracket is not closed",
    }
    hint = hints.get(problem)
    if hint is None and "expected <block end>" in problem:
        hint = "check the indentation and quotes of this line"
    if hint is None and "cannot start any token" in problem:
        hint = "quote the text"
    return f"is no YAML 1.2: {problem}" + (f"; {hint}" if hint else "")


def _refuse(
    path: Path, line: int, message: str, column: int | None = None, earlier: Sequence[Problem] = ()
) -> NoReturn:
    raise SuiteError([*earlier, Problem(path=path, line=line, column=column, message=message)])


@dataclass(slots=True)
class _Open:
    """A collection whose end is still to come."""

    event: Any
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] | None = None
    key: tuple[str, int, int] | None = None
    repeated: set[str] = field(default_factory=set)


class _Composer:
    """Builds the tree from parser events, without recursion, so that depth is ours to bound."""

    def __init__(self, path: Path, stand_ins: list[tuple[str, str]]) -> None:
        self.path = path
        self._stand_ins = stand_ins
        self._stack: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        self._extents = Extents()
        self._added = 0
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._documents = 0

    def feed(self, event: Any) -> None:
        """Take the next event of the stream."""
        kind = type(event).__name__
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                _refuse(self.path, line, "holds a second document; keep one a file")
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._check_tag(event, line, "map" if kind == "MappingStartEvent" else "seq")
            if len(self._stack) >= MAX_DEPTH:
                _refuse(self.path, line, f"is nested deeper than {MAX_DEPTH} levels")
            if event.anchor:
                self._anchors[event.anchor] = None
            self._stack.append(_Open(event, entries={} if kind == "MappingStartEvent" else None))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._close()
        elif kind == "ScalarEvent":
            self._place(self._scalar(event, line, column), event.anchor, line, column)
        elif kind == "AliasEvent":
            self._place(self._alias(event.anchor, line), None, line, column)

    def _close(self) -> None:
        done = self._stack.pop()
        mark = done.event.start_mark
        line, column = mark.line + 1, mark.column + 1
        node: Node = (
            Listing(tuple(done.items), line, column)
            if done.entries is None
            else Table(done.entries, line, column, frozenset(done.repeated))
        )
        self._place(node, done.event.anchor, line, column)

    def _scalar(self, event: Any, line: int, column: int) -> Scalar:
        text = event.value
        for odd, stand_in in self._stand_ins:
            text = text.replace(stand_in, odd)
        try:
            text = _whole(text)
        except ValueError as error:
            _refuse(self.path, line, str(error), column)
        plain = event.style is None and event.tag is None
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            name = event.tag.removeprefix(_TAG_PREFIX)
            if not event.tag.startswith(_TAG_PREFIX) or name not in ("int", "float", "bool", "null"):
                _refuse(self.path, line, f"tag {event.tag!r} is not supported; write the value", column)
            plain = True
        return Scalar(text, plain, line, column)

    def _check_tag(self, event: Any, line: int, kind: str) -> None:
        if event.tag not in (None, "!", _TAG_PREFIX + kind):
            _refuse(self.path, line, f"tag {event.tag!r} is not supported; write the value")

    def _alias(self, name: str, line: int) -> Node:
        if name not in self._anchors:
            _refuse(self.path, line, f"alias *{name} has no anchor &{name} before it")
        node = self._anchors[name]
        if node is None:
            _refuse(self.path, line, f"alias *{name} lies inside of what it stands for")
        size, depth = self._extents.of(node)
        self._added += size
        if self._added > MAX_EXPANDED:
            _refuse(self.path, line, f"aliases stand for more than {MAX_EXPANDED} values; write fewer")
        if len(self._stack) + depth > MAX_DEPTH:
            _refuse(self.path, line, f"is nested deeper than {MAX_DEPTH} levels")
        return node

    def _place(self, node: Node, anchor: str | None, line: int, column: int) -> None:
        if anchor:
            self._anchors[anchor] = node
        if not self._stack:
            self.root = node if not (isinstance(node, Scalar) and node.plain and not node.text) else None
            return
        top = self._stack[-1]
        if top.entries is None:
            top.items.append(node)
        elif top.key is None:
            top.key = self._key(node, top, line, column)
        else:
            name, key_line, key_column = top.key
            top.entries.setdefault(name, Entry(node, key_line, key_column))
            top.key = None

    def _key(self, node: Node, top: _Open, line: int, column: int) -> tuple[str, int, int]:
        if not isinstance(node, Scalar):
            _refuse(self.path, line, "a key must be text", column)
        if node.plain and node.text == "<<":
            _refuse(self.path, line, "merge keys (<<) are not YAML 1.2; write the keys out", column)
        first = (top.entries or {}).get(node.text)
        if first is not None:
            message = f"key {node.text!r} is there twice, first on line {first.line}"
            self.problems.append(Problem(path=self.path, line=line, column=column, message=message))
            top.repeated.add(node.text)
        return node.text, line, column
