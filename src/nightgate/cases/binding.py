"""Node tree + model -> a checked object, or every problem of it with file, line, key and guess.

Owns the translation of pydantic's findings into our sentences. Knows no particular model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from nightgate.cases.nodes import Node, Plain, Table, describe, position, to_value
from nightgate.cases.problems import Problem, did_you_mean

ModelT = TypeVar("ModelT", bound=BaseModel)
Loc = tuple[str | int, ...]

_EXPECTED: Mapping[str, str] = {
    "string_type": "text",
    "string_sub_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "date_type": "a date such as 2026-11-29",
}


def bind(
    model: type[ModelT],
    node: Node,
    path: Path,
    *,
    about: str = "",
    forbidden: Iterable[str] = (),
    filled: Mapping[str, Any] | None = None,
) -> tuple[ModelT | None, list[Problem]]:
    """Check ``node`` against ``model``.

    Args:
        model: What it must be.
        node: What was read.
        path: For messages.
        about: Prefix of messages, such as ``case 'refund'``.
        forbidden: Fields of ``model`` that are no keys of a file.
        filled: Values for those fields.

    Returns:
        The object and no problems, or None and at least one.
    """
    prefix = f"{about}: " if about else ""
    if not isinstance(node, Table):
        message = f"{prefix}must be a mapping, not {describe(node)}"
        return None, [Problem(path=path, line=node.line, column=node.column, message=message)]
    hidden = frozenset(forbidden)
    known = [_key(name, info) for name, info in model.model_fields.items() if name not in hidden]
    problems = [
        Problem(
            path=path,
            line=entry.line,
            column=entry.column,
            message=f"{prefix}unknown key {key!r}{did_you_mean(key, known)}",
        )
        for key, entry in node.entries.items()
        if key in hidden
    ]
    data = {key: value for key, value in to_value(node).items() if key not in hidden}
    try:
        bound = model.model_validate({**data, **(filled or {})})
    except ValidationError as error:
        findings = error.errors(include_url=False)
        for finding in findings:
            loc = finding["loc"]
            # An item that was refused is not counted, so a list of one also seems to be too short.
            if finding["type"] == "too_short" and any(_below(other["loc"], loc) for other in findings):
                continue
            line, column = position(node, loc)
            message = f"{prefix}{_sentence(finding, model, loc, hidden)}"
            problems.append(Problem(path=path, line=line, column=column, message=message))
    return (None, problems) if problems else (bound, [])


def dotted(loc: Loc) -> str:
    """``("arguments", 0, "tool")`` -> ``arguments[0].tool``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _below(loc: Loc, parent: Loc) -> bool:
    return len(loc) > len(parent) and loc[: len(parent)] == parent


def _sentence(finding: Mapping[str, Any], model: type[BaseModel], loc: Loc, hidden: frozenset[str]) -> str:
    kind, given = finding["type"], finding["input"]
    if kind == "extra_forbidden":
        known = [key for key in _keys_at(model, loc[:-1]) if len(loc) > 1 or key not in hidden]
        parent = f" in {dotted(loc[:-1])}" if len(loc) > 1 else ""
        return f"unknown key {str(loc[-1])!r}{parent}{did_you_mean(str(loc[-1]), known)}"
    if kind == "missing":
        parent = f" in {dotted(loc[:-1])}" if len(loc) > 1 else ""
        return f"key {str(loc[-1])!r} is missing{parent}"
    start = f"{dotted(loc)}: " if loc else ""
    if kind == "value_error":
        return f"{start}{finding['ctx']['error']}"
    if kind == "literal_error":
        choices = [
            choice.strip("'") for choice in finding["ctx"]["expected"].replace(" or ", ", ").split(", ")
        ]
        word = given if isinstance(given, str) else _given(given)
        return f"{start}must be one of {', '.join(choices)}, not {word!r}{_guess(str(word), choices)}"
    if kind in _EXPECTED:
        hint = "; quote it if text is meant" if kind == "string_type" and isinstance(given, list) else ""
        return f"{start}must be {_EXPECTED[kind]}, not {_given(given)}{hint}"
    if kind == "too_short":
        return f"{start}must not be empty; leave the key out if nothing is meant"
    text = finding["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{start}must be {text}, not {_given(given)}"


def _guess(word: str, choices: list[str]) -> str:
    hint = did_you_mean(word, choices)
    return hint if "did you mean" in hint else ""


def _given(value: Any) -> str:
    if isinstance(value, Plain):
        return value.source or "nothing; leave the key out if nothing is meant"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"text {value[:60]!r}"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return repr(value)


def _key(name: str, info: Any) -> str:
    return info.alias or name


def _keys_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """Keys that the record at ``loc`` below ``model`` may have; empty where there is no record."""
    found: Any = model
    for part in loc:
        found = _step(_bare(found), part)
    found = _bare(found)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return [_key(name, info) for name, info in found.model_fields.items()]
    return []


def _step(annotation: Any, part: str | int) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, info in annotation.model_fields.items():
            if part == _key(name, info):
                return info.annotation
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) is tuple and arguments:
        return arguments[0]
    return arguments[1] if len(arguments) > 1 else None


def _bare(annotation: Any) -> Any:
    """``annotation`` without ``Annotated`` and without ``| None``."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            present = [argument for argument in get_args(annotation) if argument is not type(None)]
            annotation = present[0]
        else:
            return annotation if origin is not Literal else None
