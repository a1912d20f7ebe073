"""The page of a suite's history, from its store."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hostile import BIDI, IMAGE, SCRIPT
from makers import a_score
from nightgate.cases import canonical_json
from nightgate.errors import MissingError
from nightgate.rows import keys
from nightgate.scores import Score, Status
from nightgate.steps.calibrating import calibration_key
from nightgate.steps.flakyboard import board
from nightgate.steps.histories import history
from nightgate.steps.simulated import mark_simulated
from nightgate.steps.suitepages import changed_parts, facts_of_suite, pages_of_suite
from nightgate.testing import InMemoryStore
from pagereader import Page, figures_of
from playedruns import BEGAN, a_run_plan, put_run

PARTS = {"model": "m", "system_prompt": "Be kind.", "tools": "t", "limits": {}, "sources": {"kb-index": "1"}}


def put_nights(store: InMemoryStore, *nights: dict[str, Any], case: str = "a") -> None:
    """One night a day; the second half of the trials of ``case`` fail where ``fails`` says so.

    Args:
        store: Where.
        *nights: Fields of each plan; besides ``day``, ``fails``, ``errors``.
        case: A case's id; another one is called b.
    """
    for number, given in enumerate(nights):
        fields = dict(given)
        began = BEGAN + timedelta(days=fields.pop("day", number))
        fails, errors = fields.pop("fails", False), fields.pop("errors", False)
        plan = a_run_plan(
            [case, "b"],
            ("ToolPolicy", "ToneJudge"),
            trials=2,
            **{
                "run_id": f"demo-{number}",
                "date": f"{began:%Y-%m-%d}",
                "started_at": began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "parts": PARTS,
                **fields,
            },
        )

        def score(name: str, trial: int, _: str, fails: bool = fails, errors: bool = errors) -> Score:
            if errors:
                return a_score(Status.ERROR, reason="down")
            failed = fails and name == case and trial == 1
            return a_score(Status.FAIL, reason="no", score=0.0) if failed else a_score(score=1.0)

        put_run(store, plan, score=score)


def the_page(store: InMemoryStore, **more: Any) -> Page:
    """The only page of suite ``demo``."""
    ((name, data),) = pages_of_suite(store, "demo", **more)
    assert name == "index.html"
    return Page(data)


@pytest.fixture
def store() -> InMemoryStore:
    """Three nights, the last of which fails in part."""
    made = InMemoryStore()
    put_nights(made, {}, {}, {"fails": True})
    return made


def test_every_figure_on_the_page_is_that_of_its_document(store: InMemoryStore) -> None:
    """Of the history, of the flake board, and of each night's summary; all trends are there."""
    store.replace(calibration_key("demo"), canonical_json(CALIBRATION))
    page = the_page(store)
    wanted = figures_of(history(store, "demo", keep=False)) | figures_of(board(store, "demo"), ("flaky",))
    wanted |= figures_of(CALIBRATION, ("calibration",))
    for number in range(3):
        summary = json.loads(store.read(keys.summary_key(f"demo-{number}")))
        wanted |= figures_of(summary, ("summaries", f"demo-{number}"))

    assert {
        path: values for path, values in page.figures.items() if values != {wanted.get(path, "null")}
    } == {}
    trends = {path for path in wanted if path.startswith("/evaluators/") and "/changes/" not in path}
    assert trends <= set(page.figures)
    assert {
        f"/summaries/demo-{n}/cost_usd/{role}" for n in range(3) for role in ("agent", "judge", "total")
    } <= set(page.figures)
    assert {f"/cases/0/nights/passed/{n}" for n in range(3)} <= set(page.figures)


CALIBRATION = {
    "schema": 2,
    "suite": "demo",
    "run_id": "demo-2",
    "calibrated_at": "2026-12-01T08:00:00+00:00",
    "judges": [
        {
            "evaluator": "ToneJudge",
            "judge_model": "scripted:judge",
            "word": "below the bar",
            "why": "kappa 0.20, wanted 0.6",
            "labels": {"passes": 21, "fails": 23},
            "kappa": {"value": 0.2, "interval": [0.05, 0.4]},
            "sensitivity": {"value": 0.9, "interval": [0.7, 0.98]},
            "specificity": {"value": None, "interval": None},
        }
    ],
}


def test_judges_that_were_calibrated_are_shown(store: InMemoryStore) -> None:
    """The word, the figures and why; without labels there is no such part."""
    assert "Judges held against people" not in the_page(store).text

    store.replace(calibration_key("demo"), canonical_json(CALIBRATION))

    assert "ToneJudge scripted:judge ✗ below the bar 0.2 (0.05 to 0.4)" in the_page(store).text


def test_nothing_on_the_page_runs_loads_or_is_unbalanced(store: InMemoryStore) -> None:
    """The shell's policy; charts carry neither styles nor handlers."""
    page = the_page(store)

    assert page.handlers == []
    assert page.unbalanced == page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("svg") == page.tags.count("desc") > 2


