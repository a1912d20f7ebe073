"""Families and languages: labels that split a report in two when they are misspelt.

Owns the advice about both. A label is free text, so nothing here is an error; what is warned of is
only what hardly anybody means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from nightgate.cases.models import Case, Suite

_CODES = """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee
    el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io
    is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn
    mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se
    sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi
    vo wa wo xh yi yo za zh zu
"""
LANGUAGES = frozenset(_CODES.split())
"""ISO 639-1. Of three letters (ISO 639-3) there are too many to tell a right code from a slip."""

_MEANT: Mapping[str, str] = {
    "english": "en", "spanish": "es", "español": "es", "espanol": "es", "castellano": "es", "sp": "es",
    "french": "fr", "français": "fr", "german": "de", "deutsch": "de", "ger": "de", "italian": "it",
    "portuguese": "pt", "português": "pt", "dutch": "nl", "polish": "pl", "russian": "ru", "turkish": "tr",
    "japanese": "ja", "jp": "ja", "chinese": "zh", "cn": "zh", "korean": "ko", "kr": "ko", "arabic": "ar",
    "greek": "el", "gr": "el", "czech": "cs", "cz": "cs", "swedish": "sv", "danish": "da", "dk": "da",
    "eng": "en", "spa": "es", "fra": "fr", "fre": "fr", "deu": "de", "ita": "it", "por": "pt",
}  # fmt: skip
"""What people write in their place: names, countries, codes of three letters."""

_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})(?P<script>-[A-Z][a-z]{3})?(?P<region>-(?:[A-Z]{2}|[0-9]{3}))?"
    r"(?P<rest>(?:-(?:[0-9a-z]{5,8}|[0-9][0-9a-z]{3}))*(?:-[a-wyz0-9](?:-[0-9a-z]{2,8})+)*(?:-x(?:-[0-9a-z]{1,8})+)?)"
)
"""BCP 47 as it is written by convention: labels are compared as text."""

_ALIKE = 0.9
"""Likeness in [0, 1] from which one family's name is taken for a slip of another's."""


def labels(suite: Suite) -> Iterator[str]:
    """Warnings about the labels of a suite's cases."""
    yield from _unlabelled(suite)
    yield from _languages(suite)
    yield from _split(suite)


def _unlabelled(suite: Suite) -> Iterator[str]:
    for case in suite.cases:
        if case.family is not None and case.language is None:
            yield (
                f"{case.where}: case {case.id!r} of family {case.family!r} has no language; "
                "the report cannot tell which one fails"
            )


def _languages(suite: Suite) -> Iterator[str]:
    for case in suite.cases:
        for key, code in (
            ("language", case.language),
            ("expect.answer.language", case.expect.answer.language),
        ):
            problem = language_problem(code) if code is not None else None
            if problem is not None:
                yield f"{case.where}: case {case.id!r}: {key} {problem}"


def language_problem(code: str) -> str | None:
    """What is odd about a language code; None when nothing is.

    >>> language_problem("pt-BR") is None
    True
    >>> language_problem("english")
    "'english' is no language code; did you mean 'en'?"
    """
    match = _TAG.fullmatch(code)
    if match is not None and (len(match["language"]) == 3 or match["language"] in LANGUAGES):  # noqa: PLR2004
        meant = _MEANT.get(match["language"])
        if len(match["language"]) == 2 or meant is None:  # noqa: PLR2004
            return None
        return f"{code!r} has a code of two letters as well, {meant!r}; reports take them for two languages"
    written = _as_written(code)
    guess = f"; did you mean {written!r}?" if written is not None else "; write one such as en or pt-BR"
    return f"{code!r} is no language code{guess}"


def _as_written(code: str) -> str | None:
    """The tag that ``code`` most likely stands for: other marks or case, a name, a country."""
    first, *rest = re.split(r"[-_ ]", code.strip())
    cased = [part.title() if len(part) == 4 else part.upper() for part in rest]  # noqa: PLR2004 - a script
    tag = "-".join([first.lower(), *cased])
    if _TAG.fullmatch(tag) and first.lower() in LANGUAGES:
        return tag
    return _MEANT.get(code.strip().lower()) or _MEANT.get(first.lower())


def _split(suite: Suite) -> Iterator[str]:
    """Families of one case whose name is nearly another's: the same intent, counted as two."""
    members: dict[str, list[Case]] = {}
    for case in suite.cases:
        if case.family is not None:
            members.setdefault(case.family, []).append(case)
    told: set[str] = set()
    for name, (case, *others) in members.items():
        if others or name in told:
            continue
        for other, theirs in members.items():
            if other != name and _are_one(name, other, {case.language} & {it.language for it in theirs}):
                told.add(other)
                yield (
                    f"{case.where}: case {case.id!r} is alone in family {name!r}, and there is a family "
                    f"{other!r}; give both one name if they are the same intent"
                )
                break


def _are_one(name: str, other: str, shared: set[str | None]) -> bool:
    """Whether one name is most likely a slip of the other.

    A family holds one intent in several languages. Where both have a case in the same language, two
    intents with names that are alike (possible, impossible) are likelier than a slip of more than one letter.
    """
    if re.sub(r"\d+", "", name) == re.sub(r"\d+", "", other):
        return False  # numbered on purpose
    if name.casefold() == other.casefold():
        return True
    if abs(len(name) - len(other)) > 0.2 * max(len(name), len(other)):  # cannot be alike: saves the look
        return False
    matcher = SequenceMatcher(None, name, other, autojunk=False)
    if matcher.quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return False
    changed = sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")
    return not shared or changed == 1 or sorted(name) == sorted(other)
