from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nightgate.cases import load_suite
from nightgate.cases.families import labels, language_problem
from nightgate.cases.lint import lint
from shell import ROOT

Write = Callable[..., Path]


def _labels(write_suite: Write, *cases: tuple[str, str]) -> list[str]:
    """The warnings about cases of these families and languages."""
    text = "cases:\n" + "".join(
        f"  - {{id: c{number}, input: x, family: {family}, language: {language}, expect: {{cites: []}}}}\n"
        for number, (family, language) in enumerate(cases)
    )
    return list(labels(load_suite(write_suite({"cases.yaml": text}))))


@pytest.mark.parametrize(
    "code", ["en", "pt-BR", "zh-Hant", "zh-Hant-TW", "es-419", "gsw", "de-CH-1996", "ca"]
)
def test_a_language_code_of_the_standards_is_not_warned_of(code: str) -> None:
    """ISO 639-1, or BCP 47 as it is written by convention."""
    assert language_problem(code) is None


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("english", "en"),
        ("Español", "es"),
        ("EN", "en"),
        ("pt_BR", "pt-BR"),
        ("pt-br", "pt-BR"),
        ("zh_hant", "zh-Hant"),
        ("jp", "ja"),
        ("eng", "en"),
        ("cz", "cs"),
    ],
)
def test_a_language_that_is_written_otherwise_is_warned_of_with_its_code(code: str, meant: str) -> None:
    """The report would have taken the two for different languages."""
    assert meant in (language_problem(code) or "").partition(code)[2]


@pytest.mark.parametrize("code", ["xx", "x", "klingon", "en-", "en US!", "e1"])
def test_what_is_no_language_code_is_warned_of(code: str) -> None:
    """Without a guess it says what a code looks like."""
    assert "is no language code" in (language_problem(code) or "")


def test_the_warning_about_a_language_names_the_case(write_suite: Write) -> None:
    """With the file and line that editors jump to."""
    (warning,) = _labels(write_suite, ("window", "english"))

    assert "cases.yaml:2: case 'c0': language 'english' is no language code; did you mean 'en'?" in warning


def test_a_family_of_one_that_is_nearly_another_is_warned_of(write_suite: Write) -> None:
    """A misspelt family passes for itself, and the other one loses a language."""
    cases = [("refund-window", "en"), ("refund-window", "es"), ("refund-windwo", "de")]

    (warning,) = _labels(write_suite, *cases)

    assert "case 'c2' is alone in family 'refund-windwo', and there is a family 'refund-window'" in warning


def test_a_family_of_one_that_is_a_slip_away_is_warned_of_in_the_same_language_too(
    write_suite: Write,
) -> None:
    """Other wordings in one language are a family as well."""
    assert len(_labels(write_suite, ("refund-window", "en"), ("refund-windw", "en"))) == 1
    assert len(_labels(write_suite, ("refund-window", "en"), ("Refund-Window", "en"))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("refund-possible", "en"), ("refund-impossible", "en")),
        (("question-10", "en"), ("question-11", "es")),
        (("oldest-of-service", "en"), ("latest-of-service", "es")),
        (("closed-days", "en"), ("opening-hours", "es")),
        (("must-load", "en"), ("must-not-load", "es")),
    ],
)
def test_names_that_are_alike_on_purpose_are_not_warned_of(
    write_suite: Write, one: tuple[str, str], other: tuple[str, str]
) -> None:
    """Opposites and numbers; a warning that is wrong teaches to skip them all."""
    assert _labels(write_suite, one, other) == []


def test_two_families_of_several_cases_are_not_warned_of(write_suite: Write) -> None:
    """A slip is made once."""
    cases = [(name, language) for name in ("refund-window", "refund-windows") for language in ("en", "es")]

    assert _labels(write_suite, *cases) == []


@pytest.mark.parametrize("suite", ["support", "announcements", "skills", "appointments"])
def test_the_sample_suites_get_no_warning(suite: str) -> None:
    """They are what people copy."""
    assert lint(load_suite(ROOT / "cases" / suite)) == []
