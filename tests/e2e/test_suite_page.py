"""The page of a suite's nights from the shell, over a short simulated month."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightgate.rows.keys import summary_key
from nightgate.steps.simulated import NOTICE
from pagereader import Page, figures_of
from shell import Ran, nightgate

NIGHTS = 10
CHANGE, OUTAGE = 4, 6
"""Nights, from 1, on which it happens in so short a month."""
SUITES = ("support", "appointments")


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A month and, in ``pages/``, what was written of it."""
    root = tmp_path_factory.mktemp("suite-page")
    made = nightgate("demo", root / "month", "--nights", str(NIGHTS))
    assert made.code == 0, made.err
    for suite in SUITES:
        told = nightgate(
            "report", suite, "--store", root / "month" / "store", "--out", root / "pages" / suite
        )
        assert told.code == 0, told.err
    return root


def page_of(month: Path, suite: str) -> Page:
    """The page of a suite."""
    return Page.at(month / "pages" / suite / "index.html")


def asked(month: Path, command: str, *words: str | Path) -> Ran:
    """A command over the month's store."""
    return nightgate(command, *words, "--store", month / "month" / "store", "--json", "-")


def dates(month: Path) -> list[str]:
    """The days of the nights."""
    return [night["date"] for night in asked(month, "history", "support").json["nights"]]


@pytest.mark.parametrize("suite", SUITES)
def test_every_figure_equals_what_the_other_commands_say(month: Path, suite: str) -> None:
    """``history``, ``flaky`` and each night's summary, field by field."""
    wanted = figures_of(asked(month, "history", suite).json)
    trends = {path for path in wanted if path.startswith("/evaluators/") and "/changes/" not in path}
    wanted |= figures_of(asked(month, "flaky", suite).json, ("flaky",))
    for number in range(1, NIGHTS + 1):
        run_id = f"{suite}-night-{number:02d}"
        summary: dict[str, Any] = json.loads((month / "month" / "store" / summary_key(run_id)).read_text())
        wanted |= figures_of(summary, ("summaries", run_id))

    found = page_of(month, suite).figures

    assert len(found) > 300
    assert {path: values for path, values in found.items() if values != {wanted.get(path, "null")}} == {}
    assert {path for path in trends if "/mean_score/" not in path} <= set(found)


def test_the_change_of_the_model_stands_on_its_night(month: Path) -> None:
    """Told at the top, in the chart, in the table of figures, and above the board's column."""
    html = (month / "pages" / "support" / "index.html").read_text()
    day = dates(month)[CHANGE - 1]

    assert f"{day} support-night-{CHANGE:02d}: model scripted:baseline → scripted:upgraded" in (
        page_of(month, "support").text
    )
    assert f"Changed: model scripted:baseline → scripted:upgraded on {day}." in html
    column = html.split(f'title="support-night-{CHANGE:02d}"')[1].split("</th>")[0]
    assert '<span class="mark">model</span>' in column
    assert html.count('<span class="mark">model</span>') == 1


def test_the_flaky_case_is_flaky_and_what_the_model_broke_is_broken(month: Path) -> None:
    """One wavers all month, the others changed on a night and stay so."""
    text = page_of(month, "support").text

    assert "refund-in-window ToolPolicy ≈ flaky" in text
    assert "refund-in-window ToolPolicy ✗ broken" not in text
    since = dates(month)[CHANGE - 1]
    assert f"no-resolve-unconfirmed ToolPolicy ✗ broken since {since}" in text
    assert f"refund-out-of-window CitesSource ✗ broken since {since}" in text


@pytest.mark.parametrize(("suite", "judged"), [("support", "6 of 21"), ("appointments", "0 of 18")])
def test_the_outage_is_a_hole_and_no_drop(month: Path, suite: str, judged: str) -> None:
    """Its night is named, nothing of it lies on a line, and the lowest rate is another night's."""
    html = (month / "pages" / suite / "index.html").read_text()
    text = page_of(month, suite).text
    day = dates(month)[OUTAGE - 1]

    assert f"Holes: {day} ({judged} judged)." in text
    assert f">{judged}</text>" in html
    first = html.split('<svg class="chart"')[1].split("</svg>")[0]
    assert first.split('class="line line-0">')[1].split("</g>")[0].count("<path") == 2
    assert first.count("<circle") == NIGHTS - 1 + (suite == "support")
    if suite == "appointments":
        assert "100% to 100%. Wanted 100%. Holes" in text
        talks = html.split('aria-labelledby="talks-title')[1].split("</svg>")[0]
        assert talks.split('class="line line-0">')[1].split("</g>")[0].count("<path") == 2


def test_conversations_and_costs_have_their_parts(month: Path) -> None:
    """Where a suite has any."""
    assert "Conversations ended of planned" not in page_of(month, "support").text
    page = page_of(month, "appointments")

    assert "Quality by turn" in page.text
    run = f"/summaries/appointments-night-{NIGHTS:02d}"
    assert {f"{run}/cost_usd/{role}" for role in ("total", "agent", "judge", "user")} <= set(page.figures)
    assert {f"{run}/conversations/elicitation", f"{run}/endings/goal_met"} <= set(page.figures)


def test_pages_of_the_month_say_that_it_is_simulated(month: Path, tmp_path: Path) -> None:
    """The suites' own, and those of a run with its cases."""
    told = asked(month, "report", f"support-night-{CHANGE:02d}", "--out", tmp_path)

    assert told.code == 0, told.err
    for path in (*tmp_path.glob("*.html"), *(month / "pages").glob("*/index.html")):
        assert Page.at(path).text.startswith(f"Skip to the content {NOTICE}"), path.name


def test_a_suites_folder_is_as_good_as_its_name(month: Path, tmp_path: Path) -> None:
    """And the newest nights are as many as one wants."""
    told = asked(month, "report", month / "month" / "cases" / "support", "--nights", "3", "--out", tmp_path)

    assert told.code == 0, told.err
    assert (told.json["suite"], told.json["files"]) == ("support", 1)
    assert "support over 3 nights" in Page.at(tmp_path / "index.html").text


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("suport",), "did you mean latest:support?"),
        (("support", "--nights", "0"), "--nights 0: must be at least 1"),
        (("support-night-01", "--nights", "3"), "--nights: only with a suite; support-night-01 is a run"),
        (("support", "--series", "live"), "no complete run of support with live models"),
    ],
)
def test_what_cannot_be_shown_is_said(
    month: Path, tmp_path: Path, words: tuple[str, ...], error: str
) -> None:
    """In a line, with what to do."""
    told = asked(month, "report", *words, "--out", tmp_path / "out")

    assert told.code == 2
    assert error in told.err
    assert not (tmp_path / "out" / "index.html").exists()
