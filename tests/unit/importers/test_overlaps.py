"""Overlaps of sequences: the same as trying every place, without trying every place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightgate.importers.overlaps import Overlaps

KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)


def tried(known: list[list[str]], keys: list[str]) -> tuple[int, int] | None:
    """What ``find`` says, by trying all places."""
    for number, sequence in enumerate(known):
        for begin in range(len(sequence)):
            shared = min(len(sequence) - begin, len(keys))
            if sequence[begin : begin + shared] == keys[:shared]:
                return number, begin
    return None


def inside(keys: list[str], others: list[str]) -> bool:
    rest = iter(others)
    return len(keys) < len(others) and all(key in rest for key in keys)


@given(st.lists(KEYS, max_size=6), st.lists(st.tuples(st.integers(0, 9), KEYS), max_size=6), KEYS)
def test_the_first_place_that_fits_is_found(
    known: list[list[str]], more: list[tuple[int, list[str]]], keys: list[str]
) -> None:
    """Also after sequences grew: their ends are not ends any more."""
    overlaps = Overlaps()
    for sequence in known:
        overlaps.add(sequence)
    for number, added in more:
        if number < len(known):
            overlaps.extend(number, added)
            known[number] = known[number] + added

    assert overlaps.find(keys) == tried(known, keys)


@given(st.lists(KEYS, max_size=8))
def test_what_a_longer_sequence_tells_is_left_out(known: list[list[str]]) -> None:
    """Equal ones both stay: neither tells more."""
    overlaps = Overlaps()
    for sequence in known:
        overlaps.add(sequence)

    assert overlaps.outer() == [
        number for number, keys in enumerate(known) if not any(inside(keys, other) for other in known)
    ]


def test_nothing_continues_nothing() -> None:
    """A span without a message."""
    assert Overlaps().find([]) is None
    assert Overlaps().find(["a", "b"]) is None
