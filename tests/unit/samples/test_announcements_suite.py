"""The suite's cases and scripts fit together, and every good answer is true to the archive.

Reads the files as plain YAML and judges them by hand, so that these tests hold the sample data and
not nightgate's own evaluators to account.
"""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from nightgate_samples.announcements.agent import _tools
from nightgate_samples.announcements.archive import Archive
from nightgate_samples.announcements.generate import announcements

SUITE = Path(__file__).parents[3] / "cases" / "announcements"
ID = re.compile(r"\bBW-\d+\b")
QUOTED = re.compile(r'"([^"]+)"')
URL = re.compile(r"https?://\S*[^\s.,]")
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january enero janeiro",
            "february febrero",
            "march marzo",
            "april abril",
            "may mayo",
            "june junio",
            "july julio",
            "august agosto",
            "september septiembre",
            "october octubre",
            "november noviembre",
            "december diciembre",
        ),
        start=1,
    )
    for name in names.split()
}
WRITTEN_DATE = re.compile(rf"\b(\d{{1,2}}) (?:de )?({'|'.join(MONTHS)}) (?:de )?(20\d\d)\b", re.IGNORECASE)
ISO_DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
PLANTED = {
    "first-release": [
        "first-announcement-en",
        "first-announcement-es",
        "year-2004-en",
        "first-announcement-order-es",
        "oldest-of-service-es",
    ],
    "bad-quality": [
        "same-language-es",
        "faithful-price-en",
        "real-titles-es",
        "real-links-en",
        "says-how-many-en",
        "oldest-is-oldest-en",
    ],
}


def read(path: Path):
    return YAML(typ="safe", pure=True).load(path)


CASES = {case["id"]: case for path in sorted(SUITE.glob("*.yaml")) for case in read(path).get("cases", [])}
REPLIES = {name: read(SUITE / "scripts" / f"{name}.yaml")["replies"] for name in ("baseline", *PLANTED)}


def calls(script: str, case_id: str) -> list[tuple[str, dict]]:
    return [call for step in REPLIES[script][case_id] for call in step.get("call", {}).items()]


def answer(script: str, case_id: str) -> str:
    return REPLIES[script][case_id][-1]["say"]


@pytest.fixture(scope="module")
def returned():
    """What the real tools return to the calls of a script's case."""
    archive = Archive()
    tools = {tool.tool_name: tool for tool in _tools(archive)}

    def results(script: str, case_id: str) -> str:
        return "\n".join(tools[name](**arguments) for name, arguments in calls(script, case_id))

    yield results
    archive.close()


def test_49_cases_split_30_11_8() -> None:
    assert Counter(case["layer"] for case in CASES.values()) == {
        "behavior": 30,
        "parameter": 11,
        "quality": 8,
    }


@pytest.mark.parametrize("key", ["why", "family", "language", "tags", "input", "expect"])
def test_every_case_says(key: str) -> None:
    """Why above all: a case without its story is dropped at the first doubt."""
    assert [case_id for case_id, case in CASES.items() if not case.get(key)] == []


def test_no_two_cases_give_the_same_reason_but_by_reference() -> None:
    reasons = Counter(case["why"] for case in CASES.values())

    assert [why for why, n in reasons.items() if n > 1 and not why.startswith("As in English")] == []


def test_english_and_spanish_stand_beside_each_other() -> None:
    languages = Counter(case["language"] for case in CASES.values())
    families = defaultdict(set)
    for case in CASES.values():
        families[case["family"]].add(case["language"])

    assert set(languages) == {"en", "es", "pt", "fr", "de"}
    assert languages["es"] >= 15
    assert sum({"en", "es"} <= spoken for spoken in families.values()) >= 12


def test_the_layers_ask_for_different_evaluators() -> None:
    """A fault is then caught by the layer that owns it, and by no other by accident."""
    asked = defaultdict(set)
    for case in CASES.values():
        asked[case["layer"]] |= set(case["expect"])

    assert asked == {"behavior": {"tools", "answer"}, "parameter": {"arguments"}, "quality": {"judge"}}


def test_each_quality_case_has_one_criterion() -> None:
    assert {len(case["expect"]["judge"]) for case in CASES.values() if case["layer"] == "quality"} == {1}


def test_cases_of_one_criterion_ask_it_in_the_same_words() -> None:
    """The evaluator's name is the criterion's; two wordings under one name would be two evaluators."""
    words = defaultdict(set)
    for case in CASES.values():
        for judged in case["expect"].get("judge", []):
            words[judged["id"]].add(judged["criterion"])

    assert {criterion: len(said) for criterion, said in words.items() if len(said) > 1} == {}


def test_no_parameter_case_repeats_the_refused_question() -> None:
    """Refused, it has no arguments: one fault would fail in two layers."""
    refused = CASES["first-announcement-en"]["input"]
    asked = [case["input"] for case in CASES.values() if case["layer"] == "parameter"]

    assert refused not in asked
    assert CASES["first-announcement-es"]["input"] in asked


def test_out_of_scope_forbids_every_tool_and_has_a_neighbour_that_must_be_answered() -> None:
    tags = Counter(tag for case in CASES.values() for tag in case["tags"])
    out = [case for case in CASES.values() if case["expect"].get("tools", {}).get("must_not_call") == ["*"]]

    assert len(out) >= 6
    assert tags["out-of-scope"] >= 6
    assert tags["must-answer"] >= 4


