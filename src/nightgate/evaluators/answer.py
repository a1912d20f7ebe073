"""The wording of the answer: AnswerPolicy.

Owns substrings, patterns and the language of the final answer. Any failed part fails, else any
part that cannot be told is not_applicable, else pass. Knows nothing of tools.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from nightgate.cases import Case
from nightgate.evaluators.languages import speaks
from nightgate.evaluators.text import clip, difference, fold, fold_needle, fold_pattern
from nightgate.scores import Score, Status
from nightgate.trials import Trial

if TYPE_CHECKING:
    from nightgate.cases import AnswerExpected

_BESIDE = 40
"""Characters shown on each side of what is forbidden."""
_LONGEST_FIND = 80


class AnswerPolicy:
    """Pass if the final answer holds what it must and nothing that it must not."""

    name: ClassVar[str] = "AnswerPolicy"
    version: ClassVar[int] = 2

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the final answer."""
        want = case.expect.answer
        broken = list(_broken_text(trial.output, want))
        verdict, note = (None, "") if want.language is None else speaks(trial.output, want.language)
        in_language = f"an answer in {want.language}"
        if want.language is not None and verdict is False:
            broken.append(_Broken(note, in_language, note.partition(", want ")[0]))
        details: dict[str, str] = {}
        if broken:
            status = Status.FAIL
            reason = "; ".join(part.reason for part in broken) + f" (answer: {clip(trial.output)!r})"
            details = _sides(broken, trial.output)
        elif want.language is not None and verdict is None:
            status, reason = Status.NOT_APPLICABLE, note
            details = _sides([_Broken(note, in_language, note)], trial.output)
        else:
            status, reason = Status.PASS, "the answer holds all that it must, and nothing that it must not"
        return Score(
            evaluator=self.name,
            version=self.version,
            status=status,
            score={Status.PASS: 1.0, Status.FAIL: 0.0}.get(status),
            reason=reason,
            details=details,
        )


class _Broken(NamedTuple):
    """A part of the check that does not hold."""

    reason: str
    expected: str
    observed: str = ""
    """Where the answer goes wrong; empty when the answer as a whole shows it."""


def _broken_text(output: str, want: AnswerExpected) -> Iterator[_Broken]:
    text = fold(output, exact=want.exact)
    found = functools.partial(_contains, text, exact=want.exact)
    for needle in want.contains:
        if not found(needle):
            yield _Broken(f"lacks {needle!r}", f"{needle!r} in the answer")
    if want.contains_any and not any(found(needle) for needle in want.contains_any):
        names = ", ".join(map(repr, want.contains_any))
        yield _Broken(f"holds none of {names}", f"one of {names} in the answer")
    for needle in want.not_contains:
        if found(needle):
            folded = fold_needle(needle, exact=want.exact)
            at = text.index(folded)
            around = _around(text, at, at + len(folded))
            yield _Broken(f"holds forbidden {needle!r}", f"no {needle!r} in the answer", around)
    for pattern in want.matches:
        if not fold_pattern(pattern, exact=want.exact).search(text):
            yield _Broken(f"matches no /{pattern}/", f"an answer that matches /{pattern}/")
    for pattern in want.not_matches:
        if match := fold_pattern(pattern, exact=want.exact).search(text):
            around = _around(text, *match.span())
            yield _Broken(f"matches forbidden /{pattern}/", f"no match of /{pattern}/ in the answer", around)


def _contains(text: str, needle: str, *, exact: bool) -> bool:
    return fold_needle(needle, exact=exact) in text


def _around(text: str, start: int, end: int) -> str:
    """What is forbidden with what stands beside it, from the text as it was compared."""
    end = min(end, start + _LONGEST_FIND)
    before, after = max(0, start - _BESIDE), end + _BESIDE
    return f"…{text[before:after]}…" if before or after < len(text) else text


def _sides(broken: Sequence[_Broken], output: str) -> dict[str, str]:
    """What the broken parts ask for, and where the answer differs, with the answer behind it."""
    places = dict.fromkeys(part.observed for part in broken if part.observed)
    answer = f"the answer {clip(output)!r}" if output.strip() else "an empty answer"
    return difference("; ".join(part.expected for part in broken), "; ".join([*places, answer]))
