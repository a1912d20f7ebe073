"""Which judged cells people are asked about: drawn so that nobody can guess the judge's verdict.

Owns the sampling. The same cells, size and seed always give the same rows. Knows no files, no rows and
no store.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell with a judge's verdict."""

    evaluator: str
    case_id: str
    trial: int
    verdict: bool


def drawn(cells: Iterable[Judged], size: int, *, seed: int, stratified: bool = True) -> list[Judged]:
    """Cells to label, in an order that tells nothing.

    Stratified: as even as can be over evaluators, then over what the judge passed and failed, and
    within each over the cases: every cell of such a stratum is as likely as any other. Otherwise every
    cell of an evaluator is.

    Args:
        cells: To draw from.
        size: How many, at least 1; all where there are fewer.
        seed: Another one draws others.
        stratified: False draws at random.
    """
    chance = _Chance(seed)
    chosen: list[Judged] = []
    of_evaluator = _grouped(cells, lambda cell: cell.evaluator)
    for group, count in _dealt(of_evaluator, size):
        if not stratified:
            chosen += sorted(group, key=chance.of)[:count]
            continue
        strata = _grouped(group, lambda cell: cell.verdict)
        for stratum, part in _dealt(strata, count):
            chosen += _spread(stratum, part, chance)
    return sorted(chosen, key=lambda cell: chance.of(cell, "order"))


@dataclass(frozen=True, slots=True)
class _Chance:
    """Numbers in [0, 1) that depend on the seed and on what they are for, and on nothing else."""

    seed: int

    def of(self, cell: Judged, purpose: str = "") -> float:
        return self.number(purpose, cell.evaluator, cell.case_id, str(cell.trial))

    def number(self, *words: str) -> float:
        text = "\0".join((str(self.seed), *words)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(text).digest()[:6], "big") / 2**48


def _grouped(cells: Iterable[Judged], key: Callable[[Judged], Hashable]) -> list[list[Judged]]:
    groups: dict[Hashable, list[Judged]] = defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    return [groups[name] for name in sorted(groups, key=str)]


def _dealt(groups: Sequence[list[T]], size: int) -> list[tuple[list[T], int]]:
    """Deal ``size`` over groups as evenly as their own sizes allow."""
    counts = [0] * len(groups)
    left = min(size, sum(map(len, groups)))
    while left:
        open_ones = [i for i, group in enumerate(groups) if counts[i] < len(group)]
        each = max(1, left // len(open_ones))
        for i in open_ones[:left]:
            more = min(each, len(groups[i]) - counts[i], left)
            counts[i], left = counts[i] + more, left - more
    return list(zip(groups, counts, strict=True))


def _spread(stratum: list[Judged], count: int, chance: _Chance) -> list[Judged]:
    """Cells at equal steps, case by case, from a random start: cases are met by their share."""
    if not count:
        return []
    first = stratum[0]
    ordered = sorted(stratum, key=lambda cell: (chance.number("case", cell.case_id), chance.of(cell)))
    start = chance.number("start", first.evaluator, str(first.verdict))
    step = len(ordered) / count
    return [ordered[min(len(ordered) - 1, int((start + i) * step))] for i in range(count)]
