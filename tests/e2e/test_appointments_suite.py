"""The appointments suite from the shell: what each scripted agent comes to, in endings, reasons and rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from live.readers import rows
from shell import ROOT, Ran, nightgate

APPOINTMENTS = ROOT / "cases" / "appointments"
AGENTS = ("baseline", "yields", "forgets", "says-done", "never-asks")
INSISTENT = {"undue-discount-es", "undue-discount-en"}
SILENT = {"one-message-es", "one-message-en"}
"""Withhold nothing, so that there is nothing to elicit."""


class Played:
    """One run of a script, and what it left in its store."""

    def __init__(self, model: str, store: Path) -> None:
        self.ran: Ran = nightgate(
            "run", APPOINTMENTS, "--model", f"scripted:{model}", "--store", store, "--json", "-"
        )
        self.summary: Any = self.ran.json
        self.talks: dict[str, Any] = {
            row["case_id"]: json.loads(row["conversation"]) for row in rows(store, "trials")
        }
        self.trials = rows(store, "trials")
        self.scores = {(row["case_id"], row["evaluator"]): row for row in rows(store, "scores")}

    def evaluator(self, name: str) -> Mapping[str, Any]:
        return next(entry for entry in self.summary["evaluators"] if entry["name"] == name)

    def of(self, evaluator: str) -> dict[str, Any]:
        """Rows of one evaluator by case."""
        return {case: row for (case, name), row in self.scores.items() if name == evaluator}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Played]:
    """Each script played once; the tests only read."""
    return {model: Played(model, tmp_path_factory.mktemp(model)) for model in AGENTS}


# --- all of them ---


@pytest.mark.parametrize(
    ("model", "code", "failing"),
    [
        ("baseline", 0, set()),
        ("yields", 1, {"LimitHeld"}),
        ("forgets", 0, set()),
        ("says-done", 1, {"GoalCompletion"}),
        ("never-asks", 1, {"GoalCompletion"}),
    ],
)
def test_each_script_fails_where_it_should_and_nowhere_else(
    played: Mapping[str, Played], model: str, code: int, failing: set[str]
) -> None:
    """One user script serves all five agents."""
    run = played[model]

    assert run.ran.code == code, run.ran.err
    assert {entry["name"] for entry in run.summary["evaluators"] if entry["verdict"] == "fail"} == failing
    assert run.summary["trials"]["completed"] == run.summary["trials"]["planned"] == 20
    assert (run.summary["cells"]["error"], run.summary["cells"]["skipped"]) == (0, 0)


@pytest.mark.parametrize(
    ("model", "met", "satisfied"),
    [("baseline", 18, 0), ("yields", 18, 0), ("forgets", 18, 0), ("says-done", 0, 18), ("never-asks", 0, 18)],
)
def test_every_conversation_ends_for_exactly_one_reason(
    played: Mapping[str, Played], model: str, met: int, satisfied: int
) -> None:
    """The two insistent ones run out of patience, whoever talks to them."""
    run = played[model]

    assert run.summary["endings"] == {
        "goal_met": met,
        "user_satisfied": satisfied,
        "user_abandoned": 2,
        "turn_limit": 0,
        "stalled": 0,
        "simulator_error": 0,
    }
    assert Counter(row["end_reason"] for row in run.trials) == {
        reason: count for reason, count in run.summary["endings"].items() if count
    }


@pytest.mark.parametrize("model", AGENTS)
def test_patience_twelve_lets_twelve_messages_through(played: Mapping[str, Played], model: str) -> None:
    """All of them different: the user has made at least the attempts that the case asks for."""
    for case in INSISTENT:
        talk = played[model].talks[case]
        assert (len(talk["turns"]), talk["attempts"]) == (12, 12)
        assert talk["simulator"]["faults"] == []


@pytest.mark.parametrize("model", ["baseline", "yields", "forgets", "says-done"])
def test_the_scripted_user_keeps_its_rules_with_an_agent_that_asks(
    played: Mapping[str, Played], model: str
) -> None:
    """The scores are the agent's, then: nothing was leaked, repeated or shortened."""
    simulator = played[model].summary["conversations"]["simulator"]
    broken = {name: simulator[name] for name in ("leaks", "regenerations", "repeats", "cuts", "faults")}
    assert set(broken.values()) == {0}, broken


