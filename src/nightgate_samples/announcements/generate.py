"""The announcements themselves: a few hundred, invented, the same on every machine.

Owns when what was announced, and the words. Knows no database and no agent: ``archive`` stores what
this returns. Only ``Random.random`` is asked, because it alone is promised to give the same numbers
for a seed in every version of Python; ``choice`` and ``shuffle`` are not.
"""

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final, Literal, TypeVar

from nightgate_samples.announcements.catalogue import CATALOGUE, PROVIDER, REGIONS, SERVICES, Service

SEED: Final = 20040511
LAST_DAY: Final = dt.date(2026, 6, 30)

Kind = Literal["launch", "feature", "region", "price cut", "limit raise", "deprecation"]

_PER_YEAR: Final = (
    5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 20, 20, 21, 22, 23, 24, 25, 13,
)  # fmt: skip
"""Announcements a year, from 2004 on."""
_WEIGHTS: Final[dict[Kind, float]] = {
    "feature": 30,
    "region": 25,
    "price cut": 18,
    "limit raise": 19,
    "deprecation": 8,
}
_GROWN_UP: Final = dt.timedelta(days=4 * 365)
"""Nothing of a service is given up before it is so old."""
_CUTS_PERCENT: Final = (5, 8, 10, 12, 15, 18, 20, 25, 30)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """One announcement. No two share an id, a date, a title or a url."""

    id: str
    """``BW-0001`` is the oldest; numbers rise with the dates."""
    date: dt.date
    service: Service
    kind: Kind
    title: str
    body: str
    url: str
    """Under ``https://news.brindlewick.example/``, a domain that nobody can own."""


def announcements(seed: int = SEED) -> tuple[Announcement, ...]:
    """Invent the archive, oldest first.

    The oldest of each service is its launch, and no two announcements share a day: whatever is
    first, last or next is one announcement and no other.

    Args:
        seed: The same seed gives the same announcements, everywhere.
    """
    rng = Random(seed)  # noqa: S311 - nothing secret is made here
    shelves = {service: _Shelf(service, rng) for service in SERVICES}
    launches = {facts.launched: service for service, facts in CATALOGUE.items()}
    found: list[Announcement] = []
    for day in _days(rng, launches):
        service = launches.get(day) or _pick_service(rng, shelves, day)
        kind, title, body = shelves[service].next(day)
        found.append(
            Announcement(
                id=f"BW-{len(found) + 1:04d}",
                date=day,
                service=service,
                kind=kind,
                title=title,
                body=body,
                url=f"https://news.brindlewick.example/{day:%Y/%m/%d}/{_slug(title)}",
            )
        )
    return tuple(found)


def plain(text: str) -> str:
    """Lower case without accents: how text is compared in urls and in the search.

    >>> plain("São Paulo")
    'sao paulo'
    """
    folded = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in folded if not unicodedata.combining(char))


def _slug(title: str) -> str:
    """The words before a colon, four at most; the date before it keeps urls apart."""
    words = re.findall(r"[a-z0-9]+", plain(title).partition(":")[0])
    return "-".join(words[:4])


def _days(rng: Random, launches: dict[dt.date, Service]) -> Iterator[dt.date]:
    """The days on which something is announced, in order; the first launch is the first of all."""
    first = min(launches)
    for year, count in enumerate(_PER_YEAR, start=first.year):
        days = {day for day in launches if day.year == year}
        start, end = max(dt.date(year, 1, 1), first), min(dt.date(year, 12, 31), LAST_DAY)
        while len(days) < count:
            days.add(start + dt.timedelta(days=int(rng.random() * ((end - start).days + 1))))
        yield from sorted(days)


def _pick_service(rng: Random, shelves: dict[Service, "_Shelf"], day: dt.date) -> Service:
    open_ = [service for service in SERVICES if shelves[service].has_news(day)]
    return open_[int(rng.random() * len(open_))]


