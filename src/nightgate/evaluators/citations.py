"""Citations in the answer: CitesSource.

Owns which sources an answer names, compared as sets. Knows nothing of whether they were read.
"""

from __future__ import annotations

import re
from typing import ClassVar

from nightgate.cases import Case
from nightgate.errors import InputError
from nightgate.evaluators.text import difference
from nightgate.patterns import Pattern
from nightgate.scores import Score, Status
from nightgate.trials import Trial

CITATION = r"\[([A-Z][A-Z0-9]*-[0-9A-Z]+)\]"


def cited_ids(text: str, pattern: str | Pattern) -> list[str]:
    """The ids that a text cites, in their order: the first group that matched, or the whole match.

    >>> cited_ids("Not after day 30 [KB-101], see [KB-7] and [KB-101].", CITATION)
    ['KB-101', 'KB-7', 'KB-101']
    """
    compiled = Pattern(pattern) if isinstance(pattern, str) else pattern
    return [next((group for group in match.groups() if group), match[0]) for match in compiled.matches(text)]


class CitesSource:
    """Pass if the answer cites exactly the expected sources; none expected means none allowed.

    Args:
        pattern: Regular expression; its first group that matched (or the whole match) is the source's id.
    """

    name: ClassVar[str] = "CitesSource"
    version: ClassVar[int] = 1

    def __init__(self, pattern: str = CITATION) -> None:
        try:
            self._pattern = Pattern(pattern)
        except re.error as error:
            msg = f"CitesSource: params.pattern {pattern!r} is no regular expression: {error}"
            raise InputError(msg) from error

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the citations of the final answer."""
        want = set(case.expect.cites or ())
        cited = set(cited_ids(trial.output, self._pattern))
        named = ", ".join(sorted(cited)) or "nothing"
        wanted = ", ".join(sorted(want)) or "nothing"
        passed = cited == want
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.PASS if passed else Status.FAIL,
            score=1.0 if passed else 0.0,
            reason=f"cited {named}, as expected" if passed else f"cited {named}, expected {wanted}",
            details={}
            if passed
            else difference(f"exactly {wanted} cited" if want else "nothing cited", f"{named} cited"),
        )
