from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given

from nightgate.calls import Call
from nightgate.errors import DamagedError
from nightgate.rows.casewise import CELL_COLUMNS
from nightgate.rows.facts import (
    CaseFacts,
    RunFacts,
    call_from_row,
    call_row,
    cell_from_row,
    score_row,
    transcript_row,
    trial_from_row,
    trial_row,
)
from nightgate.rows.tables import calls_table, scores_table, table_rows, transcripts_table, trials_table
from nightgate.scores import Cell, Score, Status
from nightgate.trials import Ending, Trial, TrialKey, Usage
from rowgen import CALLS, CELLS, TRIALS

RUN = RunFacts(
    run_id="r",
    suite="s",
    date=date(2026, 11, 29),
    agent_model="scripted:baseline",
    agent_fingerprint="f" * 16,
    run_kind="run",
    trigger="manual",
    git_sha="0" * 40,
    price_table="2026-11-01",
)
CASE = CaseFacts(case_id="c", case_hash="h", family="fam", layer="behavior", stage="regression", tags=("a",))


@given(TRIALS)
def test_a_trial_comes_back_from_its_rows(trial: Trial) -> None:
    """A sweep judges stored trials; they must be what was played."""
    trial = replace(trial, key=replace(trial.key, run_id="r", suite="s"), agent_fingerprint="a")
    case = replace(CASE, case_id=trial.key.case_id, case_hash=trial.case_hash)
    (row,) = table_rows(trials_table([trial_row(trial, RUN, case)]))
    (transcript,) = table_rows(transcripts_table([transcript_row(trial, RUN)]))

    assert trial_from_row(row, transcript) == trial


@given(CELLS)
def test_a_finding_is_taken_over_without_its_money(cell: Cell) -> None:
    """It is the same finding, and rows of several runs that are added up count its calls once."""
    case = replace(CASE, case_id=cell.case_id)
    (row,) = table_rows(scores_table([score_row(cell, RUN, case, threshold="0.85")]))

    origin = cell.reused_from or "r"
    assert cell_from_row({name: row[name] for name in CELL_COLUMNS}) == cell_from_row(row)
    assert cell_from_row(row) == replace(cell, cost_nanousd=0, usage=Usage(), reused_from=origin)


def test_a_row_of_an_older_version_is_taken_over_too() -> None:
    """It has no word on where it came from: it is that run's own."""
    cell = Cell(case_id="c", trial=0, score=Score(evaluator="E", version=1, status=Status.PASS, reason="yes"))
    row = score_row(cell, RUN, CASE)
    del row["reused_from"]

    assert cell_from_row(row).reused_from == "r"


@given(CALLS)
def test_a_call_comes_back_from_its_row(call: Call) -> None:
    """The bill of a run is read from the ledger, years later too."""
    call = replace(call, run_id="r", suite="s")
    (row,) = table_rows(calls_table([call_row(call, RUN)]))

    assert call_from_row(row) == call


def test_a_row_carries_the_facts_of_run_and_case() -> None:
    """Queries group by them without a join."""
    cell = Cell(case_id="c", trial=1, score=Score(evaluator="E", version=2, status=Status.FAIL, reason="no"))

    row = score_row(cell, RUN, CASE, threshold="0.85")

    wanted = {
        "run_id": "r",
        "date": date(2026, 11, 29),
        "family": "fam",
        "stage": "regression",
        "tags": ["a"],
        "blocking": False,
        "threshold": "0.85",
        "passed": False,
        "run_kind": "run",
        "git_sha": "0" * 40,
        "price_table": "2026-11-01",
        "agent_model": "scripted:baseline",
    }
    assert {name: row[name] for name in wanted} == wanted


def test_unknown_figures_are_null() -> None:
    """0 would enter a mean, NaN would spoil it."""
    cell = Cell(
        case_id="c",
        trial=0,
        score=Score(evaluator="E", version=1, status=Status.ERROR, reason="judge broke"),
        cost_nanousd=None,
    )

    row = score_row(cell, RUN, CASE)

    names = ("score", "passed", "cost_nanousd", "latency_ms", "threshold", "details")
    assert [row[name] for name in names] == [None] * len(names)


def test_times_are_read_in_utc() -> None:
    """Rows of workers in several zones sort alike."""
    trial = Trial(
        key=TrialKey(run_id="r", suite="s", case_id="c", trial=0),
        ending=Ending.COMPLETED,
        started_at=datetime.fromisoformat("2026-11-29T13:00:00+01:00"),
    )
    (row,) = table_rows(trials_table([trial_row(trial, RUN, CASE)]))

    assert row["started_at"] == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert row["started_at"].utcoffset().total_seconds() == 0


def test_a_row_with_an_unknown_status_is_damage() -> None:
    """It must not be taken for any of the known ones."""
    cell = Cell(case_id="c", trial=0, score=Score(evaluator="E", version=1, status=Status.PASS, reason="yes"))

    with pytest.raises(DamagedError, match="case 'c', trial 0"):
        cell_from_row({**score_row(cell, RUN, CASE), "status": "great"})
