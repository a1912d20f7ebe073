"""Whether a text is in a language: yes, no, or cannot tell.

Owns what is left out before a text is looked at (code, addresses, quotations, names; lists, tables and
headings where something else is said), the looks of the detector and what is sure enough. A wrong
verdict would be a false failure or a false pass, so doubt is None, and so is a text in two languages.
Knows no case and no status.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

_MIN_LETTERS = 12
"""Shorter texts ("OK.", "42", "Cloud Vault (2004)") have no language that could be told."""
_PLENTY = 120
"""Letters from which the quick look is reliable by itself, where it is sure."""
_SURE = 0.9
_RIVALS = 4
"""Languages that the quick look finds likeliest and the exact one compares."""
_LEAST = 0.01
"""Share from which a language is a rival: each one's full model takes 15 MiB and stays."""
_APART = 0.6
"""Share of the wanted language against its nearest rival from which it is the one; 1 - it from which not."""
_FEW = 25
_FAR_APART = 0.2
"""The same for no, where the letters are few: the detector takes "No encontré nada." for French."""
_WORDS_APART = 2

_SILENT = re.compile(r"```.*?(?:```|\Z)|`[^`]*`|\w+://[!-~]+|\[[^\]\s]*\]", re.DOTALL)
"""Code, addresses and citations speak no language and tip short answers over."""
_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|«[^»\n]{1,200}»")
"""A title keeps its own language."""
_LISTED = re.compile(
    r"\s*(?:[-*+•‣◦▪●○·–—]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|#{1,6}\s|>|\||(\*\*|__).+\1[\s:.]*$)"
    r"|[^|.!?:。！？]*\s\|\s|[^\t]*\t[^\t]+\t"
)
"""Items of lists, rows of tables, headings, quoted lines: titles stand there, mostly without quotes."""
_SENTENCE_END = re.compile(r"(?<=[.!?…:])\s+|(?<=[。！？：])|\n+")
_FOREIGN = 40
"""Letters from which a sentence is told from one in a related language; fewer do for any other."""
_MOST_SENTENCES = 40
_MOST_SEARCHED = 8_000
"""Characters that are searched for parts in two languages."""
_SMALL_WORDS = 3
"""Different small words of the wanted language that a text in another one does not hold by accident."""
_PART_LETTERS, _PART_WORDS = 8, 2
"""The least that is taken for a part of a text in a language of its own."""
_RELATIVES = (
    frozenset({"es", "pt", "ca", "it", "fr", "ro", "la"}),
    frozenset({"da", "nb", "nn", "sv", "is"}),
    frozenset({"ru", "uk", "be", "bg", "mk", "sr"}),
    frozenset({"cs", "sk", "pl", "sl", "hr", "bs"}),
    frozenset({"nl", "af"}),
    frozenset({"id", "ms"}),
)
"""Languages so close that a few words of one read like the other."""
_AROUND = "\"'“”„«»‘’()[]{}*_.,;:!?¿¡…-–—"
_NORWEGIAN = {"no": "nb"}
"""``no`` is both forms of Norwegian; the detector knows it by the commoner one."""
_SAME = {"nb": "nn"}

_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "ca": "a al als amb aquest aquesta aquests aquí avui com de del dels després el els en es està "
        "fer gràcies han he hi hola i la les li mai me molt més ni no o on per perquè però qual "
        "quan que res se sense ser seu seva si sí són també tinc té un una va és",
        "en": "a about all also an and any are as at be but by can do for from has have he how i if in is "
        "it its me my no not of on one or our she so some that the their them there they this to us "
        "was we were what when which who will with you your",
        "es": "a al aquí como con cuando cuál de del donde el ella en encontré es esa ese eso esta este "
        "está están fue gracias ha han hay he hola hoy la las le les lo los mi muy más nada ni no "
        "nos nunca o para pero por porque puede que se ser si sin sobre son su sus sí también tengo "
        "tiene tu un una uno y ya",
        "fr": "a ai au aux avec ce ces cette comme dans de des du elle en est et il ils j'ai je la le les "
        "leur mais me mes moi n'est ne non nous on ou où par pas plus pour qu'il que qui sa se ses "
        "si son sont sur un une vos votre vous à été être",
        "gl": "a ao aos aquí as ata ben cal cando co coa como con da das de despois do dos dun dunha e "
        "ela en esa ese está están foi grazas hai hoxe lle mais moi na nada nas nin no non nos "
        "nunca o ola onde os ou para pero pola polo por porque que se sen ser seu si sobre son súa "
        "tamén ten teño un unha xa á é",
        "it": "a ad ai al alla anche c'è che chi ciao come con cosa da dal dei del della delle di dopo "
        "dove e ed essere gli grazie ha ho i il in la le lo ma mai mi ne nei nel nella niente non "
        "nulla né o oggi per perché più può quale quando quello questa questo qui se sei si sia "
        "sono su sua suo sì un una è",
        "pt": "a ao aos aqui as até com como da das de depois do dos e ela ele em encontrei essa esse "
        "esta este está estão eu foi ha hoje há isso já la lo mais mas mesmo muito na nada nas nem "
        "no nos nunca não o obrigado olá onde os ou para pela pelo por porque qual quando que se "
        "sem ser seu sim sua são também tem tenho um uma você à às é",
    }.items()
}
"""Words by which close relatives differ where letters do not: a table of what is written most."""


