"""Types of single fields: which of a scalar's two readings each one takes, and its bounds.

Owns the conversion of ``Plain`` scalars. Every model of this package is built from these types, so a
text field gets the source (``no``, ``007``) and a figure gets the core value. Values that come from
Python code pass through the same checks.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationInfo,
    model_validator,
)

from nightgate.cases.nodes import Plain
from nightgate.cases.specs import parse_spec
from nightgate.patterns import Pattern

_DECIMAL = re.compile(r"\d+(\.\d*)?|\.\d+")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FACTORY = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_NOTHING = 'nothing is written here; write a value, "" for an empty text, or leave the key out'

ANY_SCALAR: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
"""Schema of text for editors: what looks like a number to them is text to us."""
NUMERIC: dict[str, Any] = {"type": ["number", "string"]}


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The schema of a field for editors; pydantic's own marker costs an import of 20 ms."""

    schema: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return dict(self.schema)


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule that the parts of a record break together."""

    message: str
    lacks: tuple[str, ...] = ()
    """Keys of which any one would mend it; a misspelt one of them is told as that alone."""


class BreachError(ValueError):
    """A record breaks rules; carries all of them."""

    def __init__(self, breaches: Iterable[Breach]) -> None:
        self.breaches = tuple(breaches)
        super().__init__("; ".join(breach.message for breach in self.breaches))


WITHOUT_RULES: Mapping[str, bool] = {"rules": False}
"""Validation context in which rules are not looked at."""


class Record(BaseModel):
    """Base of everything that people write: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def breaches(self) -> Iterator[Breach]:
        """Every rule across its own parts that it breaks."""
        return iter(())

    @model_validator(mode="after")
    def _keeps_its_rules(self, info: ValidationInfo) -> Self:
        breaches = () if info.context is WITHOUT_RULES else tuple(self.breaches())
        if breaches:
            raise BreachError(breaches)
        return self


def _text(value: Any) -> Any:
    if isinstance(value, Plain):
        if not value.source:
            raise ValueError(_NOTHING)
        return value.source
    return value


def _source(value: Any) -> Any:
    return value.source if isinstance(value, Plain) else value


def _core(value: Any) -> Any:
    if isinstance(value, Plain):
        if value.core is None:
            raise ValueError("nothing is written here; write a value or leave the key out")
        return value.core
    return value


def _not_empty(value: str) -> str:
    if not value:
        raise ValueError("must not be empty")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def compile_problem(pattern: Any) -> str | None:
    """Why ``pattern`` is no regular expression; None when it is one."""
    if not isinstance(pattern, str):
        return f"must be text, not {pattern!r}"
    try:
        Pattern(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"{pattern!r} is no regular expression: {error}"
    return None


def _regex(value: str) -> str:
    problem = compile_problem(value)
    if problem is not None:
        raise ValueError(problem)
    return value


def _decimal_source(value: Any) -> str:
    """Source text of a number, for comparisons without a float in between."""
    if isinstance(value, Plain):
        value = value.source
    elif isinstance(value, bool):
        value = repr(value)
    elif isinstance(value, int | float | Decimal):
        value = format(Decimal(repr(value) if isinstance(value, float) else value), "f")
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value) or not value.isascii():
        raise ValueError(f"must be a decimal number such as 0.85, not {value!r}")
    return value


def _share(value: Any) -> str:
    text = _decimal_source(value)
    if Decimal(text) > 1:
        raise ValueError(f"must lie in [0, 1], not {text}; 85% is written 0.85")
    return text


def _money(value: Any) -> Decimal:
    return Decimal(_decimal_source(value))


def json_value(value: Any) -> Any:
    """JSON data under the core schema: finite numbers, text keys, lists for sequences."""
    if isinstance(value, Plain):
        value = value.core
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("numbers must be finite: no .nan and no .inf; quote it if text is meant")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"keys must be text, not {key!r}")  # noqa: TRY004 - pydantic wants ValueError
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    raise ValueError(f"must be a JSON value, not {type(value).__name__}")


def _date(value: Any) -> dt.date:
    """A day as people and rows write it; ISO 8601 has more forms, and a number would be a time stamp."""
    if isinstance(value, Plain):
        value = value.source
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value):
        with contextlib.suppress(ValueError):  # there is no 31 November
            return dt.date.fromisoformat(value)
    raise ValueError(f"must be a date such as 2026-11-29, not {value!r}")


def _factory(value: str) -> str:
    if not _FACTORY.fullmatch(value):
        raise ValueError(f"must be module:name, such as my_agents.support:build, not {value!r}")
    return value


def _spec(value: str) -> str:
    parse_spec(value)
    return value


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str | Plain) else value


_FIGURE = BeforeValidator(_core)
CHOICE = BeforeValidator(_source)
"""For literals: the word as it is written."""

Text = Annotated[str, Strict(), BeforeValidator(_text), Shown(ANY_SCALAR)]
"""Any text, kept as it is written; may be "" where that is written."""
Name = Annotated[Text, AfterValidator(_not_blank)]
"""Text that is not blank."""
Id = Annotated[Text, AfterValidator(_not_empty)]
"""Any text but the empty one, kept verbatim."""
Names = tuple[Name, ...]
OneOrMore = Annotated[
    tuple[Name, ...],
    BeforeValidator(_one_or_many),
    Shown({"anyOf": [ANY_SCALAR, {"type": "array", "items": ANY_SCALAR}]}),
]
Regex = Annotated[Name, AfterValidator(_regex)]
Regexes = tuple[Regex, ...]
Factory = Annotated[Text, AfterValidator(_factory)]
Spec = Annotated[Text, AfterValidator(_spec)]
Flag = Annotated[bool, Strict(), _FIGURE]
Count = Annotated[int, Strict(), _FIGURE, Field(ge=0)]
Whole = Annotated[int, Strict(), _FIGURE, Field(ge=1)]
Trials = Annotated[int, Strict(), _FIGURE, Field(ge=1, le=10_000)]
"""More are a slip of the keyboard: the grid is planned in memory."""
Seconds = Annotated[float, Strict(), _FIGURE, Field(gt=0, allow_inf_nan=False)]
Delay = Annotated[float, Strict(), _FIGURE, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[str, BeforeValidator(_share), Shown(NUMERIC)]
"""A decimal in [0, 1] as the text that was written."""
Money = Annotated[Decimal, BeforeValidator(_money), Shown(NUMERIC)]
"""US dollars, exact."""
Day = Annotated[dt.date, BeforeValidator(_date), Shown({"type": "string", "format": "date"})]
Json = Annotated[Any, BeforeValidator(json_value)]
JsonObject = Annotated[Mapping[str, Any], BeforeValidator(json_value), Shown({"type": "object"})]
