"""The price table: which model costs what, from whom we know, since when.

Owns ``prices.yaml`` and files of the same form that users bring. A model without a line is
unknown, which is None and never 0. Knows no provider's library.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nightgate.cases.binding import bind
from nightgate.cases.documents import read_yaml
from nightgate.cases.fields import Breach, Day, Money, Name, Record, Whole
from nightgate.cases.nodes import Listing, Node, Table, describe
from nightgate.cases.problems import Problem, SuiteError
from nightgate.cases.specs import SCHEMES, parse_spec
from nightgate.errors import InputError
from nightgate.prices.costs import FREE, LongContext, Price

if TYPE_CHECKING:
    from nightgate.cases.scripts import Script

_BUILT_IN = Path(__file__).with_name("prices.yaml")
_LOCAL_SCHEMES = ("ollama", "llamacpp")
_REDIRECTED = ("openai", "openai-responses")
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|0\.0\.0\.0|.+\.localhost", re.IGNORECASE)
_TIER = "?service_tier="
_USUAL_TIERS = frozenset({"default", "standard", "auto", "null"})


class _Rates(Record):
    """Rates as people write them; a cache kind that is left out costs what input costs."""

    input: Money
    output: Money
    cache_read: Money | None = None
    cache_write: Money | None = None


class _Long(_Rates):
    above: Whole


class _Batch(Record):
    factor: Money
    as_of: Day
    source: Name

    def breaches(self) -> Iterator[Breach]:
        """A queue that costs nothing, or more than an answer at once, is a slip."""
        if not 0 < self.factor <= 1:
            yield Breach(f"factor {self.factor} must be above 0 and at most 1; half the list price is 0.5")


class _Line(_Rates):
    models: tuple[Name, ...]
    long: _Long | None = None
    batch: _Batch | None = None
    as_of: Day
    source: Name


@dataclass(frozen=True, slots=True)
class _Entry:
    pattern: str
    price: Price

    @property
    def glob(self) -> str:
        """The pattern of ``scheme:id``."""
        return self.pattern.partition(_TIER)[0]

    @property
    def tier(self) -> str:
        """The service tier that it is for; "" for the default."""
        return self.pattern.partition(_TIER)[2]


@dataclass(frozen=True, slots=True)
class _File:
    entries: tuple[_Entry, ...]
    version: str


class PriceTable:
    """Prices by model spec.

    Args:
        built_in: Lines for the providers' own addresses.
        extra: The user's lines, which come first and hold for any address.
        version: Names the table in rows.
    """

    def __init__(self, built_in: Iterable[_Entry], extra: Iterable[_Entry], version: str) -> None:
        # The longer pattern says more: a dated id beats its family.
        self._built_in = sorted(built_in, key=lambda entry: -len(entry.pattern))
        self._extra = sorted(extra, key=lambda entry: -len(entry.pattern))
        self.version = version

    @classmethod
    def load(cls, extra: Path | None = None) -> PriceTable:
        """The table that ships with the package, with the user's file over it.

        The file has the form of ours (docs/operations.md shows one)::

            version: 2026-11-29          # names it in rows
            prices:
              - models: ["openai:gpt-x", "openai-responses:gpt-x*"]   # scheme:id; * any text, ? any sign
                input: 0.10              # US dollars per million tokens
                output: 0.50
                cache_read: 0.01         # left out: as input
                cache_write: 0.125       # left out: as input
                long: {above: 272000, input: 0.20, output: 0.75}      # optional
                batch: {factor: 0.5, as_of: 2026-10-12, source: https://...}   # optional: the batch queue
                as_of: 2026-10-12
                source: https://developers.openai.com/api/docs/pricing

        Raises:
            InputError: With every problem of the file, each with its line.
        """
        ours = _built_in()
        if extra is None:
            return cls(ours.entries, (), ours.version)
        theirs = _read(extra)
        digest = hashlib.sha256(extra.read_bytes()).hexdigest()[:8]
        return cls(ours.entries, theirs.entries, f"{ours.version}+{theirs.version}-{digest}")

    def price(self, spec_text: str, script: Script | None = None) -> Price | None:
        """What a model costs; None when nobody said.

        A script brings its own price. Models on this machine (``ollama:``, ``llamacpp:``, OpenAI's
        schemes with a loopback ``base_url``) cost nothing. A ``service_tier`` other than the default
        needs a line of its own, ``scheme:id?service_tier=flex``; OpenAI's schemes at an address that is
        not OpenAI's need one in the user's file.

        Args:
            spec_text: The model's spec.
            script: The script of a ``scripted:`` model.

        Raises:
            InputError: If the text is no spec.
        """
        try:
            spec = parse_spec(spec_text)
        except ValueError:
            # Without its options: this text was never checked for credentials.
            raise InputError(f"model {spec_text.partition('?')[0]!r} is no model spec") from None
        if spec.scripted:
            return None if script is None else _of_script(script)
        key = f"{spec.scheme}:{spec.name}"
        tier = spec.options.get("service_tier", "")
        tier = "" if tier in _USUAL_TIERS else tier
        found = _find(self._extra, key, tier)
        if found is not None:
            return found
        if is_local(spec.scheme, spec.options.get("base_url")):
            return FREE
        if spec.scheme in _REDIRECTED and "base_url" in spec.options:
            return None  # somebody else's model under a familiar name
        return _find(self._built_in, key, tier)

    def __iter__(self) -> Iterator[tuple[str, Price]]:
        """Every pattern with its price, the user's first."""
        for entry in (*self._extra, *self._built_in):
            yield entry.pattern, entry.price


def is_local(scheme: str, base_url: str | None) -> bool:
    """Whether a model runs on this machine, where no token is charged.

    ``ollama:`` and ``llamacpp:`` do unless their ``base_url`` is elsewhere; OpenAI's schemes do with
    a ``base_url`` on loopback. A stand-in for a cloud on loopback keeps the cloud's price.
    """
    if base_url is None:
        return scheme in _LOCAL_SCHEMES
    return scheme in (*_LOCAL_SCHEMES, *_REDIRECTED) and on_loopback(base_url)


def on_loopback(url: str) -> bool:
    """Whether a URL points at this machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return bool(_LOOPBACK.fullmatch(host))


def _find(entries: Iterable[_Entry], key: str, tier: str) -> Price | None:
    return next((e.price for e in entries if e.tier == tier and fnmatchcase(key, e.glob)), None)


def _of_script(script: Script) -> Price:
    price = script.price
    if not any((price.input, price.output, price.cache_read, price.cache_write)):
        return FREE
    return Price(
        input=price.input,
        output=price.output,
        cache_read=price.cache_read,
        cache_write=price.cache_write,
        source=f"script {script.name}",
    )


@lru_cache(maxsize=1)
def _built_in() -> _File:
    return _read(_BUILT_IN)


def _read(path: Path) -> _File:
    """The lines of a price file.

    Raises:
        SuiteError: With every problem of the file.
    """
    root = read_yaml(path)
    if not isinstance(root, Table):
        what = "is empty" if root is None else f"must be a mapping, not {describe(root)}"
        raise SuiteError([Problem(path=path, line=1, message=f"{what}; a price file has version and prices")])
    header, problems = bind(_Header, _without(root, "prices"), path)
    listing = root.entries.get("prices")
    entries: list[_Entry] = []
    if listing is None or not isinstance(listing.node, Listing):
        line = root.line if listing is None else listing.line
        problems.append(Problem(path=path, line=line, message="prices must be a list of prices"))
    else:
        _collect(listing.node.items, path, entries, problems)
    if problems or header is None:
        raise SuiteError(problems)
    return _File(tuple(entries), header.version)


class _Header(Record):
    version: Name


def _without(root: Table, key: str) -> Table:
    rest = {name: entry for name, entry in root.entries.items() if name != key}
    return Table(rest, root.line, root.column)


def _collect(items: Iterable[Node], path: Path, entries: list[_Entry], problems: list[Problem]) -> None:
    seen: dict[str, int] = {}
    for number, node in enumerate(items):
        about = f"prices[{number}]"
        line, found = bind(_Line, node, path, about=about)
        problems += found
        if line is None:
            continue
        if not line.models:
            problems.append(Problem(path=path, line=node.line, message=f"{about}: models names no model"))
        for pattern in line.models:
            wrong = _pattern_problem(pattern)
            if wrong is None and pattern in seen:
                wrong = f"{pattern!r} has a price already, on line {seen[pattern]}"
            if wrong is not None:
                problems.append(Problem(path=path, line=node.line, message=f"{about}: {wrong}"))
            seen.setdefault(pattern, node.line)
            entries.append(_Entry(pattern, _price(line)))


def _pattern_problem(pattern: str) -> str | None:
    scheme, colon, rest = pattern.partition(_TIER)[0].partition(":")
    if not colon or scheme not in SCHEMES or scheme == "scripted":
        known = ", ".join(scheme for scheme in SCHEMES if scheme != "scripted")
        return f"{pattern!r} must begin with one of {known} and a colon"
    if not rest.strip("*?"):
        return f"{pattern!r} would price every model of {scheme}:; name one"
    return None


def _price(line: _Line) -> Price:
    long, batch = line.long, line.batch
    return Price(
        **_filled(line),
        long=None if long is None else LongContext(above=long.above, **_filled(long)),
        source=f"{line.source} ({line.as_of})",
        batch_factor=None if batch is None else batch.factor,
        batch_source="" if batch is None else f"{batch.source} ({batch.as_of})",
    )


def _filled(rates: _Rates) -> Mapping[str, Decimal]:
    return {
        "input": rates.input,
        "output": rates.output,
        "cache_read": rates.input if rates.cache_read is None else rates.cache_read,
        "cache_write": rates.input if rates.cache_write is None else rates.cache_write,
    }