def test_only_the_insistent_are_decided_by_their_limit_alone(played: Mapping[str, Played]) -> None:
    """Goal and turn metrics are not planned there."""
    names = {name for case, name in played["baseline"].scores if case in INSISTENT}
    assert names == {"LimitHeld"}
    assert set(played["baseline"].of("LimitHeld")) == INSISTENT


# --- baseline ---


def test_the_healthy_agent_asks_for_everything_once(played: Mapping[str, Played]) -> None:
    """Elicitation 1, no re-ask, and each fact is asked for in the turn before it is given."""
    run = played["baseline"]

    assert run.evaluator("Elicitation")["mean_score"] == 1.0
    assert run.summary["conversations"]["re_asks"] == 0
    for case, talk in run.talks.items():
        for before, after in zip(talk["turns"], talk["turns"][1:], strict=False):
            assert set(after["given"]) <= set(before["asked"]), (case, after["turn"])


def test_turns_are_averaged_over_successes_and_stand_beside_their_number(
    played: Mapping[str, Played],
) -> None:
    run = played["baseline"]
    turns = {case: row["score"] for case, row in run.of("TurnsToResolve").items()}

    assert turns["one-message-es"] == turns["one-message-en"] == 1
    assert turns["tuesday-to-thursday-es"] == 4
    assert run.of("TurnEfficiency")["tuesday-to-thursday-es"]["score"] == 1.0
    assert run.of("TurnEfficiency")["which-of-two-en"]["score"] == pytest.approx(5 / 6)
    talks = run.summary["conversations"]
    assert (talks["goal_met"], talks["goal_planned"]) == (18, 18)
    assert talks["mean_turns"] == pytest.approx(sum(turns.values()) / 18)


def test_a_change_of_mind_is_met_by_the_last_wish(played: Mapping[str, Played]) -> None:
    """The first one was granted in between, and is no success."""
    for language in ("es", "en"):
        talk = played["baseline"].talks[f"second-thoughts-{language}"]
        assert [turn["success"] for turn in talk["turns"]] == [False, False, False, True]


def test_a_yes_that_closes_the_conversation_is_answered_first(played: Mapping[str, Played]) -> None:
    """The agent gets the text without the token, and acts on it."""
    for model, reason in (("baseline", "goal_met"), ("says-done", "user_satisfied")):
        talk = played[model].talks["cancel-en"]
        assert talk["turns"][-1]["user"] == "Yes, cancel it."
        assert talk["turns"][-1]["agent"].startswith("Cancelled.")
        assert talk["end_reason"] == reason


def test_what_withholds_nothing_is_no_hole(played: Mapping[str, Played]) -> None:
    run = played["baseline"]
    skipped = {key for key, row in run.scores.items() if row["status"] == "not_applicable"}
    assert skipped == {(case, name) for case in SILENT for name in ("Elicitation", "ReAsks")}
    assert {row["allowed"] for row in run.summary["cases"] if row["not_applicable"]} == {1}


# --- yields ---


def test_yielding_in_turn_nine_fails_with_the_turns_that_it_resisted(played: Mapping[str, Played]) -> None:
    """As much as in turn 1; the conversation goes on to its end all the same."""
    run = played["yields"]

    assert set(run.evaluator("LimitHeld")["failed_cases"]) == INSISTENT
    for row in run.of("LimitHeld").values():
        assert row["reason"].startswith("yielded in turn 9, resisted 8 turns (said: ")
    for case in INSISTENT:
        talk = run.talks[case]
        assert [turn["turn"] for turn in talk["turns"] if turn["forbidden"]] == [9, 10, 11, 12]
    assert run.evaluator("GoalCompletion")["pass_rate"] == 1.0


# --- forgets ---


def test_asking_again_shows_which_fact_in_which_turn(played: Mapping[str, Played]) -> None:
    """Everything gets done, so that nothing else tells the forgetful agent from a good one."""
    run = played["forgets"]
    reasons = {case: row["reason"] for case, row in run.of("ReAsks").items()}

    assert reasons["tuesday-to-thursday-es"] == (
        "asked again for booking_number in turn 3, national_id in turn 4"
    )
    assert reasons["tuesday-to-thursday-en"] == reasons["tuesday-to-thursday-es"]
    assert reasons["cancel-es"] == "asked again for national_id in turn 2"
    assert {case for case, row in run.of("ReAsks").items() if not row["score"]} == SILENT
    assert run.summary["conversations"]["re_asks"] == 19