@pytest.mark.parametrize(
    ("parts", "what", "text"),
    [
        ({"system_prompt": "Be brief."}, "prompt", "system prompt"),
        ({"sources": {"kb-index": "2"}}, "source", "source kb-index"),
        ({"tools": "u"}, "tools", "tool or skill schemas"),
        ({"limits": {"turns": 3}}, "limits", "limits of a trial"),
        ({"model": "n"}, "model", "the script or the options of model scripted:agent"),
        ({}, "agent", "agent, in a part that the stored plan does not show"),
    ],
)
def test_what_changed_of_the_agent_is_told_on_its_night(parts: dict[str, Any], what: str, text: str) -> None:
    """A fingerprint that differs says nothing to a person."""
    store = InMemoryStore()
    put_nights(store, {}, {"parts": PARTS | parts, "fingerprint": "0" * 16})

    found = facts_of_suite(store, "demo")

    assert [(change.night, change.what, change.text) for change in found.changes] == [(1, what, text)]


def test_a_new_model_is_told_once_and_by_name() -> None:
    """Its digest among the parts is the same news."""
    store = InMemoryStore()
    put_nights(
        store, {}, {"model": "scripted:other", "parts": PARTS | {"model": "n"}, "fingerprint": "0" * 16}
    )

    (change,) = facts_of_suite(store, "demo").changes

    assert (change.what, change.text) == ("model", "model scripted:agent → scripted:other")
    assert (
        f"{BEGAN + timedelta(days=1):%Y-%m-%d} demo-1: model scripted:agent → scripted:other"
        in the_page(store).text
    )


def test_plans_without_parts_tell_none() -> None:
    """Older ones have none."""
    plan = a_run_plan(["a"], parts=PARTS)

    assert list(changed_parts(replace(plan, parts={}), plan)) == []


def test_a_night_without_judgements_and_one_that_never_came_are_holes() -> None:
    """Neither is a drop."""
    store = InMemoryStore()
    put_nights(store, {}, {}, {"errors": True}, {}, {"day": 5})

    text = the_page(store).text

    days = [f"{BEGAN + timedelta(days=day):%Y-%m-%d}" for day in (0, 2, 4, 5)]
    assert (
        f"100% on {days[0]}, 100% on {days[3]}; 100% to 100%. Wanted 100%. "
        f"Holes: {days[1]} (0 of 4 judged), {days[2]} (no night)." in text
    )
    assert f"Nights that never came: {days[2]}." in text


def test_a_damaged_summary_costs_its_night_the_interval_and_nothing_else(store: InMemoryStore) -> None:
    """What is wrong is said."""
    store.replace(keys.summary_key("demo-1"), b"{")

    page = the_page(store)

    assert "runs/demo-1/summary.json is no summary of a run" in page.text
    assert "/evaluators/0/pass_rate/1" in page.figures
    assert not any(path.startswith("/summaries/demo-1/") for path in page.figures)


def test_a_damaged_book_and_calibration_are_told_and_the_rest_is_shown(store: InMemoryStore) -> None:
    """The rows are whole."""
    store.replace(keys.flakiness_key("demo"), b"{}")
    store.replace(calibration_key("demo"), b'{"judges": 7}')

    page = the_page(store)

    assert "flaky cases cannot be shown" in page.text
    assert "the calibration cannot be shown" in page.text
    assert "/cases/0/nights/passed/2" in page.figures


def test_simulated_nights_say_so_on_top(store: InMemoryStore) -> None:
    """Nobody takes them for measured ones."""
    mark_simulated(store, {})

    assert the_page(store).text.startswith("Skip to the content Simulated data:")


def test_hostile_names_are_text() -> None:
    """Case ids and model specs are somebody's words."""
    store = InMemoryStore()
    put_nights(store, {"fails": True}, {"fails": True, "model": f"scripted:{IMAGE}"}, case=f"{SCRIPT}{BIDI}")

    ((_, data),) = pages_of_suite(store, "demo", series="scripted")
    page = Page(data)

    assert b"<script" not in data
    assert "\u202e" not in data.decode()
    assert page.handlers == []
    assert "<script>document.title='pwned'</script>refund ⟦U+202E⟧EVITAGEN" in page.text


def test_only_the_newest_nights_are_shown_where_so_many_are_asked_for(store: InMemoryStore) -> None:
    """As of the history."""
    assert "demo over 2 nights" in the_page(store, nights=2).text


def test_a_suite_without_nights_has_no_page() -> None:
    """And the error says what makes one."""
    with pytest.raises(MissingError, match=r"no complete run of demo in .*; `nightgate run` makes one"):
        list(pages_of_suite(InMemoryStore(), "demo"))


def test_the_board_is_limited_and_says_so(monkeypatch: pytest.MonkeyPatch, store: InMemoryStore) -> None:
    """A page of thousands of flaky cases would not open."""
    monkeypatch.setattr("nightgate.reports.pages.flakegrid.MOST_ROWS", 1)

    text = the_page(store).text

    assert "And 1 more: nightgate flaky demo --all lists them." in text