def speaks(text: str, language: str) -> tuple[bool | None, str]:
    """Whether ``text`` is in ``language``.

    Args:
        text: The answer.
        language: ISO 639-1 code, a region may follow (``pt-BR`` is judged as ``pt``).

    Returns:
        True, False or None when it cannot be told, and a line that says why.
    """
    code = language.replace("_", "-").split("-")[0].lower()
    code = _NORWEGIAN.get(code, code)
    prose = _prose(text)
    around = _letters(own_words(prose))
    spoken = own_words(prose if around >= _MIN_LETTERS else text)
    letters = _letters(spoken)
    if letters < _MIN_LETTERS:
        return None, f"{letters} letters are too few to tell a language"
    if code not in _languages():
        return None, f"the language check does not know {language!r}"
    verdict, note, other = _verdict(spoken, code)
    if verdict is False and around < _MIN_LETTERS and _letters(prose):
        return None, f"only a list or a table is in {other}, what is said around it is too short to tell"
    if verdict is False and _partly(prose, spoken, code, other):
        return None, f"the answer is in {other} and partly in {code}: cannot tell"
    if verdict is True and (foreign := _sentence(prose, code, wanted=False, least=_FEW)):
        return None, f"the answer is in {code} and partly in {foreign}: cannot tell"
    return verdict, note


def _verdict(spoken: str, code: str) -> tuple[bool | None, str, str]:
    """Verdict and reason of a text as a whole, and the likeliest other language."""
    letters = _letters(spoken)
    shares = _shares(spoken, code)
    mine = shares.get(code, 0.0)
    other, theirs = max(
        ((rival, share) for rival, share in shares.items() if rival not in (code, _SAME.get(code))),
        key=lambda rival: rival[1],
        default=("another", 0.0),  # both forms of one language are all that is likely
    )
    between = mine / (mine + theirs) if mine + theirs else 0.5
    few, leads = letters < _FEW, _leads(spoken, code)
    trails = min(leads.values(), default=0)
    if between >= _APART and trails > (-1 if few else -_WORDS_APART):
        return True, f"the answer is in {code} ({mine:.0%} sure)", other
    if between <= (_FAR_APART if few else 1 - _APART) and leads.get(other, 0) < _WORDS_APART:
        return False, f"the answer is in {other} ({theirs:.0%} sure), want {code}", other
    if between < _APART and leads.get(other, 0) >= _WORDS_APART and trails >= 0:
        return True, f"the answer is in {code}, by its small words", other
    if between < _APART and leads.get(other, 0) <= -_WORDS_APART:
        return False, f"the answer is in {other}, by its small words, want {code}", other
    likely = other if between < _APART else min(leads, key=lambda rival: leads[rival])
    return None, f"the answer may be in {likely} or in {code}: cannot tell", other


def _prose(text: str) -> str:
    """The lines of a text that are no items, rows or headings; lines set in below an item belong to it."""
    lines: list[str] = []
    listed = False
    for line in _SILENT.sub(" ", text).splitlines():
        listed = bool(_LISTED.match(line)) or (listed and (line.startswith(("  ", "\t")) or not line.strip()))
        if not listed:
            lines.append(line)
    return "\n".join(lines)


def _partly(prose: str, spoken: str, code: str, other: str) -> bool:
    """Whether a part of a text in ``other`` is in ``code``: a sentence around a title, or before another."""
    if _sentence(prose, code, wanted=True, least=_MIN_LETTERS):
        return True
    if _related(code, other):
        return False  # the detector takes half a sentence of the one for the other
    small = _WORDS.get(code, frozenset()) - _WORDS.get(other, frozenset())
    if (
        other in _WORDS
        and len({word.strip(_AROUND).lower() for word in spoken.split()} & small) >= _SMALL_WORDS
    ):
        return True
    spoken = spoken[:_MOST_SEARCHED]
    for part in _exact(frozenset({code, other})).detect_multiple_languages_of(spoken):
        text = spoken[part.start_index : part.end_index]
        if _code(part.language) != code or part.word_count < _PART_WORDS or _letters(text) < _PART_LETTERS:
            continue
        shares = _shares(text, code)
        if shares.get(code, 0.0) >= _APART * max(shares.values()):
            return True
    return False


