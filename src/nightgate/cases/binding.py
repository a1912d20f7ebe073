"""Node tree + model -> a checked object, or every problem of it with file, line, key and guess.

Owns the translation of pydantic's findings into our sentences. Knows no particular model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from nightgate.cases.fields import WITHOUT_RULES, Breach, BreachError
from nightgate.cases.nodes import Node, Plain, Table, describe, position, repeated, to_value
from nightgate.cases.problems import Problem, did_you_mean, nearest

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


@dataclass(frozen=True, slots=True)
class Found(Generic[ModelT]):
    """What a node holds, as far as it fits its model."""

    value: ModelT | None
    """With problems: what is left once the wrong parts are out; None when nothing is."""
    problems: list[Problem]
    damaged: frozenset[Loc]
    """Parts that are not what was meant: wrong, misspelt (as it should be written) or there twice."""


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
    found = examine(model, node, path, about=about, forbidden=forbidden, filled=filled)
    return (None if found.problems else found.value), found.problems


def examine(
    model: type[ModelT],
    node: Node,
    path: Path,
    *,
    about: str = "",
    forbidden: Iterable[str] = (),
    filled: Mapping[str, Any] | None = None,
    stand_ins: Mapping[str, Any] | None = None,
) -> Found[ModelT]:
    """``bind`` that keeps what is right beside what is wrong, so that other checks can look at it.

    Args:
        model: As for ``bind``, like the others.
        node: What was read.
        path: For messages.
        about: Prefix of messages.
        forbidden: Fields of ``model`` that are no keys of a file.
        filled: Values for those fields.
        stand_ins: Values for required keys that are missing or wrong; that they are is a problem all
            the same.
    """
    prefix = f"{about}: " if about else ""
    if not isinstance(node, Table):
        message = f"{prefix}must be a mapping, not {describe(node)}"
        problem = Problem(path=path, line=node.line, column=node.column, message=message)
        return Found(None, [problem], frozenset())
    hidden = frozenset(forbidden)
    known = list(
        dict.fromkeys(_key(name, info) for name, info in model.model_fields.items() if name not in hidden)
    )
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
    reading = _Reading(model, hidden, set(repeated(node)))
    value = reading.read({**data, **(filled or {})}, stand_ins or {})
    for loc, sentence in reading.sentences:
        line, column = position(node, loc)
        problems.append(Problem(path=path, line=line, column=column, message=f"{prefix}{sentence}"))
    return Found(value, problems, frozenset(reading.damaged))


def dotted(loc: Loc) -> str:
    """``("arguments", 0, "tool")`` -> ``arguments[0].tool``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(slots=True)
class _Reading:
    """Takes wrong parts out, round by round, until the rest can be looked at."""

    model: type[BaseModel]
    hidden: frozenset[str]
    damaged: set[Loc]
    sentences: list[tuple[Loc, str]] = field(default_factory=list)

    def read(self, data: dict[str, Any], stand_ins: Mapping[str, Any]) -> Any:
        """The object that is left, or None; tells what is wrong with ``data``, which is used up."""
        context, first = None, True
        while True:
            try:
                return self.model.model_validate(data, context=context)
            except ValidationError as error:
                findings = error.errors(include_url=False)
            self.damaged.update(filter(None, map(self._meant, findings)))
            for finding in findings:
                self._tell(finding, findings, first=first)
            first = False
            targets = {_reached(data, finding["loc"]) for finding in findings} - {()}
            absent = {key: value for key, value in stand_ins.items() if key not in data}
            if not targets and not absent:
                # Rules of the whole record are no part to take out; the object can stand without them.
                if context is WITHOUT_RULES or any(_breaches(finding) is None for finding in findings):
                    return None
                context = WITHOUT_RULES
            for target in sorted(targets, key=_order, reverse=True):
                _take_out(data, target)
            data.update({key: value for key, value in stand_ins.items() if key not in data})

    def _meant(self, finding: Mapping[str, Any]) -> Loc:
        """The part that is damaged: of an unknown key the one that it stands for, else its record."""
        loc: Loc = finding["loc"]
        if finding["type"] != "extra_forbidden":
            return loc
        guess = nearest(str(loc[-1]), self._known(loc))
        return loc[:-1] if guess is None else (*loc[:-1], guess)

    def _known(self, loc: Loc) -> list[str]:
        return [key for key in _keys_at(self.model, loc[:-1]) if len(loc) > 1 or key not in self.hidden]

    def _tell(self, finding: Mapping[str, Any], all_: list[Any], *, first: bool) -> None:
        loc: Loc = finding["loc"]
        breaches = _breaches(finding)
        if breaches is not None:
            start = f"{dotted(loc)}: " if loc else ""
            for breach in breaches:
                if not any(self._is_damaged((*loc, key)) for key in breach.lacks):
                    self.sentences.append((loc, f"{start}{breach.message}"))
        # What fits no longer once wrong parts are out follows from them. An item that was refused is not
        # counted, so a list of one also seems to be too short.
        elif first and not (
            finding["type"] == "too_short" and any(_below(other["loc"], loc) for other in all_)
        ):
            self.sentences.append((loc, _sentence(finding, loc, self._known(loc))))

    def _is_damaged(self, part: Loc) -> bool:
        return any(loc[: len(part)] == part for loc in self.damaged)


def _breaches(finding: Mapping[str, Any]) -> tuple[Breach, ...] | None:
    error = finding["ctx"]["error"] if finding["type"] == "value_error" else None
    return error.breaches if isinstance(error, BreachError) else None


def _reached(data: Any, loc: Loc) -> Loc:
    """As much of ``loc`` as ``data`` has: what must go for the finding there to go."""
    for i, part in enumerate(loc):
        there = part in data if isinstance(data, dict) else isinstance(data, list) and _is_index(part, data)
        if not there:
            return loc[:i]
        data = data[part]
    return loc


def _is_index(part: str | int, items: list[Any]) -> bool:
    return isinstance(part, int) and part < len(items)


def _take_out(data: Any, loc: Loc) -> None:
    for part in loc[:-1]:
        data = data[part]
    del data[loc[-1]]


def _order(loc: Loc) -> list[tuple[int, str]]:
    """Sorts items of one list by position, and what lies in a record behind the record."""
    return [(part, "") if isinstance(part, int) else (-1, part) for part in loc]


def _below(loc: Loc, parent: Loc) -> bool:
    return len(loc) > len(parent) and loc[: len(parent)] == parent


def _sentence(finding: Mapping[str, Any], loc: Loc, known: list[str]) -> str:
    kind, given = finding["type"], finding["input"]
    if kind == "extra_forbidden":
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
    return info.validation_alias or name


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
