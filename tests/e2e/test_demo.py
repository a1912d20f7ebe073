"""``nightgate demo`` from the shell: a short month, and what the other commands make of it."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store import open_store
from nightgate.rows import keys
from nightgate.steps.nights import addresses, manifests
from nightgate.steps.reading import rows_of
from nightgate.steps.simulated import NOTICE, is_simulated
from nightgate.wiring.demo import make_demo
from nightgate.wiring.months import STORIES, Month
from shell import Ran, nightgate

NIGHTS = 10
CHANGE, OUTAGE, JUDGE = 4, 6, 8
"""Nights, from 1, on which it happens in so short a month."""
BROKEN = {"refund-out-of-window", "no-resolve-unconfirmed"}
FLAKY = "refund-in-window"
_TIMED = ("started_at", "ended_at", "scored_at", "latency_ms", "wait_ms", "transcript")
"""Columns that hang on the clock; a transcript is found by the digest of a part that holds times."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """The folder of a month, and what the command said."""
    folder = tmp_path_factory.mktemp("demo") / "month"
    return folder, nightgate("demo", folder, "--nights", str(NIGHTS), cwd=folder.parent)


def asked(made: tuple[Path, Ran], command: str, *words: str) -> Ran:
    """A command over the month's store."""
    folder, _ = made
    return nightgate(command, *words, "--store", folder / "store", "--json", "-", cwd=folder.parent)


def case_nights(history: dict[str, Any], case: str, evaluator: str) -> list[int | None]:
    """Passed trials of a case by night; None is a hole."""
    row = next(r for r in history["cases"] if (r["case"], r["evaluator"]) == (case, evaluator))
    nights: list[int | None] = row["nights"]["passed"]
    return nights


def test_it_says_what_is_in_it_and_what_to_look_at(made: tuple[Path, Ran]) -> None:
    """A newcomer reads one screen and types the next line; nobody takes it for measurements."""
    _, ran = made

    assert ran.code == 0, ran.err
    assert ran.out.startswith(NOTICE)
    assert f"night {CHANGE}," in ran.out
    commands = [line.split()[1] for line in ran.out.partition("next:\n")[2].splitlines()]
    assert commands == ["history", "flaky", "compare", "gate", "report", "run"]


@pytest.mark.parametrize("suite", ["support", "appointments"])
def test_the_model_change_stands_on_its_night(made: tuple[Path, Ran], suite: str) -> None:
    """The first question at a drop is what changed, and when."""
    history = asked(made, "history", suite).json

    changed = {number: night["changed"] for number, night in enumerate(history["nights"], 1)}
    assert len(changed) == NIGHTS
    assert [number for number, what in changed.items() if "model" in what] == [CHANGE]


def test_the_named_cases_break_on_that_night(made: tuple[Path, Ran]) -> None:
    """The detector says it in the same night, from reruns or without, and of nothing else."""
    folder, _ = made
    broke = {}
    for number in range(1, NIGHTS + 1):
        document = json.loads((folder / f"store/runs/support-night-{number:02d}/flakiness.json").read_bytes())
        if document["newly_broken"]:
            broke[number] = {entry["case"] for entry in document["newly_broken"]}

    assert broke == {CHANGE: BROKEN}


def test_the_flaky_case_is_flaky_and_not_broken(made: tuple[Path, Ran]) -> None:
    """It fails on some nights, before and after the change, and nobody may be woken for it."""
    board = asked(made, "flaky", "support").json
    states = {row["case"]: row for row in board["pairs"] if row["evaluator"] == "ToolPolicy"}

    assert states[FLAKY]["label"] == "flaky"
    assert states[FLAKY]["state"] != "broken"
    assert {case for case, row in states.items() if row["state"] == "broken"} == BROKEN


@pytest.mark.parametrize("suite", ["support", "appointments"])
def test_the_outage_is_a_hole_and_no_drop(made: tuple[Path, Ran], suite: str) -> None:
    """What was not measured is neither a pass nor a fail: the night is inconclusive."""
    gate = asked(made, "gate", f"{suite}-night-{OUTAGE:02d}")
    history = asked(made, "history", suite).json

    assert gate.code == 3
    rates = [entry["pass_rate"][OUTAGE - 1] for entry in history["evaluators"]]
    assert set(rates) <= {1.0, None}
    judged = {row["case"]: row["nights"]["judged"][OUTAGE - 1] for row in history["cases"]}
    assert judged["no-resolve-unconfirmed" if suite == "support" else "undue-discount-en"] is None