class _Shelf:
    """What one service has left to announce. Each piece of news is taken from it once."""

    def __init__(self, service: Service, rng: Random) -> None:
        facts = CATALOGUE[service]
        self._service, self._rng, self._launched, self._what = service, rng, facts.launched, facts.what
        self._raises = [[(name, *step) for step in pairwise(steps)] for name, steps in facts.limits]
        self._news: dict[Kind, list[tuple[str, ...]]] = {
            "feature": [(feature,) for feature in facts.features],
            "region": [(region,) for region in _shuffled(rng, REGIONS)],
            "price cut": self._cuts(facts.prices),
            "deprecation": list(facts.retired),
        }
        self._write: dict[Kind, Callable[..., tuple[str, str]]] = {
            "feature": self._feature,
            "region": self._region,
            "price cut": self._price_cut,
            "limit raise": self._limit_raise,
            "deprecation": self._deprecation,
        }

    def has_news(self, day: dt.date) -> bool:
        """Whether the service is out by ``day`` and has anything left to say."""
        return day > self._launched and bool(self._kinds(day))

    def next(self, day: dt.date) -> tuple[Kind, str, str]:
        """Kind, title and body of what the service announces on ``day``."""
        if day == self._launched:
            return "launch", *self._launch()
        kinds = self._kinds(day)
        mark = self._rng.random() * sum(_WEIGHTS[kind] for kind in kinds)
        for kind in kinds:
            mark -= _WEIGHTS[kind]
            if mark < 0:
                break
        return kind, *self._write[kind](day, *self._take(kind))

    def _kinds(self, day: dt.date) -> list[Kind]:
        return [
            kind
            for kind in _WEIGHTS
            if (self._raises if kind == "limit raise" else self._news[kind])
            and (kind != "deprecation" or day - self._launched >= _GROWN_UP)
        ]

    def _take(self, kind: Kind) -> tuple[str, ...]:
        if kind != "limit raise":
            return self._news[kind].pop(0)
        ladder = self._raises[int(self._rng.random() * len(self._raises))]
        step = ladder.pop(0)
        self._raises = [steps for steps in self._raises if steps]
        return step

    def _cuts(self, prices: Sequence[str]) -> list[tuple[str, ...]]:
        """Three cuts of each price, no two of them equal, in no order."""
        pairs = [(price, str(cut)) for price in prices for cut in _shuffled(self._rng, _CUTS_PERCENT)[:3]]
        return _shuffled(self._rng, pairs)

    def _launch(self) -> tuple[str, str]:
        title = f"Introducing {self._service}: {self._what}"
        return title, f"{PROVIDER} opens {self._service} to everybody: {self._what}. There is no minimum fee."

    def _feature(self, _day: dt.date, feature: str) -> tuple[str, str]:
        body = f"{self._service} now has {feature}, wherever it runs. The first month is free of charge."
        return f"{self._service} adds {feature}", body

    def _region(self, _day: dt.date, region: str) -> tuple[str, str]:
        title = f"{self._service} is now available in the {region} region"
        body = f"Customers can use {self._service} in {region} from today, with all that it does elsewhere."
        return title, body

    def _price_cut(self, day: dt.date, price: str, percent: str) -> tuple[str, str]:
        start = day + dt.timedelta(days=14)
        title = f"{self._service} price cut: {price} {percent}% cheaper"
        body = f"From {start} on, {self._service} charges {percent}% less for {price}. It applies by itself."
        return title, body

    def _limit_raise(self, _day: dt.date, limit: str, before: str, after: str) -> tuple[str, str]:
        title = f"{self._service} raises the limit on {limit} from {before} to {after}"
        body = f"The limit on {limit} in {self._service} is now {after}; it was {before}. It holds at once."
        return title, body

    def _deprecation(self, day: dt.date, old: str, instead: str) -> tuple[str, str]:
        end = day + dt.timedelta(days=365 + int(self._rng.random() * 365))
        title = f"{self._service} ends support for {old}"
        return title, f"{self._service} ends support for {old} on {end}. Use {instead} instead."


def _shuffled(rng: Random, items: Sequence[_T]) -> list[_T]:
    keyed = [(rng.random(), place) for place in range(len(items))]
    return [items[place] for _, place in sorted(keyed)]
