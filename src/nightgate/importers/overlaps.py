"""Sequences of keys that overlap: which known one does a new one continue, and which tells all of another.

Owns that search, in time that grows with what is searched and not with its square. Knows nothing of
what the keys stand for. Imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

_Place = tuple[int, int]
"""Sequence, position."""


class Overlaps:
    """Sequences that grow, and where another one overlaps them."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: list[list[int]] = []
        self._first: dict[int, _Place] = {}
        self._pairs: dict[tuple[int, int], list[_Place]] = {}
        self._tails: dict[int, set[int]] = {}
        """Last key -> the sequences that end with it."""

    def add(self, keys: Sequence[Hashable]) -> int:
        """Take a new sequence; returns its number, from 0."""
        self._known.append([])
        self.extend(len(self._known) - 1, keys)
        return len(self._known) - 1

    def extend(self, sequence: int, keys: Sequence[Hashable]) -> None:
        """Add keys to the end of a sequence."""
        known = self._known[sequence]
        if known and keys:
            self._tails[known[-1]].discard(sequence)
        for number in map(self._number, keys):
            place = (sequence, len(known))
            self._first[number] = min(place, self._first.get(number, place))
            if known:
                self._pairs.setdefault((known[-1], number), []).append((sequence, len(known) - 1))
            known.append(number)
        if known:
            self._tails.setdefault(known[-1], set()).add(sequence)

    def find(self, keys: Sequence[Hashable]) -> _Place | None:
        """The first sequence, and the first position in it, from which on it says the same as ``keys``.

        It may end before ``keys`` do, and ``keys`` before it does.
        """
        wanted = [self._number(key) for key in keys]
        if len(wanted) < 2:  # noqa: PLR2004 - a pair
            return self._first.get(wanted[0]) if wanted else None
        places = list(self._pairs.get((wanted[0], wanted[1]), ()))
        places += [(tail, len(self._known[tail]) - 1) for tail in self._tails.get(wanted[0], ())]
        return next((place for place in sorted(places) if self._holds(place, wanted)), None)

    def _holds(self, place: _Place, wanted: list[int]) -> bool:
        known, begin = self._known[place[0]], place[1]
        shared = min(len(known) - begin, len(wanted))
        return known[begin : begin + shared] == wanted[:shared]

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def outer(self) -> list[int]:
        """The sequences whose keys do not all stand, in their order, in a longer one."""
        owners: dict[int, list[int]] = {}
        for sequence, keys in enumerate(self._known):
            for number in set(keys):
                owners.setdefault(number, []).append(sequence)
        return [
            sequence
            for sequence, keys in enumerate(self._known)
            # Whatever tells all of it holds its rarest key, too.
            if not any(
                _within(keys, self._known[other])
                for other in min((owners[number] for number in keys), key=len, default=())
            )
        ]


def _within(keys: list[int], others: list[int]) -> bool:
    rest = iter(others)
    return len(keys) < len(others) and all(key in rest for key in keys)