def test_the_judge_change_moves_scores_and_is_marked(made: tuple[Path, Ran]) -> None:
    """The agent is the same on both sides of it."""
    history = asked(made, "history", "support").json
    helpful = next(e for e in history["evaluators"] if e["evaluator"] == "HelpfulnessEvaluator")

    assert [(mark["night"] + 1, mark["what"]) for mark in helpful["changes"]] == [(JUDGE, "judge")]
    assert helpful["mean_score"][JUDGE - 1] < helpful["mean_score"][JUDGE - 2]
    assert case_nights(history, "refund-out-of-window", "FaithfulnessEvaluator")[JUDGE - 2 : JUDGE] == [3, 0]


def test_every_run_and_every_command_says_that_it_is_simulated(made: tuple[Path, Ran]) -> None:
    """Somebody will copy a table out of it: the rows say it too."""
    folder, _ = made
    runs = asked(made, "runs", "support")
    scores = next(iter((folder / "store" / "scores" / "support").rglob("*.parquet")))

    assert {entry["trigger"] for entry in runs.json["runs"]} == {"simulated"}
    assert NOTICE in runs.err
    assert b"simulated" in scores.read_bytes()
    assert is_simulated(open_store(str(folder / "store")))


def test_nobody_is_told(made: tuple[Path, Ran]) -> None:
    """No alert was sent, none waits to be sent, and nothing lies in the spool."""
    folder, _ = made
    store = folder / "store"

    assert not list(store.glob("alerts/*"))
    assert not list(store.glob("runs/*/alerts.json"))
    assert not list(store.glob("spool/*"))
    plans = [json.loads(path.read_bytes()) for path in store.glob("runs/*/plan.json")]
    assert {tuple(plan["alerts"]) for plan in plans} == {()}


def test_its_suites_can_be_run_by_whoever_wants_to(made: tuple[Path, Ran], tmp_path: Path) -> None:
    """What was looked at can be changed and played, beside the month."""
    folder, _ = made

    ran = nightgate("run", folder / "cases" / "support", "--store", tmp_path / "own", "--json", "-")

    assert (ran.code, ran.json["cost_usd"]["total"]) == (0, 0.0), ran.err


def test_the_same_seed_makes_the_same_rows(made: tuple[Path, Ran], tmp_path: Path) -> None:
    """What is drawn is drawn from the seed; only what hangs on the clock differs."""
    folder, _ = made
    last = json.loads((folder / "store" / "runs" / f"support-night-{NIGHTS}" / "plan.json").read_bytes())
    day_after = datetime.fromisoformat(last["started_at"]) + timedelta(days=1)

    month = Month.before(day_after, nights=NIGHTS)
    asyncio.run(make_demo(tmp_path / "twin", month, stories=STORIES[:1]))  # the one with the luck in it

    for table in (keys.SCORES, keys.TRIALS):
        assert rows(tmp_path / "twin" / "store", table) == rows(folder / "store", table)


def rows(store: Path, table: str) -> list[dict[str, Any]]:
    """All rows of support in a table, but what hangs on the clock."""
    opened = open_store(str(store))
    found = [
        {name: value for name, value in row.items() if name not in _TIMED}
        for manifest in manifests(opened, addresses(opened, "support"))
        for row in rows_of(opened, manifest, table)
    ]
    assert found
    return found


@pytest.mark.parametrize("what", ["notes.txt", ".hidden", "cases/mine/suite.yaml"])
def test_a_folder_with_something_in_it_is_refused_before_anything_is_written(
    tmp_path: Path, what: str
) -> None:
    """A month among somebody's own files could not be told from them."""
    mine = tmp_path / "month" / what
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")

    ran = nightgate("demo", tmp_path / "month")

    assert ran.code == 2
    assert what.split("/", maxsplit=1)[0] in ran.err
    assert [path for path in (tmp_path / "month").rglob("*") if path.is_file()] == [mine]


@pytest.mark.parametrize("words", [["month", "--nights", "9"], [""], ["month/file/deep"]])
def test_what_cannot_be_made_is_wrong_input(tmp_path: Path, words: list[str]) -> None:
    """One line, exit 2, and nothing left behind."""
    (tmp_path / "month").mkdir()
    (tmp_path / "month" / "file").write_text("mine", encoding="utf-8")

    ran = nightgate("demo", *words, cwd=tmp_path)

    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "month"]
