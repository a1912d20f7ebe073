"""The wording of the answer: AnswerPolicy.

Owns substrings, patterns and the language of the final answer. Any failed part fails, else any
part that cannot be told is not_applicable, else pass. Knows nothing of tools.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nightgate.cases import Case
from nightgate.evaluators.text import clip, difference, fold, fold_needle, fold_pattern
from nightgate.scores import Score, Status
from nightgate.trials import Trial

if TYPE_CHECKING:
    from nightgate.cases import AnswerExpected

_MIN_LETTERS = 12
"""Shorter answers ("OK.", "42") have no language that could be told."""

_SURE = 0.5
"""Below this share the best guess is no verdict."""
_APART = 0.25
"""Related languages closer than this cannot be told apart."""
_BESIDE = 40
"""Characters shown on each side of what is forbidden."""
_LONGEST_FIND = 80
_SILENT = re.compile(r"```.*?(?:```|\Z)|`[^`]*`|\w+://[!-~]+|\[[^\]\s]*\]", re.DOTALL)
"""Code, addresses and citations speak no language and tip short answers over."""
_SAME_LANGUAGE = {"no": "nb"}
"""Codes that the detector knows by another name."""


class AnswerPolicy:
    """Pass if the final answer holds what it must and nothing that it must not."""

    name: ClassVar[str] = "AnswerPolicy"
    version: ClassVar[int] = 1

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


def speaks(text: str, language: str) -> tuple[bool | None, str]:
    """Whether ``text`` is in ``language``.

    Args:
        text: The answer.
        language: ISO 639-1 code, a region may follow (``pt-BR`` is judged as ``pt``).

    Returns:
        True, False or None when it cannot be told, and a line that says why.
    """
    code = language.replace("_", "-").split("-")[0].lower()
    code = _SAME_LANGUAGE.get(code, code)
    spoken = " ".join(_SILENT.sub(" ", text).split())
    letters = sum(char.isalpha() for char in spoken)
    if letters < _MIN_LETTERS:
        return None, f"{letters} letters are too few to tell a language"
    detector, known = _detector()
    if code not in known:
        return None, f"the language check does not know {language!r}"
    ranked = detector.compute_language_confidence_values(spoken)
    best = ranked[0]
    best_code = best.language.iso_code_639_1.name.lower()
    share = next((r.value for r in ranked if r.language.iso_code_639_1.name.lower() == code), 0.0)
    if best_code == code:
        return True, f"the answer is in {code} ({share:.0%} sure)"
    if best.value < _SURE or best.value - share < _APART:
        return None, f"the answer may be {best_code} ({best.value:.0%}) or {code} ({share:.0%}): cannot tell"
    return False, f"the answer is in {best_code} ({best.value:.0%} sure), want {code}"


@functools.cache
def _detector() -> tuple[Any, frozenset[str]]:
    """The detector and the codes that it knows.

    Low-accuracy mode: all languages in 70 MiB and 0.3 s, where the full models take 900 MiB and 5 s;
    what it cannot tell becomes not_applicable, not a guess.
    """
    from lingua import Language, LanguageDetectorBuilder

    known = frozenset(language.iso_code_639_1.name.lower() for language in Language.all())
    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build(), known
