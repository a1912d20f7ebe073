"""Stored summaries in, states out: which runs are nights, in which order, and each told once."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nightgate.errors import MissingError
from nightgate.rows import keys
from nightgate.steps import flaky
from nightgate.steps.flakyboard import board
from nightgate.steps.flakyplan import explained, quarantined, rerun_id
from nightgate.steps.reading import load_plan
from nightgate.testing import InMemoryStore
from storednights import Outcome, a_night_id, outcomes, put_night


@pytest.fixture
def store() -> InMemoryStore:
    """Eight settled nights in which both cases passed."""
    store = InMemoryStore()
    for night in range(8):
        flaky.settle(store, put_night(store, night, outcomes({"a": "ppp", "b": "ppp"})))
    return store


def broke(document: dict[str, Any]) -> list[str]:
    """Cases that are told as newly broken."""
    return [entry["case"] for entry in document["newly_broken"]]


def test_a_break_is_told_with_its_evidence(store: InMemoryStore) -> None:
    """Counts of the night, the failure rate before, and since when."""
    run_id = put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}))

    entry = flaky.settle(store, run_id)["newly_broken"][0]

    assert entry | {"reruns": None} == {
        "case": "a",
        "evaluator": "E",
        "stage": "regression",
        "passed": 0,
        "failed": 3,
        "judged": 3,
        "base_rate": 0.0,
        "since_run": run_id,
        "since_date": "2026-11-09",
        "reruns": None,
    }


def test_a_second_call_changes_nothing(store: InMemoryStore) -> None:
    """A flow that is repeated must not tell twice, nor count a night twice."""
    run_id = put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}))
    first = flaky.settle(store, run_id)
    book = store.read(keys.flakiness_key("demo"))

    again = flaky.settle(store, run_id)

    assert again == first
    assert store.read(keys.flakiness_key("demo")) == book


def test_a_lost_report_is_told_again_from_the_rows(store: InMemoryStore) -> None:
    """A process that dies between the two documents leaves the night in the book and untold."""
    run_id = put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}))
    first = flaky.settle(store, run_id)
    book = store.read(keys.flakiness_key("demo"))
    store.delete([keys.flakiness_report_key(run_id)])

    assert flaky.settle(store, run_id) == first
    assert json.loads(store.read(keys.flakiness_key("demo"))) == json.loads(book)


def test_nights_that_nobody_settled_are_folded_in_first(store: InMemoryStore) -> None:
    """A night whose flow died still counts, in its place."""
    put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}))

    document = flaky.settle(store, put_night(store, 9, outcomes({"a": "fff", "b": "ppp"})))

    assert broke(document) == []
    assert [(e["case"], e["since_run"]) for e in document["still_broken"]] == [("a", a_night_id(8))]


def test_a_night_that_comes_late_takes_its_place(store: InMemoryStore) -> None:
    """A run that was published after the next one: order is by the scheduled start."""
    flaky.settle(store, put_night(store, 9, outcomes({"a": "fff", "b": "ppp"})))

    flaky.settle(store, put_night(store, 8, outcomes({"a": "fff", "b": "ppp"})))

    book = json.loads(store.read(keys.flakiness_key("demo")))["series"]["scripted"]
    pair = next(pair for pair in book["pairs"] if pair["case"] == "a")
    assert (pair["state"], pair["since_run"]) == ("broken", a_night_id(8))
    assert book["through"]["run_id"] == a_night_id(9)


def test_a_book_that_is_lost_is_made_again_from_the_rows(store: InMemoryStore) -> None:
    """It is derived: nothing is decided by it that the rows do not say."""
    run_id = put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}))
    flaky.settle(store, run_id)
    whole = json.loads(store.read(keys.flakiness_key("demo")))
    store.replace(keys.flakiness_key("demo"), b"torn {")

    flaky.settle(store, put_night(store, 9, outcomes({"a": "ppp", "b": "ppp"})))

    again = json.loads(store.read(keys.flakiness_key("demo")))
    shorter = [pair["nights"][:8] for pair in again["series"]["scripted"]["pairs"] if pair["case"] == "b"]
    assert shorter == [
        pair["nights"][:8] for pair in whole["series"]["scripted"]["pairs"] if pair["case"] == "b"
    ]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"filters": {"case": ["a"]}}, "filtered"),
        ({"parent": "other"}, "took trials over from other"),
        ({"kind": "rerun", "parent": a_night_id(7)}, "kind rerun"),
        ({"kind": "sweep"}, "kind sweep"),
    ],
)
def test_only_a_whole_run_is_a_night(store: InMemoryStore, more: dict[str, Any], why: str) -> None:
    """A part of a suite, or trials of another night, would count what was not measured."""
    before = store.read(keys.flakiness_key("demo"))
    run_id = put_night(store, 8, outcomes({"a": "fff"}), run_id="other-kind", **more)

    document = flaky.settle(store, run_id)

    assert document["night"] is False
    assert why in document["reason"]
    assert store.read(keys.flakiness_key("demo")) == before


def test_a_changed_agent_model_does_not_reset_the_baseline(store: InMemoryStore) -> None:
    """That is how breaks are made, and how they are found."""
    run_id = put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}), model="scripted:upgraded")

    assert broke(flaky.settle(store, run_id)) == ["a"]


def test_scripted_runs_say_nothing_of_a_live_model(store: InMemoryStore) -> None:
    """A check of the wiring on a laptop, in the store of the nights, must not break or mend a case."""
    live = put_night(store, 8, outcomes({"a": "fff", "b": "ppp"}), model="bedrock:model")

    assert broke(flaky.settle(store, live)) == []
    scripted = flaky.settle(store, put_night(store, 9, outcomes({"a": "fff", "b": "ppp"})))
    assert broke(scripted) == ["a"]


@pytest.mark.parametrize(("word", "told"), [("eee", []), ("fee", []), ("fff", ["a"])])
def test_errors_are_no_evidence(store: InMemoryStore, word: str, told: list[str]) -> None:
    """A night of outages breaks nothing."""
    run_id = put_night(store, 8, outcomes({"a": word, "b": "ppp"}))

    assert broke(flaky.settle(store, run_id)) == told


def test_reruns_are_evidence_of_their_night_and_named(store: InMemoryStore) -> None:
    """One failure of three, and three of three reruns."""
    run_id = put_night(store, 8, outcomes({"a": "ppf", "b": "ppp"}))
    again = {("a", "E"): Outcome(0, 3, 10, curtailed=7)}
    put_night(store, 8, again, run_id=rerun_id(run_id), kind="rerun", parent=run_id)

    document = flaky.settle(store, run_id)

    assert broke(document) == ["a"]
    assert (document["rerun_run"], document["rerun_trials"]) == (rerun_id(run_id), 3)
    assert document["newly_broken"][0]["reruns"] == {"passed": 0, "judged": 3, "played": 3}
    assert document["newly_broken"][0]["failed"] == 1


@st.composite
def ended_early(draw: st.DrawFn) -> tuple[str, int]:
    """What was played of ten reruns (p passed, f failed, e ended in an error), and how many were unpaid."""
    word = draw(st.text("pfe", max_size=10))
    return word, draw(st.integers(min_value=0, max_value=10 - len(word)))


@cache
def quiet_nights() -> dict[str, bytes]:
    """A store with eight nights in which all passed."""
    store = InMemoryStore()
    for night in range(8):
        flaky.settle(store, put_night(store, night, outcomes({"a": "ppp", "b": "ppp"})))
    return {key: store.read(key) for key in store.find("")}


def settled_after(word: str, *, unpaid: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document and the pair in the book after one failure of three and these reruns."""
    store = InMemoryStore()
    for key, data in quiet_nights().items():
        store.create(key, data)
    run_id = put_night(store, 8, outcomes({"a": "ppf", "b": "ppp"}))
    left_out = 10 - len(word) - unpaid
    again = {("a", "E"): Outcome(word.count("p"), word.count("f"), 10, curtailed=left_out, unpaid=unpaid)}
    put_night(store, 8, again, run_id=rerun_id(run_id), kind="rerun", parent=run_id)
    document = flaky.settle(store, run_id)
    book = json.loads(store.read(keys.flakiness_key("demo")))["series"]["scripted"]
    return document, next(pair for pair in book["pairs"] if pair["case"] == "a")


