"""Trends as lines: figures, holes and marks."""

from __future__ import annotations

from nightgate.reports.history import render, spark
from nightgate.steps.histories import history
from nightgate.testing import InMemoryStore
from storednights import outcomes, put_night


def lines(*words: dict[str, str], every: bool = False) -> list[str]:
    """The lines of these nights."""
    store = InMemoryStore()
    for night, results in enumerate(words):
        put_night(store, night, outcomes(results))
    return render(history(store, "demo"), every=every).split("\n")


def test_a_hole_is_drawn_as_a_hole() -> None:
    """An outage must not look like a night in which all failed."""
    assert spark([1.0, None, 0.0]) == "█·▁"


def test_more_nights_than_fit_leave_the_oldest_out() -> None:
    """With a sign that there were more."""
    assert spark([0.0] * 60 + [1.0] * 60) == "…" + "█" * 60


def test_cases_that_failed_are_listed_and_the_rest_is_counted() -> None:
    """The worst first; what always passed is a number."""
    found = lines({"a": "ppp", "b": "ppf", "c": "fff"}, {"a": "ppp", "b": "ppp", "c": "fff"})

    listed = [line.split()[0] for line in found if line.startswith("  ") and " of " in line]
    assert listed == ["c", "b"]
    assert found[-1] == "  1 passed whenever they were judged"


def test_everything_is_listed_when_asked_for() -> None:
    """``--all``."""
    assert any(line.split()[:1] == ["a"] for line in lines({"a": "ppp"}, every=True))


def test_a_night_without_a_verdict_is_said() -> None:
    """The newest figure is not taken from the night before."""
    assert "not judged last night" in "\n".join(lines({"a": "ppp"}, {"a": "eee"}))


def test_control_characters_of_a_case_id_are_stripped() -> None:
    """Ids are people's; a line must stay a line."""
    assert "\x1b" not in "\n".join(lines({"a\x1b[2J": "fff"}))


def test_what_was_never_judged_did_not_pass() -> None:
    """An evaluator that was down for all nights."""
    found = lines({"a": "ppp", "b": "eee"}, {"a": "ppp", "b": "eee"})

    assert found[-2:] == ["  1 passed whenever they were judged", "  1 never judged: --all lists them"]


def test_the_other_series_is_shown_when_asked_for() -> None:
    """Runs of scripts hide those of real models, as long as they are newer."""
    store = InMemoryStore()
    put_night(store, 0, outcomes({"a": "fff"}), model="openai:x")
    put_night(store, 1, outcomes({"a": "ppp"}))

    found = render(history(store, "demo", series="live")).split("\n")

    assert found[0].startswith("history demo: 1 night from 2026-11-01 to 2026-11-01 (live)")
    assert history(InMemoryStore(), "demo", series="live")["nights"] == []
