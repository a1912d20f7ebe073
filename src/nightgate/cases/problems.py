"""What is wrong with a suite: one ``Problem`` a finding, one ``SuiteError`` for all of them.

Owns how a problem is located and printed, and the guess at what was meant. Knows no file format and
no model of a suite. Imports the standard library and ``nightgate.errors`` only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nightgate.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding: where it is, what is wrong and what to do next."""

    path: Path
    line: int
    """From 1; 0 where no line is meant: a file that is not there, its name, a folder."""
    column: int | None = None
    """From 1; None where only the line is known."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class SuiteError(InputError):
    """A suite, a script or a part of one cannot be used; carries every problem at once.

    Attributes:
        problems: By file, then line; never empty.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            sorted(problems, key=lambda problem: (str(problem.path), problem.line, problem.column or 0))
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[SuiteError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that ``name`` most likely stands for; None when none is close.

    Args:
        name: What was written.
        known: What could have been meant; the first of equals wins.
        cutoff: Least likeness in [0, 1]; 0 always finds one.

    >>> nearest("must_cal", ["must_call", "max_calls"])
    'must_call'
    >>> nearest("toolpolicy", ["ToolPolicy"])
    'ToolPolicy'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    if close:
        return close[0]
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest one, else all where they are few.

    >>> did_you_mean("layr", ["layer", "stage"])
    "; did you mean 'layer'?"
    >>> did_you_mean("zzz", ["layer", "stage"])
    '; known are layer, stage'
    """
    names = list(known)
    guess = nearest(name, names)
    if guess is not None:
        return f"; did you mean {guess!r}?"
    few = 20
    return f"; known are {', '.join(names)}" if 0 < len(names) <= few else ""
