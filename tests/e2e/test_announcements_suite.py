"""The announcements suite from the shell: each planted fault is caught by the layer that owns it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from shell import ROOT, Ran, nightgate

ANNOUNCEMENTS = ROOT / "cases" / "announcements"
CRITERIA = {
    "Criterion:same-language",
    "Criterion:faithful",
    "Criterion:real-titles",
    "Criterion:real-links",
    "Criterion:says-how-many",
    "Criterion:oldest-is-oldest",
}


def run(store: Path, *flags: str | Path, suite: Path = ANNOUNCEMENTS) -> Ran:
    return nightgate("run", suite, "--store", store, "--json", "-", *flags)


def failures(summary: Any) -> set[tuple[str, str, str]]:
    """(case, layer, evaluator) of every cell row that failed."""
    return {(row["case"], row["layer"], row["evaluator"]) for row in summary["cases"] if row["failed"]}


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("first-release"), "--model", "scripted:first-release")


@pytest.fixture(scope="module")
def bad_quality(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("bad-quality"), "--model", "scripted:bad-quality")


def test_check_has_nothing_to_warn_about() -> None:
    ran = nightgate("check", ANNOUNCEMENTS)

    assert ran.code == 0
    assert "49 cases, 49 trials, 71 cells" in ran.out
    assert "warning" not in (ran.out + ran.err).lower()


def test_baseline_passes_49_cases(tmp_path: Path) -> None:
    ran = run(tmp_path)

    assert ran.code == 0, ran.err
    assert ran.json["trials"]["planned"] == ran.json["trials"]["completed"] == 49
    assert ran.json["cells"]["pass"] == ran.json["cells"]["planned"] == 71
    by_layer: dict[str, set[str]] = {}
    for row in ran.json["cases"]:
        by_layer.setdefault(row["layer"], set()).add(row["case"])
    assert {layer: len(cases) for layer, cases in by_layer.items()} == {
        "behavior": 30,
        "parameter": 11,
        "quality": 8,
    }


def test_the_first_release_fails_in_exactly_the_planted_cells(first_release: Ran) -> None:
    """Three reports from the field and one more, each where it belongs and nowhere else."""
    assert first_release.code == 1, first_release.err
    assert failures(first_release.json) == {
        ("first-announcement-en", "behavior", "ToolPolicy"),
        ("first-announcement-en", "behavior", "AnswerPolicy"),
        ("year-2004-en", "behavior", "ToolPolicy"),
        ("first-announcement-order-es", "parameter", "ArgumentPolicy"),
        ("oldest-of-service-es", "parameter", "ArgumentPolicy"),
    }
    assert first_release.json["cells"]["not_applicable"] == 0
    assert first_release.json["cells"]["error"] == 0


def test_the_first_announcement_fails_in_both_languages_differently(first_release: Ran) -> None:
    details = first_release.json["family_details"]["first-announcement"]

    assert {language: told["outcome"] for language, told in details.items()} == {"en": "fail", "es": "fail"}
    assert {f["layer"] for f in details["en"]["failed_by"]} == {"behavior"}
    assert {f["layer"] for f in details["es"]["failed_by"]} == {"parameter"}


def test_the_oldest_of_a_service_passes_in_english_and_fails_in_spanish(first_release: Ran) -> None:
    assert first_release.json["families"]["oldest-of-service"] == {"en": "pass", "es": "fail"}


def test_no_other_family_fails(first_release: Ran) -> None:
    failed = {f for f, languages in first_release.json["families"].items() if "fail" in languages.values()}

    assert failed == {"first-announcement", "year-2004", "oldest-of-service"}


def test_the_terminal_names_the_family_that_fails_in_one_language(tmp_path: Path) -> None:
    ran = nightgate(
        "run", ANNOUNCEMENTS, "--store", tmp_path, "--model", "scripted:first-release", "--layer", "parameter"
    )

    assert ran.code == 1
    line = next(line for line in ran.out.splitlines() if "oldest-of-service" in line and "family" in line)
    assert re.search(r"en pass.*es fail", line)


def test_bad_quality_fails_the_quality_layer_only(bad_quality: Ran) -> None:
    assert bad_quality.code == 1, bad_quality.err
    assert failures(bad_quality.json) == {
        ("same-language-es", "quality", "Criterion:same-language"),
        ("faithful-price-en", "quality", "Criterion:faithful"),
        ("real-titles-es", "quality", "Criterion:real-titles"),
        ("real-links-en", "quality", "Criterion:real-links"),
        ("says-how-many-en", "quality", "Criterion:says-how-many"),
        ("oldest-is-oldest-en", "quality", "Criterion:oldest-is-oldest"),
    }


def test_bad_quality_fails_every_criterion_and_no_code(bad_quality: Ran) -> None:
    verdicts = {e["name"]: e["verdict"] for e in bad_quality.json["evaluators"]}

    assert {name for name, verdict in verdicts.items() if verdict == "fail"} == CRITERIA
    assert {name for name, verdict in verdicts.items() if verdict == "pass"} == {
        "ToolPolicy",
        "AnswerPolicy",
        "ArgumentPolicy",
    }


def with_script(folder: Path, replies: str) -> Path:
    """The suite with one more script, ``planted``."""
    suite = folder / "announcements"
    shutil.copytree(ANNOUNCEMENTS, suite)
    (suite / "scripts" / "planted.yaml").write_text(f"replies:\n{replies}")
    return suite


def test_an_out_of_scope_query_that_searches_all_the_same_fails(tmp_path: Path) -> None:
    """The words of the refusal are right; only the trace shows the search."""
    suite = with_script(
        tmp_path,
        "  weather-tomorrow-en:\n"
        "    - call: {search_announcements: {query: weather, sort_order: desc}}\n"
        "    - say: I’m sorry, I can’t help with that.\n",
    )

    ran = run(tmp_path / "s", "--model", "scripted:planted", "--case", "weather-tomorrow-en", suite=suite)

    assert ran.code == 1
    assert failures(ran.json) == {("weather-tomorrow-en", "behavior", "ToolPolicy")}
    assert "search_announcements" in ran.json["failures"][0]["reason"]


@pytest.mark.parametrize("apostrophe", ["'", "’", "ʼ"])
def test_a_wrong_refusal_is_caught_in_any_apostrophe(tmp_path: Path, apostrophe: str) -> None:
    """It searched, so the tools are right; the check on the words has to see it."""
    suite = with_script(
        tmp_path,
        "  first-announcement-en:\n"
        '    - call: {search_announcements: {query: "", sort_order: asc, all_history: true}}\n'
        f'    - say: "I can{apostrophe}t help with that."\n',
    )

    ran = run(tmp_path / "s", "--model", "scripted:planted", "--case", "first-announcement-en", suite=suite)

    assert failures(ran.json) == {("first-announcement-en", "behavior", "AnswerPolicy")}


def test_a_judge_that_is_shown_nothing_to_judge_cannot_tell(tmp_path: Path) -> None:
    """The shipped judge reads: an answer without a link says nothing about links, and is no pass."""
    suite = with_script(
        tmp_path,
        "  real-links-en:\n"
        '    - call: {search_announcements: {query: "", service: Belfry, year: 2025, sort_order: desc}}\n'
        "    - say: There are four.\n",
    )

    ran = run(tmp_path / "s", "--model", "scripted:planted", "--case", "real-links-en", suite=suite)

    assert ran.code == 3
    assert ran.json["cells"]["not_applicable"] == 1