def _related(code: str, other: str) -> bool:
    return any(code in family and other in family for family in _RELATIVES)


def _sentence(prose: str, code: str, *, wanted: bool, least: int) -> str | None:
    """The language of a sentence that surely is (or is not) in ``code``; None when there is none.

    Args:
        prose: The text.
        code: The language that is asked for.
        wanted: The verdict that is looked for.
        least: Letters from which a sentence counts.
    """
    sentences = _SENTENCE_END.split(_QUOTED.sub(" ", _SILENT.sub(" ", prose)))
    own = [own_words(sentence) for sentence in sentences]
    if wanted:  # German nouns look like names
        own = [own if _letters(own) >= least else whole for own, whole in zip(own, sentences, strict=True)]
    long = [sentence for sentence in own if _letters(sentence) >= least]
    for sentence in long[:_MOST_SENTENCES] if len(sentences) > 1 else ():
        verdict, _, other = _verdict(sentence, code)
        if verdict is wanted and (_letters(sentence) >= _FOREIGN or not _related(code, other)):
            return code if wanted else other
    return None


def own_words(text: str) -> str:
    """What of a text is said in its own language: no code, address, citation, quotation or name.

    A text that is nothing but those is taken whole: all in capitals, or one long quotation.

    >>> own_words('El primero es "Introducing Cloud Vault" (2004), de Amazon S3. No hay otro.')
    'El primero es de No hay otro.'
    """
    told = _SILENT.sub(" ", text)
    plain = "\n".join(" ".join(_nameless(line.split())) for line in _QUOTED.sub(" ", told).splitlines())
    return " ".join((plain if _letters(plain) else told).split())


def _nameless(words: Iterable[str]) -> Iterable[str]:
    """The words of a line without names: capitals inside a sentence, or several of them in a row."""
    run: list[str] = []
    opening = starts = True
    for word in words:
        core = word.strip(_AROUND)
        if core and (core[0].isupper() or core[0].isdigit()):
            if not run:
                starts = opening
            run.append(word)
            if core[-1] == word[-1]:  # no sign ends the row
                opening = False
                continue
            yield from run if len(run) == 1 and starts else ()
            run = []
        else:
            yield from run if len(run) == 1 and starts else ()
            run = []
            yield word
        opening = word[-1] in ".!?:" or (opening and not any(map(str.isalpha, word)))
    yield from run if len(run) == 1 and starts else ()


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _shares(spoken: str, code: str) -> dict[str, float]:
    """Code -> share: of the quick look where that is sure, else of the exact one among the likeliest."""
    ranked = _quick().compute_language_confidence_values(spoken)
    if _letters(spoken) < _PLENTY or ranked[0].value < _SURE:
        rivals = {_code(found.language) for found in ranked[:_RIVALS] if found.value >= _LEAST}
        ranked = _exact(frozenset({code, *rivals})).compute_language_confidence_values(spoken)
    return {_code(found.language): found.value for found in ranked}


def _leads(spoken: str, code: str) -> dict[str, int]:
    """How many more small words ``code`` has than each other language of the table, shared ones aside."""
    words = [word.strip(_AROUND).lower() for word in unicodedata.normalize("NFC", spoken).split()]
    own = _WORDS.get(code, frozenset())
    return {
        rival: sum(word in own for word in words) - sum(word in theirs for word in words)
        for rival, theirs in _WORDS.items()
        if own and rival != code
    }


def _code(language: Any) -> str:
    return str(language.iso_code_639_1.name.lower())


@functools.cache
def _languages() -> Mapping[str, Any]:
    from lingua import Language

    return {_code(language): language for language in Language.all()}


@functools.cache
def _quick() -> Any:
    """All languages in 70 MiB and 0.3 s, where their full models take 900 MiB and 5 s."""
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()


@functools.cache
def _exact(codes: frozenset[str]) -> Any:
    """The full models of a few languages: 15 MiB and 0.1 s each at their first use, shared by all sets."""
    from lingua import LanguageDetectorBuilder

    chosen = [_languages()[code] for code in sorted(codes)]
    # The detector wants two at least; a set of one means that all likeliest are the one.
    chosen += [] if len(chosen) > 1 else [_languages()["en" if "en" not in codes else "es"]]
    return LanguageDetectorBuilder.from_languages(*chosen).build()
