"""The wording of the answer: AnswerPolicy.

Owns substrings, patterns and the language of the final answer. Any failed part fails, else any
part that cannot be told is not_applicable, else pass. Knows nothing of tools.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from nightgate.cases import Case
from nightgate.evaluators.text import clip, fold, fold_needle, fold_pattern
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
        if want.language is not None and verdict is False:
            broken.append(note)
        if broken:
            status, reason = Status.FAIL, "; ".join(broken) + f" (answer: {clip(trial.output)!r})"
        elif want.language is not None and verdict is None:
            status, reason = Status.NOT_APPLICABLE, note
        else:
            status, reason = Status.PASS, "the answer holds all that it must, and nothing that it must not"
        score = {Status.PASS: 1.0, Status.FAIL: 0.0}.get(status)
        return Score(evaluator=self.name, version=self.version, status=status, score=score, reason=reason)


def _broken_text(output: str, want: AnswerExpected) -> Iterator[str]:
    text = fold(output, exact=want.exact)
    found = functools.partial(_contains, text, exact=want.exact)
    for needle in want.contains:
        if not found(needle):
            yield f"lacks {needle!r}"
    if want.contains_any and not any(found(needle) for needle in want.contains_any):
        yield f"holds none of {', '.join(map(repr, want.contains_any))}"
    for needle in want.not_contains:
        if found(needle):
            yield f"holds forbidden {needle!r}"
    for pattern in want.matches:
        if not fold_pattern(pattern, exact=want.exact).search(text):
            yield f"matches no /{pattern}/"
    for pattern in want.not_matches:
        if fold_pattern(pattern, exact=want.exact).search(text):
            yield f"matches forbidden /{pattern}/"


def _contains(text: str, needle: str, *, exact: bool) -> bool:
    return fold_needle(needle, exact=exact) in text


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