@settings(max_examples=40)
@given(ended_early())
@example(("", 10))
@example(("e" * 9, 1))
def test_reruns_that_the_budget_stopped_are_not_counted_as_played(case: tuple[str, int]) -> None:
    """What was not played is no evidence: the night is decided as if nobody had planned it."""
    word, unpaid = case
    document, pair = settled_after(word, unpaid=unpaid)
    other, other_pair = settled_after(word, unpaid=0)

    assert document["rerun_trials"] == pair["reruns"] == len(word)
    assert pair == other_pair
    assert document["reruns_stopped"] == ("budget" if unpaid else None)
    for entry in document["suspects"]:
        assert entry.pop("reruns_stopped") == ("budget" if unpaid else None)
        assert entry["reruns"] == {
            "passed": word.count("p"),
            "judged": len(word) - word.count("e"),
            "played": len(word),
        }
    ignored = {"reruns_stopped": None, "suspects": None}
    assert document | ignored == other | ignored
    assert len(document["suspects"]) == len(other["suspects"])


def test_a_suspect_whose_reruns_were_stopped_keeps_its_evidence_and_says_why(store: InMemoryStore) -> None:
    """The next night starts from there; it was taken for ten reruns that decided nothing."""
    run_id = put_night(store, 8, outcomes({"a": "ppf", "b": "ppp"}))
    again = {("a", "E"): Outcome(1, 1, 10, unpaid=8)}
    put_night(store, 8, again, run_id=rerun_id(run_id), kind="rerun", parent=run_id)

    document = flaky.settle(store, run_id)

    assert [(e["case"], e["reruns_stopped"]) for e in document["suspects"]] == [("a", "budget")]
    assert (document["rerun_trials"], document["reruns_stopped"]) == (2, "budget")
    pairs = json.loads(store.read(keys.flakiness_key("demo")))["series"]["scripted"]["pairs"]
    (pair,) = [pair for pair in pairs if pair["case"] == "a"]
    assert (pair["state"], pair["reruns"]) == ("suspect", 2)
    assert pair["carried"] > 0