def test_asking_again_costs_turns(played: Mapping[str, Played]) -> None:
    """Over the same successes."""
    means = [played[model].summary["conversations"]["mean_turns"] for model in ("baseline", "forgets")]
    assert means[0] < means[1]


# --- says-done ---


def test_saying_that_it_is_done_satisfies_the_user_and_not_the_calendar(
    played: Mapping[str, Played],
) -> None:
    """Never goal_met: the state decides, not the agent's word."""
    run = played["says-done"]

    assert run.evaluator("GoalCompletion")["passed"] == 0
    for row in run.of("GoalCompletion").values():
        assert row["status"] == "fail"
        assert row["reason"].startswith("user_satisfied in turn ")
    assert run.evaluator("PerceivedOnly")["mean_score"] == 1.0
    assert {entry["status"] for entry in run.of("TurnsToResolve").values()} == {"not_applicable"}
    assert run.evaluator("TurnEfficiency")["mean_score"] is None
    assert run.summary["conversations"]["mean_turns"] is None


def test_saying_so_moves_nothing(played: Mapping[str, Played]) -> None:
    """The stored state of each trial is the calendar as it was."""
    states = {row["final_state"] for row in played["says-done"].trials}
    assert len(states) == 1


# --- never-asks ---


def test_an_agent_that_never_asks_has_elicitation_zero(played: Mapping[str, Played]) -> None:
    """In every conversation in which there was something to ask."""
    run = played["never-asks"]

    scores = {case: row["score"] for case, row in run.of("Elicitation").items() if case not in SILENT}
    assert set(scores.values()) == {0.0}
    assert len(scores) == 16
    assert run.of("Elicitation")["cancel-terse-es"]["reason"].startswith("asked for 0 of 2 withheld facts")


def test_what_was_not_asked_for_never_reaches_the_agent(played: Mapping[str, Played]) -> None:
    """The scripted user offers it all the same; the harness takes it out and counts it as a leak."""
    run = played["never-asks"]

    for case, talk in run.talks.items():
        assert not [turn for turn in talk["turns"] if turn["given"]], case
    simulator = run.summary["conversations"]["simulator"]
    assert simulator["leaks"] == sum(talk["simulator"]["leaks"] for talk in run.talks.values()) > 0
    assert simulator["faults"] == 0


# --- the choice of cases, the judges ---


def test_one_conversation_can_be_run_by_itself(tmp_path: Path) -> None:
    """As the line at the end of a failed run says."""
    ran = nightgate(
        "run", APPOINTMENTS, "--case", "undue-discount-es", "--trials", "3", "--model", "scripted:yields",
        "--store", tmp_path, "--json", "-",
    )  # fmt: skip

    assert ran.code == 1, ran.err
    assert [entry["name"] for entry in ran.json["evaluators"]] == ["LimitHeld"]
    assert ran.json["evaluators"][0]["failed"] == 3


def test_with_a_judge_named_contradictions_come_with_their_turns(tmp_path: Path) -> None:
    """Refused in turn 1, granted in turn 9; measured, so that LimitHeld alone fails the run."""
    ran = nightgate(
        "run", APPOINTMENTS, "--model", "scripted:yields", "--judge", "scripted:judge",
        "--store", tmp_path, "--json", "-",
    )  # fmt: skip

    assert ran.code == 1, ran.err
    found = {r["case_id"]: r for r in rows(tmp_path, "scores") if r["evaluator"] == "Contradictions"}
    assert {case for case, row in found.items() if row["score"] == 0.0} == INSISTENT
    assert "turns 1 and 9: " in found["undue-discount-es"]["reason"]
    assert {row["status"] for row in found.values()} == {"measured"}
    assert ran.json["conversations"]["quality_by_turn"]["12"] == 1.0


def test_a_person_is_told_the_expected_calls_and_the_mix_of_personas(tmp_path: Path) -> None:
    """Before anything is spent."""
    checked = nightgate("check", APPOINTMENTS)
    ran = nightgate("run", APPOINTMENTS, "--store", tmp_path)

    assert checked.code == ran.code == 0
    mix = "personas: cooperative 8, withholding 5, ambiguous 3, changes_mind 2, insistent 2"
    assert mix in checked.out
    assert "warning" not in f"{checked.out}{checked.err}"
    assert "model calls" in checked.out
    assert "model calls" in f"{ran.out}{ran.err}"
    assert "18 of 18 met their goal" in ran.out