@pytest.mark.parametrize("script", REPLIES)
def test_scripts_reply_to_every_case_and_to_no_other(script: str) -> None:
    """A misspelt id would leave a case without a reply."""
    assert set(REPLIES[script]) == set(CASES)


@pytest.mark.parametrize("script", PLANTED)
def test_a_bad_script_differs_from_the_baseline_in_its_planted_replies_only(script: str) -> None:
    differing = [case_id for case_id in CASES if REPLIES[script][case_id] != REPLIES["baseline"][case_id]]

    assert sorted(differing) == sorted(PLANTED[script])


@pytest.mark.parametrize("script", PLANTED)
def test_every_planted_reply_says_so(script: str) -> None:
    """The file has to read as what it is, to whoever opens it first."""
    text = (SUITE / "scripts" / f"{script}.yaml").read_text()

    for case_id in PLANTED[script]:
        first_line = text.split(f"\n  {case_id}:\n")[1].splitlines()[0].strip()
        assert first_line.startswith(("# Planted", "# The same model")), case_id


@pytest.mark.parametrize("case_id", CASES)
def test_baseline_answers_are_true_to_what_the_tools_returned(case_id: str, returned) -> None:
    """Every id, title, link and date in an answer stands in the results of the calls before it."""
    said, seen = answer("baseline", case_id), returned("baseline", case_id)

    for pattern in (ID, QUOTED, URL, ISO_DATE):
        assert [found for found in pattern.findall(said) if found not in seen] == []


@pytest.mark.parametrize("case_id", CASES)
def test_baseline_dates_written_in_words_are_dates_that_the_tools_returned(case_id: str, returned) -> None:
    said, seen = answer("baseline", case_id), returned("baseline", case_id)

    for day, month, year in WRITTEN_DATE.findall(said):
        assert f"{year}-{MONTHS[month.lower()]:02d}-{int(day):02d}" in seen


@pytest.mark.parametrize("case_id", CASES)
def test_baseline_links_belong_to_their_titles(case_id: str, returned) -> None:
    """Two real halves can make a false whole."""
    said, seen = answer("baseline", case_id), returned("baseline", case_id)

    titles, links = QUOTED.findall(said), URL.findall(said)
    assert len(titles) == len(links)
    for title, link in zip(titles, links, strict=True):
        assert f"| {title} | {link}" in seen


@pytest.mark.parametrize("case_id", CASES)
def test_baseline_says_how_many_there_are_when_it_shows_fewer(case_id: str, returned) -> None:
    head = re.search(r"Showing \d+ of (\d+)", returned("baseline", case_id))
    shown = len(URL.findall(answer("baseline", case_id)))
    words = {"5": "five", "9": "(nine|nueve)", "3": "(three|tres)"}

    if head is not None and shown < int(head[1]):
        total = words.get(head[1], head[1])
        assert re.search(rf"\b({total}|{head[1]})\b", answer("baseline", case_id)), head[0]


def test_the_first_announcement_that_the_cases_expect_is_the_first() -> None:
    first = announcements()[0]

    assert (first.service, first.date.isoformat()) == ("Courier", "2004-05-11")
    assert "Courier on 11 May 2004" in CASES["first-announcement-en"]["expected_output"]


def test_the_price_cut_of_the_whole_history_case_is_outside_of_the_window() -> None:
    """Otherwise the answer would be right without all_history, and the case would test nothing."""
    archive = Archive()

    def total(*, all_history: bool) -> int:
        return archive.search("price cut", sort_order="asc", service="Courier", all_history=all_history).total

    assert total(all_history=False) == 0
    assert total(all_history=True) == 9


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_oldest_and_the_newest_of_the_service_differ(language: str) -> None:
    """With one announcement the wrong direction would find the right one."""
    entry = CASES[f"oldest-of-service-{language}"]["expect"]["arguments"][0]
    archive = Archive()

    asc = archive.search(**{**entry["where"], "sort_order": "asc"}, all_history=True, limit=1)
    desc = archive.search(**{**entry["where"], "sort_order": "desc"}, all_history=True, limit=1)

    assert asc.records != desc.records


def test_the_invented_title_of_bad_quality_is_invented_and_the_changed_link_is_changed(returned) -> None:
    known = {a.title for a in announcements()} | {a.url for a in announcements()}

    titles = QUOTED.findall(answer("bad-quality", "real-titles-es"))
    links = URL.findall(answer("bad-quality", "real-links-en"))

    assert [title for title in titles if title not in known] == ["Stow is now available in the Oslo region"]
    assert [link for link in links if link not in known] == [
        "https://news.brindlewick.example/2025/08/belfry-is-now-available"
    ]


def test_bad_quality_calls_what_the_baseline_calls() -> None:
    """Its faults are in the answers only: no other layer can see them."""
    assert {c: calls("bad-quality", c) for c in CASES} == {c: calls("baseline", c) for c in CASES}


def test_refusals_are_written_with_typographic_apostrophes_and_checked_with_straight_ones() -> None:
    """Models write the one, people type the other; neither side may be escaped by it."""
    for script, case_id in (("baseline", "weather-tomorrow-en"), ("first-release", "first-announcement-en")):
        wanted = CASES[case_id]["expect"]["answer"]
        needles = [*wanted.get("contains_any", []), *wanted.get("not_contains", [])]
        said = answer(script, case_id)

        assert "can’t" in said
        assert "can't" not in said
        assert any("can't" in needle for needle in needles)
        assert [needle for needle in needles if needle in said] == []
