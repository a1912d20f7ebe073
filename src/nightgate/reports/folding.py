"""Lines in sections, cut so that all of them fit on a screen.

Owns how the room is shared. Knows no summary: whoever makes the sections says what is in them and which may
be cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LEAST = 2
"""Lines of a section that is cut as far as it can be: one, and the count of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines that belong together."""

    lines: tuple[str, ...]
    noun: str = ""
    """What a line tells of, in the plural, for "and 3 more ..."; empty: the section is never cut."""
    most: int | None = None
    """So many at most, also where there is room; None: all."""
    share: int = 1
    """Lines that it gets where others get one."""
    ranks: tuple[int, ...] = ()
    """One a line; the lowest are kept. Empty: the first are."""
    indent: str = ""

    @property
    def wanted(self) -> int:
        """Lines that it takes where there is room."""
        count = len(self.lines)
        return count if self.most is None or count <= self.most else self.most + 1

    def cut(self, room: int) -> Iterator[str]:
        """As many lines as go into ``room``; the last one counts those that do not."""
        if len(self.lines) <= room:
            yield from self.lines
            return
        ranks = self.ranks or (0,) * len(self.lines)
        kept = sorted(range(len(self.lines)), key=lambda number: (ranks[number], number))[: room - 1]
        yield from (self.lines[number] for number in sorted(kept))
        yield f"{self.indent}and {len(self.lines) - len(kept)} more {self.noun}"


def folded(sections: Sequence[Section], room: int) -> list[str]:
    """The lines of all sections, in at most ``room`` lines where what may not be cut leaves any.

    Sections are cut evenly, by their shares: what is short stays whole, and one that is long cannot push
    another off the screen.

    >>> few, many = Section(lines=("x",)), Section(lines=("a", "b", "c", "d"), noun="letters")
    >>> folded([few, many], 4)
    ['x', 'a', 'b', 'and 2 more letters']
    """
    given = [section.wanted if not section.noun else min(section.wanted, _LEAST) for section in sections]
    left = room - sum(given)
    while left > 0 and any(has < section.wanted for has, section in zip(given, sections, strict=True)):
        for number, section in enumerate(sections):
            more = min(section.share, section.wanted - given[number], left)
            given[number] += more
            left -= more
    return [line for has, section in zip(given, sections, strict=True) for line in section.cut(has)]


def is_cut(sections: Sequence[Section], room: int) -> bool:
    """Whether ``folded`` leaves any line out."""
    whole = sum(len(section.lines) for section in sections)
    return whole > room or any(section.wanted < len(section.lines) for section in sections)
