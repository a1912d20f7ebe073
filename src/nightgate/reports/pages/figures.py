"""Numbers of a document on a page: shown for people, marked for programs.

Owns the mark: ``<data value="0.714" data-figure="/evaluators/0/pass_rate">71%</data>``. The value is the
document's own, looked up by its path, so a page cannot show another one. Knows no template.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from nightgate.reports.figures import percent

Step = str | int

UNKNOWN = "unknown"


def usd(amount: float | None) -> str:
    """Dollars with four decimals, more where they would hide the amount.

    >>> usd(1.5), usd(0.0000312), usd(0.0), usd(None)
    ('$1.5000', '$0.000031', '$0.0000', 'unknown')
    """
    if amount is None:
        return UNKNOWN
    places = next((places for places in range(4, 9) if round(amount, places) >= 10.0 ** (1 - places)), 4)
    return f"${amount:.{places}f}"


def seconds(amount: float | None) -> str:
    """Seconds, as finely as one looks at them.

    >>> seconds(0.0421), seconds(3.14), seconds(95.0), seconds(None)
    ('0.04 s', '3.1 s', '1 min 35 s', 'unknown')
    """
    if amount is None:
        return UNKNOWN
    if amount < 1:
        return f"{amount:.2f} s"
    if amount < _MINUTE:
        return f"{amount:.1f} s"
    minutes, rest = divmod(round(amount), 60)
    return f"{minutes} min {rest} s"


_MINUTE = 60


def rate(share: float | None) -> str:
    """A share in percent."""
    return "not measured" if share is None else percent(share)


def number(value: float | None) -> str:
    """A count with thousands apart, or a figure with three digits.

    >>> number(12345), number(0.66667), number(None)
    ('12,345', '0.667', 'unknown')
    """
    if value is None:
        return UNKNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


KINDS: Mapping[str, Callable[[Any], str]] = {"number": number, "rate": rate, "usd": usd, "seconds": seconds}


def pointer(path: Sequence[Step]) -> str:
    """A path as text: parts behind slashes, percent-encoded, as family names may hold anything."""
    return "".join(f"/{_step(step)}" for step in path)


@lru_cache(maxsize=4096)
def _step(step: Step) -> str:
    return quote(str(step).encode("utf-8", "surrogatepass"), safe="")


class Figures:
    """The figures of one document.

    Args:
        document: JSON values.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._shown: set[str] = set()

    def __call__(self, *path: Step, kind: str = "number", shown: str | None = None) -> Markup:
        """The figure at a path; a dash where an older document has none there.

        Args:
            *path: Keys and positions.
            kind: How people read it: number, rate, usd, seconds.
            shown: In other words than its kind's.
        """
        value: Any = self._document
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return Markup("–")
        where = pointer(path)
        self._shown.add(where)
        written = "null" if value is None else repr(value)
        told = KINDS[kind](value) if shown is None else shown
        return _mark(written, where, told)

    def rest(self, without: Collection[str] = ()) -> Iterator[tuple[str, Markup]]:
        """All figures that were not shown so far: where they stand, and the figure.

        Args:
            without: Keys of the document whose figures stand on other pages.
        """
        for path, value in _leaves(self._document, ()):
            if path[0] not in without and pointer(path) not in self._shown:
                # A fraction with all of its digits: nobody said how it is read.
                exact = repr(value) if isinstance(value, float) else None
                yield self._named(path), self(*path, shown=exact)

    @staticmethod
    def _named(path: Sequence[Step]) -> str:
        return " › ".join(str(step) for step in path)


def _mark(written: str, where: str, told: str) -> Markup:
    # Both are ASCII of ours.
    return Markup(f'<data value="{written}" data-figure="{where}">{escape(told)}</data>')  # noqa: S704


def _leaves(value: Any, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], float | None]]:
    """The numbers of a document, and what is unknown in it; texts and truth values are none."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            yield from _leaves(inner, (*path, position))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value