def test_a_trial_whose_judge_was_not_paid_for_was_played(store: InMemoryStore) -> None:
    """Its agent was: the figure is of trials, whatever came of them."""
    two = {("a", "E"): Outcome(2, 1, 3), ("a", "J"): Outcome(2, 1, 3)}
    for night in range(8):
        flaky.settle(store, put_night(store, 20 + night, {pair: Outcome(3, 0, 3) for pair in two}))
    run_id = put_night(store, 28, two)
    again = {("a", "E"): Outcome(1, 2, 10, unpaid=7), ("a", "J"): Outcome(1, 1, 10, unpaid=8)}
    put_night(store, 28, again, run_id=rerun_id(run_id), kind="rerun", parent=run_id)

    document = flaky.settle(store, run_id)

    assert document["rerun_trials"] == 3
    played = {
        entry["evaluator"]: entry["reruns"]["played"]
        for name in ("newly_broken", "suspects")
        for entry in document[name]
    }
    assert played == {"E": 3, "J": 3}


def test_why_nothing_was_rerun_stays_with_the_night(store: InMemoryStore) -> None:
    """Whoever reads the document later was not there; told once, it is told the same again."""
    run_id = put_night(store, 8, outcomes({"a": "ppf", "b": "ppp"}))

    document = flaky.settle(store, run_id, stopped="case 'a' is not in the suite any more")

    assert document["reruns_stopped"] == "case 'a' is not in the suite any more"
    assert [entry["reruns_stopped"] for entry in document["suspects"]] == [document["reruns_stopped"]]
    assert flaky.settle(store, run_id) == document


