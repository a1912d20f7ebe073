"""Price files: what people write, checked line by line, and the prices that it means.

Owns the form of ``prices.yaml`` and of the user's files. Which line holds for which model is
``table``'s. Knows no provider's library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator

from nightgate.cases.binding import bind
from nightgate.cases.documents import read_yaml
from nightgate.cases.fields import CHOICE, Breach, Day, Money, Name, OneOrMore, Record, Whole
from nightgate.cases.nodes import Listing, Node, Plain, Table, describe
from nightgate.cases.problems import Problem, SuiteError
from nightgate.cases.specs import SCHEMES
from nightgate.prices.costs import KINDS, LongContext, Price, scaled

TIER: Final = "?service_tier="
_CACHES: Final = KINDS[2:]
_UNKNOWN = frozenset({"null", "~"})
_GEOGRAPHIC = re.compile(r"(us-gov|apac|[a-z]{2})\..+")
"""Profiles of a continent or a country: ``us.``, ``eu.``, ``jp.``..."""

Region = Literal["global", "geographic", "in-region"]


def _null(value: Any) -> Any:
    return None if isinstance(value, Plain) and value.source in _UNKNOWN else value


Rate = Annotated[Money | None, BeforeValidator(_null)]
"""Dollars per million tokens; null where it is written: nobody told it."""


class _Caches(Record):
    cache_read: Rate = None
    cache_write: Rate = None
    cache_write_1h: Rate = None


class _Long(_Caches):
    above: Whole
    input: Rate
    output: Rate


class _Batch(_Caches):
    """The factor on list price, and rates of cached tokens that do not follow it."""

    factor: Money
    as_of: Day
    source: Name

    def breaches(self) -> Iterator[Breach]:
        """A queue that costs nothing, or more than an answer at once, is a slip."""
        if not 0 < self.factor <= 1:
            yield Breach(f"factor {self.factor} must be above 0 and at most 1; half the list price is 0.5")


class _Line(_Caches):
    models: tuple[Name, ...]
    service_tier: OneOrMore = ()
    region: Annotated[Region, CHOICE] | None = None
    input: Money
    output: Money
    long: _Long | None = None
    batch: _Batch | None = None
    as_of: Day
    source: Name


class _Header(Record):
    version: Name


@dataclass(frozen=True, slots=True)
class Entry:
    """A pattern with its price."""

    pattern: str
    price: Price

    @property
    def glob(self) -> str:
        """The pattern of ``scheme:id``."""
        return self.pattern.partition(TIER)[0]

    @property
    def tier(self) -> str:
        """The service tier that it is for; "" for the default."""
        return self.pattern.partition(TIER)[2]


@dataclass(frozen=True, slots=True)
class PriceFile:
    """What a file says."""

    entries: tuple[Entry, ...]
    version: str


def read_prices(path: Path) -> PriceFile:
    """The lines of a price file.

    Raises:
        SuiteError: With every problem of the file, each with its line.
    """
    root = read_yaml(path)
    if not isinstance(root, Table):
        what = "is empty" if root is None else f"must be a mapping, not {describe(root)}"
        raise SuiteError([Problem(path=path, line=1, message=f"{what}; a price file has version and prices")])
    header, problems = bind(_Header, _without(root, "prices"), path)
    listing = root.entries.get("prices")
    entries: list[Entry] = []
    if listing is None or not isinstance(listing.node, Listing):
        line = root.line if listing is None else listing.line
        problems.append(Problem(path=path, line=line, message="prices must be a list of prices"))
    else:
        _collect(listing.node.items, path, entries, problems)
    if problems or header is None:
        raise SuiteError(problems)
    return PriceFile(tuple(entries), header.version)


def region_of(model_id: str) -> Region:
    """Where Bedrock may run a model, which its price depends on, by the id's prefix.

    >>> region_of("global.acme.m-1"), region_of("eu.acme.m-1"), region_of("acme.m-1")
    ('global', 'geographic', 'in-region')
    """
    if model_id.startswith("global."):
        return "global"
    return "geographic" if _GEOGRAPHIC.fullmatch(model_id) else "in-region"


def _without(root: Table, key: str) -> Table:
    rest = {name: entry for name, entry in root.entries.items() if name != key}
    return Table(rest, root.line, root.column)


def _collect(items: Iterable[Node], path: Path, entries: list[Entry], problems: list[Problem]) -> None:
    seen: dict[str, int] = {}
    for number, node in enumerate(items):
        about = f"prices[{number}]"
        line, found = bind(_Line, node, path, about=about)
        problems += found
        if line is None:
            continue
        if not line.models:
            problems.append(Problem(path=path, line=node.line, message=f"{about}: models names no model"))
        for pattern in _patterns(line):
            wrong = _pattern_problem(pattern, line.region)
            if wrong is None and pattern in seen:
                wrong = f"{pattern!r} has a price already, on line {seen[pattern]}"
            if wrong is not None:
                problems.append(Problem(path=path, line=node.line, message=f"{about}: {wrong}"))
            seen.setdefault(pattern, node.line)
            entries.append(Entry(pattern, _price(line)))


def _patterns(line: _Line) -> list[str]:
    """One for each model and service tier; a pattern may bring its own tier instead."""
    tiers = [f"{TIER}{tier}" for tier in line.service_tier] or [""]
    return [pattern + tier for tier in tiers for pattern in line.models]


def _pattern_problem(pattern: str, region: Region | None) -> str | None:
    scheme, colon, rest = pattern.partition(TIER)[0].partition(":")
    if not colon or scheme not in SCHEMES or scheme == "scripted":
        known = ", ".join(scheme for scheme in SCHEMES if scheme != "scripted")
        return f"{pattern!r} must begin with one of {known} and a colon"
    if not rest.strip("*?"):
        return f"{pattern!r} would price every model of {scheme}:; name one"
    if pattern.count(TIER) > 1:
        return f"{pattern!r} has a service tier of its own beside the line's"
    if region is None:
        return None
    if scheme != "bedrock":
        return f"region is for bedrock: models; {pattern!r} has none"
    if region_of(rest) != region:
        return f"{pattern!r} is {region_of(rest)} by its prefix, not {region}"
    return None


def _price(line: _Line) -> Price:
    price = Price(
        **_filled(line),
        long=None if line.long is None else LongContext(above=line.long.above, **_filled(line.long)),
        source=f"{line.source} ({line.as_of})",
    )
    return price if line.batch is None else replace(price, batch=_queued(price, line.batch))


def _queued(price: Price, batch: _Batch) -> Price:
    """What the batch queue charges: the factor on all rates, but for those that the line tells apart."""
    own = {kind: getattr(batch, kind) for kind in _CACHES if kind in batch.model_fields_set}
    return replace(scaled(price, batch.factor, f"{batch.source} ({batch.as_of})"), **own)


def _filled(rates: _Line | _Long) -> dict[str, Any]:
    """All rates: a cache kind that is left out costs what input costs, but an hour's writes are unknown."""
    told = rates.model_fields_set
    return {
        "input": rates.input,
        "output": rates.output,
        "cache_read": rates.cache_read if "cache_read" in told else rates.input,
        "cache_write": rates.cache_write if "cache_write" in told else rates.input,
        "cache_write_1h": rates.cache_write_1h,
    }
