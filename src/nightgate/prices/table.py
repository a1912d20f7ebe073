"""The price table: which model costs what, from whom we know, since when.

Owns which line of ``prices.yaml``, and of the files that users bring, holds for a spec. A model without
a line is unknown, which is None and never 0. Knows no provider's library.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nightgate.cases.specs import parse_spec
from nightgate.errors import InputError
from nightgate.prices.costs import FREE, Price
from nightgate.prices.files import Entry, PriceFile, read_prices

if TYPE_CHECKING:
    from nightgate.cases.scripts import Script

_BUILT_IN = Path(__file__).with_name("prices.yaml")
_LOCAL_SCHEMES = ("ollama", "llamacpp")
_REDIRECTED = ("openai", "openai-responses")
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|0\.0\.0\.0|.+\.localhost", re.IGNORECASE)
_USUAL_TIERS = frozenset({"default", "standard", "standard_only", "auto", "null"})


class PriceTable:
    """Prices by model spec.

    Args:
        built_in: Lines for the providers' own addresses.
        extra: The user's lines, which come first and hold for any address.
        version: Names the table in rows.
    """

    def __init__(self, built_in: Iterable[Entry], extra: Iterable[Entry], version: str) -> None:
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
                cache_write_1h: 0.2      # left out: unknown; any rate of the cache may be null, unknown
                region: global           # optional, bedrock: alone: global, geographic or in-region
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
        theirs = read_prices(extra)
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


def _find(entries: Iterable[Entry], key: str, tier: str) -> Price | None:
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
        cache_write_1h=price.cache_write,
        source=f"script {script.name}",
    )


@lru_cache(maxsize=1)
def _built_in() -> PriceFile:
    return read_prices(_BUILT_IN)