def test_reruns_of_another_text_are_no_evidence(store: InMemoryStore) -> None:
    """The case was edited between the night and its reruns."""
    run_id = put_night(store, 8, outcomes({"a": "ppf", "b": "ppp"}))
    again = {("a", "E"): Outcome(0, 3, 3)}
    put_night(store, 8, again, run_id=rerun_id(run_id), kind="rerun", parent=run_id, hashes={"a": "edited"})

    assert broke(flaky.settle(store, run_id)) == []


def test_a_run_that_is_not_there_is_missing(store: InMemoryStore) -> None:
    """Nothing is told of it."""
    with pytest.raises(MissingError):
        flaky.settle(store, "nowhere")


def test_the_id_of_reruns_keeps_to_64_characters() -> None:
    """A run may use all of them, and two long ones must not share their reruns."""
    one, other = rerun_id("a" * 64), rerun_id("a" * 63 + "b")

    assert len(one) == len(other) == 64
    assert one != other


@pytest.mark.parametrize(
    ("failed", "known", "expected"),
    [(["a"], {("a", "E")}, True), (["a", "b"], {("a", "E")}, False), ([], {("a", "E")}, False)],
)
def test_a_failure_is_explained_by_known_cases_only(
    store: InMemoryStore, failed: list[str], known: set[tuple[str, str]], expected: bool
) -> None:
    """Every failed cell behind it, or it is news."""
    plan = load_plan(store, a_night_id(7))
    summary = {"verdict": "fail", "evaluators": [{"name": "E", "verdict": "fail", "failed_cases": failed}]}
    store.replace(keys.summary_key(plan.run_id), json.dumps(summary).encode())

    assert explained(store, plan, known) is expected


def test_quarantine_is_told_with_the_days_that_are_left(store: InMemoryStore) -> None:
    """Of the day of the run, and as its plan froze it."""
    plan = load_plan(store, a_night_id(7))
    kept = {"owner": "ana", "reason": "race in the stub", "until": "2026-11-10", "holds": True}
    late = {"owner": "bo", "reason": "r", "until": "2026-11-07", "holds": False}
    cases = tuple(replace(case, quarantine=q) for case, q in zip(plan.cases, (kept, late), strict=True))

    told = quarantined(replace(plan, cases=cases))

    assert [(q["case"], q["days_left"], q["expired"]) for q in told] == [("a", 2, False), ("b", -1, True)]


def test_the_board_lists_the_worst_first(store: InMemoryStore) -> None:
    """Broken, then suspect, then flaky; steady cases come last."""
    flaky.settle(store, put_night(store, 8, outcomes({"a": "ppp", "b": "fff"})))

    rows = board(store, "demo")["pairs"]

    assert [(row["case"], row["state"]) for row in rows] == [("b", "broken"), ("a", "sound")]
    assert rows[1]["label"] == "stable pass"


def test_the_board_knows_nights_that_nobody_settled() -> None:
    """Runs of the command line alone have a board too."""
    store = InMemoryStore()
    for night in range(8):
        put_night(store, night, outcomes({"a": "ppp"}))
    put_night(store, 8, outcomes({"a": "fff"}))

    assert board(store, "demo")["pairs"][0]["state"] == "broken"
    assert not store.find("flakiness/")


def test_no_night_has_no_board() -> None:
    """Nothing measured is not "all is well"."""
    assert board(InMemoryStore(), "demo") is None


def test_a_capability_case_that_passes_steadily_is_proposed_for_the_gate() -> None:
    """21 trials at least, under all of its evaluators."""
    store = InMemoryStore()
    for night in range(8):
        found = outcomes({"a": "ppp", "b": "ppp"}) | {("b", "F"): Outcome(2, 1, 3)}
        run_id = put_night(store, night, found, stages={"a": "capability", "b": "capability"})
        document = flaky.settle(store, run_id)

    assert document["promotable"] == board(store, "demo")["promotable"] == ["a"]
