"""The flake board as lines, and quarantine under a run."""

from __future__ import annotations

from nightgate.reports.flaky import quarantined, render
from nightgate.steps import flaky
from nightgate.steps.flakyboard import board
from nightgate.steps.flakyplan import rerun_id
from nightgate.testing import InMemoryStore
from storednights import Outcome, outcomes, put_night


def a_board(last: dict[str, str]) -> str:
    """The board after eight good nights and this one."""
    store = InMemoryStore()
    for night in range(8):
        flaky.settle(store, put_night(store, night, outcomes(dict.fromkeys(last, "ppp"))))
    run_id = put_night(store, 8, outcomes(last))
    again = {("b", "E"): Outcome(5, 0, 10, curtailed=5)}
    put_night(store, 8, again, run_id=rerun_id(run_id), kind="rerun", parent=run_id)
    flaky.settle(store, run_id)
    return render(board(store, "demo"))


def test_a_broken_case_is_listed_with_what_it_was() -> None:
    """Its rate now, its rate before, and since when."""
    line = next(line for line in a_board({"a": "fff", "b": "ppp"}).split("\n") if " a " in line)

    assert line.startswith("  broken")
    assert "0%" in line
    assert ", was 100% since 2026-11-09" in line


def test_a_flaky_case_is_listed_with_what_its_reruns_cost() -> None:
    """Trials and dollars."""
    line = next(line for line in a_board({"a": "ppp", "b": "ppf"}).split("\n") if " b " in line)

    assert "96%" in line
    assert "26 of 27" in line
    assert "reruns 5 trials, $0.0000" in line


def test_steady_cases_are_a_number() -> None:
    """Nobody reads three hundred lines of green."""
    assert "2 steady or too few to tell" in a_board({"a": "ppp", "b": "ppp"})


def test_quarantine_says_how_long_and_whose() -> None:
    """One that is over is a warning of the run and gates."""
    entry = {
        "case": "a",
        "owner": "ana",
        "reason": "race",
        "until": "2026-11-10",
        "days_left": 1,
        "expired": False,
    }

    (line,) = quarantined({"quarantined": [entry, {**entry, "expired": True}]})

    assert line == "QUARANTINE a: does not gate until 2026-11-10 (1 day left), ana: race"


def test_older_summaries_have_no_quarantine() -> None:
    """They are printed as before."""
    assert list(quarantined({})) == []


def test_the_head_counts_each_pair_once() -> None:
    """By the word in its line."""
    head = a_board({"a": "fff", "b": "ppp"}).split("\n")[0]

    assert head.endswith(": 1 broken, 1 stable pass")


def test_the_series_can_be_chosen() -> None:
    """The newest night is one of scripts."""
    store = InMemoryStore()
    flaky.settle(store, put_night(store, 0, outcomes({"a": "fff"}), model="openai:x"))
    flaky.settle(store, put_night(store, 1, outcomes({"a": "ppp"})))

    live, newest = board(store, "demo", "live"), board(store, "demo")

    assert live is not None
    assert newest is not None
    assert [(each["series"], each["pairs"][0]["passed"]) for each in (live, newest)] == [
        ("live", 0), ("scripted", 3),
    ]  # fmt: skip
