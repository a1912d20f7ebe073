"""Data -> YAML that the case loader reads back as the very same data.

Owns how texts are quoted. A text is written plain only where no reader could take it for anything
else; in ``ruamel``'s own choice ``1.`` or ``~`` may stay bare. ruamel.yaml is imported on first use.
"""

from __future__ import annotations

import functools
import io
import json
import math
import re
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 80
"""Levels of data that are written; the loader reads 100 with those of the case around it."""
_MAX_DIGITS = 1000
_FLOW_CHARS = 100
"""Data that is longer as JSON goes over several lines."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:[ ][A-Za-z0-9_-]+)*")
_SENTENCE = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ',.;()?!/-]*[A-Za-z0-9.?!)])?")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_BLOCK_LINE = re.compile("[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*")


def unstorable(value: Any) -> str | None:
    """Why a case file cannot hold this JSON value; None when it can."""
    try:
        return _unstorable(value, MAX_DEPTH)
    except RecursionError:
        return "is nested too deeply"


def _unstorable(value: Any, depth: int) -> str | None:
    if depth < 0:
        return "is nested too deeply"
    if isinstance(value, float) and not math.isfinite(value):
        return f"holds {value}, which JSON has no word for"
    if isinstance(value, int) and abs(value) >= 10 ** (_MAX_DIGITS - 1):
        return "holds a number of a thousand digits"
    items: list[Any] = []
    if isinstance(value, Mapping):
        items = list(value.values())
    elif isinstance(value, list):
        items = value
    return next((why for item in items if (why := _unstorable(item, depth - 1)) is not None), None)


def words(text: str) -> Any:
    """A text for people: plain, a block of lines, or quoted.

    A block never holds a line that begins with ``#``: it would look like a remark.
    """
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    if _SENTENCE.fullmatch(text) and text.lower() not in _WORDS:
        return text
    lines = text.split("\n")
    if len(lines) > 1 and all(_is_block_line(line) for line in lines):
        return LiteralScalarString(text)
    return DoubleQuotedScalarString(text)


def _is_block_line(line: str) -> bool:
    return (
        bool(line)
        and not line[0].isspace()
        and not line[-1].isspace()
        and not line.startswith(("#", "---", "..."))
        and _BLOCK_LINE.fullmatch(line) is not None
    )


def data(value: Any) -> Any:
    """A JSON value, short ones in one line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return DoubleQuotedScalarString(value)
    if isinstance(value, Mapping):
        found: Any = CommentedMap((data(str(key)), data(item)) for key, item in value.items())
    elif isinstance(value, list | tuple):
        found = CommentedSeq(data(item) for item in value)
    else:
        return value
    if not value or len(json.dumps(value, ensure_ascii=False, default=str)) <= _FLOW_CHARS:
        found.fa.set_flow_style()
    return found


def yaml_lines(value: Any) -> list[str]:
    """YAML of a mapping whose texts went through ``words`` or ``data``; lines without their ends."""
    stream = io.StringIO()
    _writer().dump(value, stream)
    return stream.getvalue().rstrip("\n").split("\n")


@functools.cache
def _writer() -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        """Writes null where ruamel leaves the place empty."""

    Representer.add_representer(
        type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    writer = YAML()
    writer.Representer = Representer
    writer.width = 1 << 30  # a folded text would be another text inside of a comment
    writer.indent(mapping=2, sequence=4, offset=2)
    return writer
