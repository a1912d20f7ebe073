"""Sections on one screen: the short ones whole, the long ones counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightgate.reports.folding import Section, folded, is_cut


def many(letter: str, count: int, **more: object) -> Section:
    """So many lines: a0, a1, ..."""
    return Section(lines=tuple(f"{letter}{n}" for n in range(count)), noun=letter * 3, **more)  # type: ignore[arg-type]


def test_what_fits_is_whole() -> None:
    """Nothing is cut for the sake of order."""
    sections = [many("a", 3), many("b", 2)]

    assert folded(sections, 5) == ["a0", "a1", "a2", "b0", "b1"]
    assert not is_cut(sections, 5)


def test_a_long_section_cannot_push_a_short_one_off() -> None:
    """A hundred reasons beside two flaky cases."""
    told = folded([many("a", 100), many("b", 2)], 10)

    assert told == [*(f"a{n}" for n in range(7)), "and 93 more aaa", "b0", "b1"]


def test_a_larger_share_gets_more_lines() -> None:
    """What decides the verdict before what stands beside it."""
    told = folded([many("a", 100, share=3), many("b", 100)], 12)

    assert [sum(line[0] == letter and line[1].isdigit() for line in told) for letter in "ab"] == [7, 3]


def test_a_section_that_may_not_be_cut_is_whole_without_room() -> None:
    """The verdict is said, whatever else is."""
    assert folded([Section(lines=("x", "y", "z")), many("a", 9)], 2) == [
        "x",
        "y",
        "z",
        "a0",
        "and 8 more aaa",
    ]


def test_a_most_holds_where_there_is_room() -> None:
    """Twelve reasons are enough on any screen."""
    sections = [many("a", 5, most=2, indent="  ")]

    assert folded(sections, 40) == ["a0", "a1", "  and 3 more aaa"]
    assert is_cut(sections, 40)


def test_the_lowest_ranks_are_kept_in_their_order() -> None:
    """An evaluator that failed stands in the table, wherever the suite names it."""
    section = Section(lines=("head", "passed", "failed", "passed too"), noun="rows", ranks=(-1, 2, 0, 2))

    assert folded([section], 3) == ["head", "failed", "and 2 more rows"]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 4)), min_size=1, max_size=12), st.integers(24, 60)
)
def test_any_sections_fit_and_no_line_is_lost_uncounted(parts: list[tuple[int, int]], room: int) -> None:
    """Twelve sections take two lines each at least, so 24 are enough."""
    sections = [many("abcdefghijkl"[n], count, share=share) for n, (count, share) in enumerate(parts)]

    told = folded(sections, room)

    assert len(told) <= room
    counted = sum(int(line.split()[1]) for line in told if line.startswith("and "))
    assert len([line for line in told if not line.startswith("and ")]) + counted == sum(c for c, _ in parts)
