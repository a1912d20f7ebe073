"""Trends from the summaries table: figures, holes, marks, and months that are compacted."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.errors import DamagedError
from nightgate.rows import keys
from nightgate.steps.histories import compact_months, history
from nightgate.testing import InMemoryStore
from storednights import Outcome, a_night_id, at, outcomes, put_night


def nights(*words: dict[str, str], **more: Any) -> InMemoryStore:
    """A store with these nights."""
    store = InMemoryStore()
    for night, results in enumerate(words):
        put_night(store, night, outcomes(results), **more)
    return store


def case_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The trend of a case."""
    return next(row for row in found["cases"] if row["case"] == name)


def test_a_trend_has_one_entry_a_night_and_adds_up() -> None:
    """Counts of an evaluator are those of its cases."""
    found = history(nights({"a": "ppp", "b": "ppf"}, {"a": "pff", "b": "ppp"}), "demo")

    assert [night["run_id"] for night in found["nights"]] == [a_night_id(0), a_night_id(1)]
    (evaluator,) = found["evaluators"]
    assert (evaluator["passed"], evaluator["judged"]) == ([5, 4], [6, 6])
    assert case_of(found, "a")["nights"] == {"passed": [3, 1], "judged": [3, 3]}


def test_a_night_without_a_figure_is_a_hole_and_no_drop() -> None:
    """An outage, and a case that was not there yet."""
    found = history(nights({"a": "ppp"}, {"a": "eee", "b": "ppp"}), "demo")

    assert case_of(found, "a")["nights"] == {"passed": [3, None], "judged": [3, None]}
    assert case_of(found, "b")["nights"] == {"passed": [None, 3], "judged": [None, 3]}
    assert case_of(found, "a")["judged"] == 3


def test_an_evaluator_that_was_not_judged_has_no_rate() -> None:
    """Null, never zero; what was planned stays visible."""
    (evaluator,) = history(nights({"a": "ppp"}, {"a": "eee"}), "demo")["evaluators"]

    assert evaluator["pass_rate"] == [1.0, None]
    assert evaluator["planned"] == [3, 3]


@pytest.mark.parametrize(
    ("second", "what"),
    [({"hashes": {"a": "edited"}}, "case"), ({"version": 2}, "evaluator"), ({"judge": "other"}, "judge")],
)
def test_marks_say_where_two_nights_do_not_compare(second: dict[str, Any], what: str) -> None:
    """A step in a line with such a mark is no change of the agent."""
    store = nights({"a": "ppp"})
    put_night(store, 1, outcomes({"a": "fff"}), **second)

    found = history(store, "demo")

    assert case_of(found, "a")["changes"] == [{"night": 1, "what": what}]
    assert found["evaluators"][0]["changes"] == [{"night": 1, "what": what, "cases": 1}]


def test_a_hole_is_no_change() -> None:
    """The night after it is held against the night before it."""
    store = nights({"a": "ppp", "b": "ppp"}, {"b": "ppp"}, {"a": "ppp", "b": "ppp"})

    assert case_of(history(store, "demo"), "a")["changes"] == []


def test_a_changed_model_is_marked_at_its_night() -> None:
    """The line goes on: that is what it is drawn for."""
    store = nights({"a": "ppp"})
    put_night(store, 1, outcomes({"a": "ppp"}), model="scripted:next")

    assert [night["changed"] for night in history(store, "demo")["nights"]] == [[], ["model"]]


def test_the_newest_nights_are_shown() -> None:
    """Across months, and no more than were asked for."""
    store = nights(*[{"a": "ppp"}] * 70)

    found = history(store, "demo", nights=40)

    assert [night["run_id"] for night in found["nights"]] == [a_night_id(n) for n in range(30, 70)]


def test_reruns_and_parts_of_a_suite_are_no_nights() -> None:
    """They would show as drops of a suite that is whole."""
    store = nights({"a": "ppp"})
    put_night(store, 1, outcomes({"a": "fff"}), kind="rerun", parent=a_night_id(0))
    put_night(store, 2, outcomes({"a": "fff"}), filters={"case": ["a"]})

    assert len(history(store, "demo")["nights"]) == 1


def test_compacted_months_tell_the_same() -> None:
    """From one object a month, and from 70 of them."""
    store = nights(*[{"a": "ppf", "b": "ppp"}] * 70)
    whole = history(store, "demo", nights=70, keep=False)

    assert not store.find(keys.history_prefix("demo"))
    history(store, "demo", nights=70)
    assert len(store.find(keys.history_prefix("demo"))) == 3
    assert history(store, "demo", nights=70) == whole


def test_a_run_that_came_late_is_read_beside_what_was_compacted() -> None:
    """What was compacted is never trusted over the manifests."""
    store = nights(*[{"a": "ppp"}] * 3)
    history(store, "demo")
    put_night(store, 1, outcomes({"a": "fff"}), run_id="late")

    found = history(store, "demo")

    assert [night["run_id"] for night in found["nights"]] == [
        a_night_id(0), a_night_id(1), "late", a_night_id(2),
    ]  # fmt: skip
    assert case_of(found, "a")["nights"]["passed"] == [3, 3, 0, 3]


def test_a_run_without_a_manifest_is_not_told_from_what_was_compacted() -> None:
    """Only a manifest makes a run."""
    store = nights(*[{"a": "ppp"}] * 3)
    history(store, "demo")
    store.delete([keys.manifest_key("demo", at(1).date(), a_night_id(1))])

    assert [night["run_id"] for night in history(store, "demo")["nights"]] == [a_night_id(0), a_night_id(2)]


def test_a_compacted_month_that_is_damaged_is_made_again() -> None:
    """It is derived."""
    store = nights(*[{"a": "ppp"}] * 3)
    whole = history(store, "demo")
    (key,) = store.find(keys.history_prefix("demo"))
    store.replace(key, b"PAR1 torn")

    assert history(store, "demo") == whole
    assert store.read(key) != b"PAR1 torn"


def test_rows_that_are_not_those_committed_are_refused() -> None:
    """A figure from damaged rows would look like any other."""
    store = nights({"a": "ppp"})
    key = keys.summaries_key("demo", at(0).date(), a_night_id(0))
    store.replace(key, store.read(key)[:-1] + b"x")

    with pytest.raises(DamagedError, match="sha256"):
        history(store, "demo")


def test_only_months_that_are_over_are_compacted_by_the_nights() -> None:
    """The month under way changes each night."""
    store = nights(*[{"a": "ppp"}] * 35)

    assert compact_months(store, "demo", before=at(34).date()) == 1
    assert compact_months(store, "demo", before=at(34).date()) == 0
    assert store.find(keys.history_prefix("demo")) == ["history/demo/2026-11.parquet"]


def test_filters_leave_what_was_asked_for() -> None:
    """By evaluator and by case."""
    store = InMemoryStore()
    both = {(case, name): Outcome(3, 0, 3) for case in ("refund-late", "hello") for name in ("E", "F")}
    put_night(store, 0, both)

    found = history(store, "demo", evaluator="F", case="refund*")

    assert [(row["case"], row["evaluator"]) for row in found["cases"]] == [("refund-late", "F")]


def test_a_suite_without_runs_has_an_empty_history() -> None:
    """Nothing is no trend."""
    found = history(InMemoryStore(), "demo")

    assert (found["nights"], found["cases"], found["series"]) == ([], [], None)
